/// How servers are authenticated, and how we authenticate to them.
package struct TLSOptions: Sendable, Hashable {
  package enum Roots: Sendable, Hashable {
    case system
    /// A file of PEM certificates. It is read again when the last read is more than five seconds old.
    case file(String)
    /// PEM certificates.
    case pem([UInt8])
  }

  package enum MinimumVersion: Sendable, Hashable {
    case tls10, tls11, tls12, tls13
  }

  package var roots: Roots = .system
  package var clientCertificate: ClientCertificateOptions?
  /// SHA-256 digests of the SubjectPublicKeyInfo in base64, without prefix. One match is enough; an empty list means no
  /// pinning.
  package var pinnedPublicKeys: [String] = []
  package var minimumVersion: MinimumVersion = .tls12
  /// Nil for the newest that the TLS library knows.
  package var maximumVersion: MinimumVersion?
  /// Whether the certificate must be for the host.
  package var verifiesHost = true
  /// Whether the certificate must lead to a root.
  package var verifiesPeer = true

  package init() {}

  /// Turns off every check of the server's certificate; pins still apply.
  package var allowsInsecureServers: Bool {
    get { !verifiesHost && !verifiesPeer }
    set {
      verifiesHost = !newValue
      verifiesPeer = !newValue
    }
  }
}

/// The certificate that we present to servers that ask for one.
package struct ClientCertificateOptions: Sendable, Hashable {
  package enum Source: Sendable, Hashable {
    case file(String)
    case blob([UInt8])
  }

  package enum Format: Sendable, Hashable {
    case pem, pkcs12
  }

  package var format: Format
  package var certificate: Source
  /// The private key, if it is not in `certificate`; PEM only.
  package var key: Source?
  package var passphrase: String?

  package init(format: Format, certificate: Source, key: Source? = nil, passphrase: String? = nil) {
    self.format = format
    self.certificate = certificate
    self.key = key
    self.passphrase = passphrase
  }
}

/// Shows the sources only: keys and passphrases must not appear in logs.
extension ClientCertificateOptions: CustomStringConvertible, CustomReflectable {
  package var description: String {
    let key = key.map { ", key: \($0)" } ?? ""
    return "ClientCertificateOptions(\(format), certificate: \(certificate)\(key))"
  }

  package var customMirror: Mirror {
    Mirror(self, children: ["description": description], displayStyle: .struct)
  }
}

extension ClientCertificateOptions.Source: CustomStringConvertible, CustomReflectable {
  package var description: String {
    switch self {
    case .file(let path): path
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }

  package var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}
