/// An adapter made of a closure; it never retries.
// Sendable: all stored properties are constant and Sendable; a subclass answers for its own.
open class Adapter: RequestInterceptor, NamedInterceptor, AdaptOnlyInterceptor, @unchecked Sendable {
  private enum Handler: Sendable {
    case closure(AdaptHandler)
    case async(AsyncAdaptHandler)
  }

  /// The name under which it is measured; nil means the type's.
  public let name: String?
  private let handler: Handler

  /// Takes the closure; it runs where a ``RequestAdapter`` is called.
  @preconcurrency
  public init(_ adaptHandler: @escaping AdaptHandler, name: String? = nil) {
    handler = .closure(adaptHandler)
    self.name = name
  }

  /// Takes an async closure, which returns the adapted request or throws.
  ///
  /// It begins where a ``RequestAdapter`` is called, without a change of thread, and goes on on Swift's own threads. Its
  /// task is cancelled when the request ends before: by `cancel()`, its deadline or its session's end. While it runs it
  /// keeps the session of `state` alive.
  ///
  /// `name`: Under which it is measured; nil means the type's.
  public init(name: String? = nil, _ adaptHandler: @escaping AsyncAdaptHandler) {
    handler = .async(adaptHandler)
    self.name = name
  }

  /// Without the request: the task of an async closure is not cancelled when that ends.
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
