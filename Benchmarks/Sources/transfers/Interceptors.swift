import Foundation
import FoundationNetworking
import Weir

/// The interceptors to compare: each sets the same field.
enum Interceptors {
  private static let field = "Bearer token"

  static func make(_ kind: Options.Interception) -> (any RequestInterceptor)? {
    switch kind {
    case .none: nil
    case .closure:
      Adapter { urlRequest, _, completion in
        var urlRequest = urlRequest
        urlRequest.setValue(field, forHTTPHeaderField: "Authorization")
        completion(.success(urlRequest))
      }
    case .async:
      Adapter { urlRequest, _ in
        var urlRequest = urlRequest
        urlRequest.setValue(field, forHTTPHeaderField: "Authorization")
        return urlRequest
      }
    case .headers: Field()
    case .authentication: AuthenticationInterceptor(authenticator: Tokens(), credential: Token(field: field))
    }
  }

  private struct Field: HeaderAdapter {
    func headers(using state: RequestAdapterState) -> HTTPHeaders { ["Authorization": field] }
  }

  private struct Token: AuthenticationCredential, Sendable {
    let field: String
    var requiresRefresh: Bool { false }
  }

  private final class Tokens: Authenticator {
    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
      urlRequest.setValue(credential.field, forHTTPHeaderField: "Authorization")
    }

    func headers(with credential: Token) -> HTTPHeaders? { ["Authorization": credential.field] }

    func refresh(
      _ credential: Token, for session: Session, completion: @escaping @Sendable (Result<Token, any Error>) -> Void
    ) {
      completion(.success(credential))
    }

    func didRequest(
      _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
      response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
      urlRequest.value(forHTTPHeaderField: "Authorization") == credential.field
    }
  }
}
