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

/// A retrier made of a closure; it never changes a request.
// Sendable: all stored properties are constant and Sendable; a subclass must ensure the same for its own.
open class Retrier: RequestInterceptor, NamedInterceptor, RetryOnlyInterceptor, @unchecked Sendable {
  /// The retrier's name in metrics; nil means the name of its type.
  public let name: String?
  private let retryHandler: RetryHandler

  /// Takes a closure, which runs on the thread on which a ``RequestRetrier`` is called.
  @preconcurrency
  public init(_ retryHandler: @escaping RetryHandler, name: String? = nil) {
    self.retryHandler = retryHandler
    self.name = name
  }

  /// Takes an async closure, which returns the answer.
  ///
  /// It begins on the thread on which a ``RequestRetrier`` is called and continues on Swift's own threads. Its task is
  /// cancelled if the request ends first: by `cancel()`, its deadline or its session's end. While it runs, it keeps the
  /// session alive.
  ///
  /// `name`: The retrier's name in metrics; nil means the name of its type.
  public init(name: String? = nil, _ retryHandler: @escaping AsyncRetryHandler) {
    self.retryHandler = { request, session, error, completion in
      PendingAnswer.make(for: request, completion) { await retryHandler(request, session, error) }
    }
    self.name = name
  }

  @preconcurrency
  open func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    retryHandler(request, session, error, completion)
  }
}

extension RequestRetrier where Self == Retrier {
  /// A retrier made of a closure.
  @preconcurrency
  public static func retrier(name: String? = nil, using closure: @escaping RetryHandler) -> Retrier {
    Retrier(closure, name: name)
  }

  /// A retrier made of an async closure; see ``Retrier/init(name:_:)``.
  public static func retrier(name: String? = nil, using closure: @escaping AsyncRetryHandler) -> Retrier {
    Retrier(name: name, closure)
  }
}

/// Runs adapters one after another and asks retriers one after another.
///
/// The first failing adapter ends the chain with its error. The first retrier whose answer is not
/// ``RetryResult/doNotRetry`` decides. Members may answer synchronously or later, on any thread.
// Sendable: all stored properties are constant and Sendable; a subclass must ensure the same for its own.
open class Interceptor: RequestInterceptor, NamedInterceptor, @unchecked Sendable {
  /// The adapters, then the interceptors, in order.
  public let adapters: [any RequestAdapter]
  /// The retriers, then the interceptors, in order.
  public let retriers: [any RequestRetrier]
  /// The interceptor's name in metrics; nil means the name of its type.
  public let name: String?

  /// Creates an interceptor from closures.
  @preconcurrency
  public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler, name: String? = nil) {
    adapters = [Adapter(adaptHandler, name: name)]
    retriers = [Retrier(retryHandler, name: name)]
    self.name = name
  }

  /// Creates an interceptor from an adapter and a retrier.
  public init(adapter: any RequestAdapter, retrier: any RequestRetrier, name: String? = nil) {
    adapters = [adapter]
    retriers = [retrier]
    self.name = name
  }

  /// Creates an interceptor from lists; `interceptors` come after the adapters and after the retriers.
  public init(
    adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
    interceptors: [any RequestInterceptor] = [], name: String? = nil
  ) {
    self.adapters = adapters + interceptors
    self.retriers = retriers + interceptors
    self.name = name
  }

  /// The interceptor as a list whose members can be taken out; nil for other types. A subclass is another type, since
  /// its overrides would be lost.
  static func list(_ interceptor: any Sendable) -> Interceptor? {
    type(of: interceptor) == Interceptor.self ? interceptor as? Interceptor : nil
  }

  /// The list with members more at its end.
  func adding(_ adapters: [any RequestAdapter], _ retriers: [any RequestRetrier]) -> Interceptor {
    Interceptor(adapters: self.adapters + adapters, retriers: self.retriers + retriers, name: name)
  }

  @preconcurrency
  open func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    AdaptationChain(adapters: adapters, request: nil, completion: completion) { adapter, request, next in
      adapter.adapt(request, for: session, completion: next)
    }
    .run(urlRequest)
  }

  @preconcurrency
  open func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    AdaptationChain(adapters: adapters, request: state.request, completion: completion) { adapter, request, next in
      adapter.adapt(request, using: state, completion: next)
    }
    .run(urlRequest)
  }

  @preconcurrency
  open func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    RetryChain(retriers: retriers, request: request, session: session, error: error) { [request] result, decision in
      request.note(decision)
      completion(result)
    }.run()
  }
}

extension RequestInterceptor where Self == Interceptor {
  /// An interceptor made of closures.
  @preconcurrency
  public static func interceptor(
    adapter: @escaping AdaptHandler, retrier: @escaping RetryHandler
  ) -> Interceptor {
    Interceptor(adaptHandler: adapter, retryHandler: retrier)
  }

  /// An interceptor made of an adapter and a retrier.
  public static func interceptor(adapter: any RequestAdapter, retrier: any RequestRetrier) -> Interceptor {
    Interceptor(adapter: adapter, retrier: retrier)
  }

  /// An interceptor made of lists.
  public static func interceptor(
    adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
    interceptors: [any RequestInterceptor] = []
  ) -> Interceptor {
    Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors)
  }
}

/// Runs adapters in order, each on the result of the one before. It ends at the first error, or when the request has
/// ended.
///
/// A value: each step's continuation holds a copy that is one step further, so nothing is shared between the threads
/// on which adapters may answer.
struct AdaptationChain: Sendable {
  typealias Completion = @Sendable (Result<URLRequest, any Error>) -> Void

  let adapters: [any RequestAdapter]
  /// Nil if the adapters' caller gave no request.
  let request: Request?
  let completion: Completion
  let adapt: @Sendable (any RequestAdapter, URLRequest, @escaping Completion) -> Void
  private(set) var position = 0

  func run(_ urlRequest: URLRequest) {
    guard position < adapters.count else { return completion(.success(urlRequest)) }
    if request?.isOver == true { return completion(.failure(WeirError.explicitlyCancelled)) }
    var next = self
    next.position += 1
    let answer = SingleCall<Result<URLRequest, any Error>> { [next] result in
      switch result {
      case .success(let adapted): next.run(adapted)
      case .failure: next.completion(result)
      }
    }
    adapt(adapters[position], urlRequest) { answer($0) }
  }
}
