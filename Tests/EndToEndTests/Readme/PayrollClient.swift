// docs/trust.md begins
import Foundation
import FoundationNetworking
import Weir

/// A client of a service that must be exactly the one that is meant, and that wants to know who asks.
final class PayrollClient: Sendable {
  private let session: Session
  private let base: String

  /// - Parameters:
  ///   - authority: The file of the company's own authority.
  ///   - key: The service's certificate or public key, in PEM.
  ///   - bundle: Our certificate with its key, in PKCS #12.
  init(host: String, port: Int, authority: String, key: String, bundle: String, passphrase: String) throws {
    var configuration = SessionConfiguration.default
    configuration.tls.clientCertificate = TLSConfiguration.ClientCertificate(
      certificate: .file(bundle), format: .pkcs12, passphrase: passphrase)
    let pin = try TLSConfiguration.PublicKeyPin(pem: key)
    let trust = ServerTrustManager(evaluators: [
      host: .composite(evaluators: [.customCA(.file(authority)), .publicKeys(keys: [pin])])
    ])
    session = Session(configuration: configuration, serverTrustManager: trust)
    base = "https://\(host):\(port)"
  }

  func salaries(user: String, password: String) async throws -> String {
    do {
      return try await session.request("\(base)/salaries")
        .authenticate(username: user, password: password)
        .validate().serializingString().value
    } catch WeirError.serverTrustEvaluationFailed(.publicKeyPinningFailed(let host, _)) {
      throw Impostor(host: host)
    }
  }

  struct Impostor: Error { let host: String }
}
// docs/trust.md ends
