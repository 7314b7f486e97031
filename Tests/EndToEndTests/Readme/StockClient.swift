// docs/authentication.md begins
import Foundation
import FoundationNetworking
import Weir

/// What the token service gives: an access token, and until when it is good.
struct AccessToken: AuthenticationCredential, Sendable {
  let text: String
  let expires: Date

  /// A little early, so that no token expires on its way.
  var requiresRefresh: Bool { expires < Date.now + 30 }
}

/// Gets tokens with the secret of this service.
final class TokenSource: AsyncAuthenticator {
  private struct Answer: Decodable {
    let access_token: String
    let expires_in: Double
  }

  private let url: String
  private let secret: String

  init(url: String, secret: String) {
    self.url = url
    self.secret = secret
  }

  func apply(_ token: AccessToken, to urlRequest: inout URLRequest) {
    urlRequest.headers.add(.authorization(bearerToken: token.text))
  }

  /// A deadline of its own, as others wait for it. The request is not held up by the refresh that it is made for.
  func refresh(_ token: AccessToken, for session: Session) async throws -> AccessToken {
    let answer = try await session.request(url, method: .post, parameters: ["client_secret": secret])
      .validate().deadline(5).serializingDecodable(Answer.self).value
    return AccessToken(text: answer.access_token, expires: .now + answer.expires_in)
  }

  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool {
    response.statusCode == 401
  }

  func isRequest(_ urlRequest: URLRequest, authenticatedWith token: AccessToken) -> Bool {
    urlRequest.headers["Authorization"] == "Bearer \(token.text)"
  }
}

/// What is in stock, by a service that wants a token.
final class StockClient: Sendable {
  private let base: String
  private let session: Session

  init(base: String, secret: String) {
    self.base = base
    let authentication = AuthenticationInterceptor(
      name: "stock", authenticator: TokenSource(url: "\(base)/token", secret: secret),
      // The first request fetches the first token.
      credential: AccessToken(text: "", expires: .distantPast))
    session = Session(
      interceptor: Interceptor(interceptors: [authentication, RetryPolicy.recommended()]))
  }

  func count(of item: String) async throws -> Int {
    try await session.request("\(base)/stock/\(item)").validate().serializingDecodable(Int.self).value
  }
}
// docs/authentication.md ends
