public import Foundation
public import FoundationNetworking

/// What an adapter may know about the request it adapts.
public struct RequestAdapterState: Sendable {
  private let identity: Identity
  public let session: Session

  /// A request's identifier is made when somebody asks for it.
  private enum Identity {
    case id(UUID)
    case request(Request)
  }

  public var requestID: UUID {
    switch identity {
    case .id(let id): id
    case .request(let request): request.id
    }
  }

  init(request: Request, session: Session) {
    identity = .request(request)
    self.session = session
  }

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
  @preconcurrency
  func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)

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
