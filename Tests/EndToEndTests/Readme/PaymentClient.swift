// docs/credentials.md begins
import Weir

/// What was paid, by a service that wants a token.
final class PaymentClient: Sendable {
  private let base: String
  private let session: Session

  init(base: String, tokenURL: URL, secretFile: String) throws {
    self.base = base
    let settings = OAuth2Settings(
      tokenURL: tokenURL, clientID: "shop", authentication: .basic(Secret(try SecretFile(secretFile))),
      scopes: ["payments.read"])
    session = Session(
      interceptor: AuthenticationInterceptor(
        name: "payments", authenticator: OAuth2Authenticator(settings), credential: OAuth2Token.absent))
  }

  func total(of day: String) async throws -> Double {
    try await session.request("\(base)/total/\(day)").validate().serializingDecodable(Double.self).value
  }
}
// docs/credentials.md ends
