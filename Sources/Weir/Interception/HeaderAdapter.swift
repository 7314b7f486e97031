/// An adapter that sets header fields and does nothing else:
///
/// ```swift
/// struct Tenant: HeaderAdapter {
///   let name: String
///
///   func headers(using state: RequestAdapterState) -> HTTPHeaders { ["X-Tenant": name] }
/// }
/// ```
///
/// Other adapters are handed a `URLRequest`, which is made and changed for them and costs as much as half a small request.
/// For this one there is none, if the request is one of a URL, a method and header fields.
@preconcurrency
public protocol HeaderAdapter: RequestInterceptor {
  /// The fields of an attempt, each in place of the request's own field of that name.
  ///
  /// Runs where adapters run. An error arrives at the request as ``WeirError/requestAdaptationFailed(error:)``; so does a
  /// field that `URLRequest.validate()` refuses.
  func headers(using state: RequestAdapterState) throws -> HTTPHeaders
}

extension HeaderAdapter {
  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    adapt(urlRequest, using: RequestAdapterState(requestID: UUID(), session: session), completion: completion)
  }

  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    completion(Result { HopRequest(urlRequest).updated(with: try headers(using: state)).urlRequest })
  }
}

/// An adapter that may have no need of the `URLRequest`.
package protocol ReadyAdapter: RequestAdapter {
  /// The fields to set if that is all there is to do; nil if ``RequestAdapter/adapt(_:using:completion:)`` has to be called.
  func readyHeaders(using state: RequestAdapterState) -> HTTPHeaders?
}

extension HopRequest {
  /// The request with these fields, each in place of its own field of that name.
  func updated(with fields: HTTPHeaders) -> HopRequest {
    fields.isEmpty ? self : with(headers.updated(with: fields))
  }
}
