/// An adapter made of a closure; it never retries.
// Sendable: all stored properties are constant and Sendable; a subclass must ensure the same for its own.
open class Adapter: RequestInterceptor, NamedInterceptor, AdaptOnlyInterceptor, @unchecked Sendable {
  private enum Handler: Sendable {
    case closure(AdaptHandler)
    case async(AsyncAdaptHandler)
  }

  /// The adapter's name in metrics; nil means the name of its type.
  public let name: String?
  private let handler: Handler

  /// Takes a closure, which runs on the thread on which a ``RequestAdapter`` is called.
  @preconcurrency
  public init(_ adaptHandler: @escaping AdaptHandler, name: String? = nil) {
    handler = .closure(adaptHandler)
    self.name = name
  }

  /// Takes an async closure, which returns the adapted request or throws.
  ///
  /// It begins on the thread on which a ``RequestAdapter`` is called and continues on Swift's own threads. Its task is
  /// cancelled if the request ends first: by `cancel()`, its deadline or its session's end. While it runs, it keeps the
  /// session of `state` alive.
  ///
  /// `name`: The adapter's name in metrics; nil means the name of its type.
  public init(name: String? = nil, _ adaptHandler: @escaping AsyncAdaptHandler) {
    handler = .async(adaptHandler)
    self.name = name
  }

  /// The `Request` is not known here, so the task of an async closure is not cancelled when the request ends.
  @preconcurrency
  open func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    switch handler {
    case .closure(let adapt): adapt(urlRequest, session, completion)
    case .async(let adapt):
      run(adapt, urlRequest, RequestAdapterState(requestID: UUID(), session: session), completion)
    }
  }

  @preconcurrency
  open func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    guard case .async(let adapt) = handler else {
      return self.adapt(urlRequest, for: state.session, completion: completion)
    }
    run(adapt, urlRequest, state, completion)
  }

  private func run(
    _ adapt: @escaping AsyncAdaptHandler, _ urlRequest: URLRequest, _ state: RequestAdapterState,
    _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    PendingAnswer.make(for: state.request, completion) {
      do { return .success(try await adapt(urlRequest, state)) } catch { return .failure(error) }
    }
  }
}

extension RequestAdapter where Self == Adapter {
  /// An adapter made of a closure.
  @preconcurrency
  public static func adapter(name: String? = nil, using closure: @escaping AdaptHandler) -> Adapter {
    Adapter(closure, name: name)
  }

  /// An adapter made of an async closure; see ``Adapter/init(name:_:)``.
  public static func adapter(name: String? = nil, using closure: @escaping AsyncAdaptHandler) -> Adapter {
    Adapter(name: name, closure)
  }
}
