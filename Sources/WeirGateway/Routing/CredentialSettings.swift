package import Weir
package import WeirTransport

/// An entry of the file's `credentials`: what requests to an upstream are authenticated with.
package struct CredentialSettings: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A token of a token service, with the way there. `wait` is how many seconds a request waits for one at most.
    case oauth2(OAuth2Settings, tls: UpstreamTLS?, proxy: ProxySettings = .off, wait: Double)
    /// A field of any name.
    case field(name: String, Secret)
    /// A user and a password (RFC 7617).
    case basic(user: String, password: Secret)
    /// A token that something else keeps fresh (RFC 6750).
    case bearer(Secret)
  }

  /// The name, a label of metrics and logs.
  package var name: String
  package var kind: Kind

  static let maximumCount = 100
  /// Seconds for which requests wait for a token at most, if the file does not say how many.
  static let defaultWait = 5.0
}

extension CredentialSettings {
  /// The field of requests that the credential writes.
  package var field: String { if case .field(let name, _) = kind { name } else { "Authorization" } }
}
