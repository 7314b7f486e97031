/// An adapter that sets header fields and does nothing else:
///
/// ```swift
/// struct Tenant: HeaderAdapter {
///   let name: String
///
///   func headers(using state: RequestAdapterState) -> HTTPHeaders? { ["X-Tenant": name] }
/// }
/// ```
///
/// weir puts the fields into the request's head. It makes no `URLRequest` for this adapter, as it does for any other one:
/// to make and change one costs as much as a third of a small request.
@preconcurrency
public protocol HeaderAdapter: RequestInterceptor {
  /// The fields of an attempt, each in place of the request's own field of that name. Nil: the other form,
  /// ``RequestAdapter/adapt(_:using:completion:)``, is called, which has time and sees the request.
  ///
  /// Runs where adapters run. An error arrives at the request as ``WeirError/requestAdaptationFailed(error:)``; so does a
  /// field that must not be sent.
  func headers(using state: RequestAdapterState) throws -> HTTPHeaders?
}

extension HeaderAdapter {
  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    adapt(urlRequest, using: RequestAdapterState(requestID: UUID(), session: session), completion: completion)
  }

  /// Sets the fields; changes nothing without them.
  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    let hop = HopRequest(urlRequest)
    completion((adapted(hop, using: state) ?? .success(hop)).map(\.urlRequest))
  }

  /// The request with the fields; nil without them.
  func adapted(_ hop: HopRequest, using state: RequestAdapterState) -> Result<HopRequest, any Error>? {
    do {
      return try headers(using: state).map { .success(hop.with(hop.headers.updated(with: $0))) }
    } catch {
      return .failure(error)
    }
  }
}
