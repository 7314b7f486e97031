import Weir
import WeirIO
import WeirTransport

/// Writes a credential into the requests of a session of the library's, and has a token that was refused renewed once for
/// each request.
struct CredentialInterceptor: RequestInterceptor {
  private let credential: OutboundCredential

  init(_ credential: OutboundCredential) { self.credential = credential }

  func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    let waiter = OutboundCredential.Waiter(loop: session.loop) { [self] outcome in
      switch outcome {
      case .proceed: completion(.success(written(into: urlRequest)))
      case .again: adapt(urlRequest, for: session, completion: completion)
      case .fail(let error): completion(.failure(error))
      case .excessiveRefresh:
        completion(.failure(Unavailable(errorDescription: "Too many tokens were fetched in a short time.")))
      }
    }
    switch credential.adapt(at: .now, waiter) {
    case .ready: completion(.success(written(into: urlRequest)))
    // The deadline of the export limits the time.
    case .wait: break
    case .refuse(let refusal): completion(.failure(Unavailable(errorDescription: refusal.text)))
    }
  }

  func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    guard request.response?.statusCode == 401, request.retryCount == 0 else { return completion(.doNotRetry) }
    let value = credential.value()
    guard request.request?.value(forHTTPHeaderField: field) == Self.text(of: value) else { return completion(.retry) }
    let waiter = OutboundCredential.Waiter(loop: session.loop) { outcome in
      if case .proceed = outcome { completion(.retry) } else { completion(.doNotRetry) }
    }
    switch credential.repair(value.version, at: .now, waiter) {
    case .again: completion(.retry)
    case .wait: break
    case .none: completion(.doNotRetry)
    }
  }

  private var field: String { String(decoding: credential.field, as: UTF8.self) }

  private func written(into urlRequest: URLRequest) -> URLRequest {
    var urlRequest = urlRequest
    urlRequest.setValue(Self.text(of: credential.value()), forHTTPHeaderField: field)
    return urlRequest
  }

  private static func text(of value: OutboundCredential.Value) -> String {
    String(decoding: value.octets, as: UTF8.self)
  }

  /// There is no token.
  private struct Unavailable: LocalizedError {
    let errorDescription: String?
  }
}
