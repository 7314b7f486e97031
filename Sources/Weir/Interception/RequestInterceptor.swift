/// The facts that an adapter gets about the request that it adapts.
public struct RequestAdapterState: Sendable {
  private let identity: Identity
  /// The session of the request.
  public let session: Session
  /// The number of the attempt whose URL request is adapted, 1 for the first.
  public let attempt: Int
  /// The attempt's place in a trace, for an adapter that begins a span of its own or signs header fields; nil without one.
  /// The URL request has its fields already. If an adapter changes or removes them, the attempt is sent so.
  public let traceContext: TraceContext?

  /// A request's identifier is made on its first use, so it is not read here.
  private enum Identity {
    case id(UUID)
    case request(Request)
  }

  /// The request's ``Request/id``.
  public var requestID: UUID {
    switch identity {
    case .id(let id): id
    case .request(let request): request.id
    }
  }

  /// Nil in tests of adapters.
  var request: Request? {
    if case .request(let request) = identity { request } else { nil }
  }

  init(request: Request, session: Session, attempt: Int, traceContext: TraceContext?) {
    identity = .request(request)
    (self.session, self.attempt, self.traceContext) = (session, attempt, traceContext)
  }

  /// Creates a state for tests of adapters.
  public init(requestID: UUID, session: Session, attempt: Int = 1, traceContext: TraceContext? = nil) {
    identity = .id(requestID)
    (self.session, self.attempt, self.traceContext) = (session, attempt, traceContext)
  }
}

/// Inspects and changes the URL request of every attempt before it is sent.
///
/// Implement one of the two forms; weir calls ``adapt(_:using:completion:)``. The completion may be called at once,
/// later, and on any thread; a second call is ignored. An error arrives at the request as
/// ``WeirError/requestAdaptationFailed(error:)``.
@preconcurrency
public protocol RequestAdapter: Sendable {
  /// The form for adapters that need only the session. Default: the request unchanged.
  ///
  /// An adapter that calls another one should use the other form. Through this form, an async adapter or an
  /// ``AuthenticationInterceptor`` does not learn that the request has ended.
  @preconcurrency
  func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)

  /// The form that weir calls, with facts about the request. Default: calls the other form.
  ///
  /// The first adapter of an attempt runs on the session's ``Session/requestQueue``, else on the event loop. Each
  /// further one runs where the one before it answered.
  @preconcurrency
  func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)
}

extension RequestAdapter {
  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    completion(.success(urlRequest))
  }

  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    adapt(urlRequest, for: state.session, completion: completion)
  }
}

/// Decides whether a failed request is tried again.
///
/// It is asked about errors of every stage; `error` is a ``WeirError``. The completion may be called at once, later,
/// and on any thread; a second call is ignored.
@preconcurrency
public protocol RequestRetrier: Sendable {
  /// Answers whether the request is tried again.
  ///
  /// The first retrier runs on the session's ``Session/rootQueue``, else on the event loop. Each further one runs where
  /// the one before it answered.
  @preconcurrency
  func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void)
}

/// A retrier's answer.
public enum RetryResult: Sendable {
  /// Retry at once.
  case retry
  /// Retry after that many seconds; zero and less mean at once.
  case retryWithDelay(TimeInterval)
  /// Let the error stand; the next retrier is asked.
  case doNotRetry
  /// Let the request fail with ``WeirError/requestRetryFailed(retryError:originalError:)``.
  case doNotRetryWithError(any Error)

  /// Whether the answer asks for a retry.
  public var retryRequired: Bool {
    switch self {
    case .retry, .retryWithDelay: true
    case .doNotRetry, .doNotRetryWithError: false
    }
  }

  /// The delay asked for, in seconds.
  public var delay: TimeInterval? {
    if case .retryWithDelay(let delay) = self { delay } else { nil }
  }

  /// The retrier's own error.
  public var error: (any Error)? {
    if case .doNotRetryWithError(let error) = self { error } else { nil }
  }
}

/// An adapter and a retrier in one; by default it changes nothing and retries nothing.
@preconcurrency
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
  @preconcurrency
  public func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    completion(.doNotRetry)
  }
}

/// Answers with the adapted request or an error.
public typealias AdaptHandler =
  @Sendable (
    URLRequest, Session, _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) -> Void

/// Answers whether the request is tried again.
public typealias RetryHandler =
  @Sendable (
    Request, Session, any Error, _ completion: @escaping @Sendable (RetryResult) -> Void
  ) -> Void

/// Returns the adapted request, or throws an error.
public typealias AsyncAdaptHandler = @Sendable (URLRequest, RequestAdapterState) async throws -> URLRequest

/// Returns whether the request is tried again.
public typealias AsyncRetryHandler = @Sendable (Request, Session, any Error) async -> RetryResult
