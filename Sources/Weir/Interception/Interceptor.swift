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

  @preconcurrency
  open func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    AdaptationChain(adapters: adapters, completion: completion) { adapter, request, next in
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
