/// The facts that an adapter gets about the request that it adapts.
public struct RequestAdapterState: Sendable {
  private let identity: Identity
  /// The session of the request.
  public let session: Session

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

  init(request: Request, session: Session) {
    identity = .request(request)
    self.session = session
  }

  /// Creates a state for tests of adapters.
  public init(requestID: UUID, session: Session) {
    identity = .id(requestID)
    self.session = session
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
