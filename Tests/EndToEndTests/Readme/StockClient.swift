// docs/authentication.md begins
import Foundation
import Weir

/// What is in stock, by a service that wants a token.
final class StockClient: Sendable {
  private let base: String
  private let session: Session

  init(base: String, tokenURL: URL, secret: Secret) {
    self.base = base
    let tokens = OAuth2Authenticator(
      OAuth2Settings(tokenURL: tokenURL, clientID: "shop", authentication: .basic(secret), scopes: ["stock.read"]))
    // The first request fetches the first token.
    let authentication = AuthenticationInterceptor(
      name: "stock", authenticator: tokens, credential: OAuth2Token.absent)
    session = Session(interceptor: Interceptor(interceptors: [authentication, RetryPolicy.recommended()]))
  }

  func count(of item: String) async throws -> Int {
    try await session.request("\(base)/stock/\(item)").validate().serializingDecodable(Int.self).value
  }
}
// docs/authentication.md ends
