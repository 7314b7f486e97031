/// What an adapter may know about the request it adapts.
public struct RequestAdapterState: Sendable {
  private let identity: Identity
  /// The session that the request is of.
  public let session: Session

  /// A request's identifier is made when somebody asks for it.
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

  /// Takes both, for tests of adapters.
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
  /// The form for adapters that need the session alone. Default: the request as it is.
  ///
  /// An adapter that hands on to another should do so by the other form: called by this one, an async adapter or an
  /// ``AuthenticationInterceptor`` does not hear when the request ends.
  @preconcurrency
  func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)

  /// The form that weir calls, with what is known of the request. Default: the other form.
  ///
  /// The first adapter of an attempt runs on the session's ``Session/requestQueue``, else on the event loop; each
  /// further one where the one before it answered.
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
