public import Foundation

/// How servers are trusted and the client identifies itself.
public struct TLSConfiguration: Sendable {
  /// Whom a server's certificate must be issued by.
  public enum TrustRoots: Sendable {
    /// The system's store.
    case system
    /// A file of PEM certificates.
    case file(String)
    /// PEM certificates in memory.
    case pem(Data)
  }

  /// A certificate with its key, as PEM or PKCS #12.
  public struct ClientCertificate: Sendable {
    public enum Source: Sendable {
      case file(String)
      case data(Data)
    }

    public enum Format: Sendable {
      case pem
      case pkcs12
    }

    public var certificate: Source
    /// The private key when the certificate's source doesn't hold it.
    public var privateKey: Source?
    public var format: Format
    public var passphrase: String?

    public init(certificate: Source, privateKey: Source? = nil, format: Format = .pem, passphrase: String? = nil) {
      self.certificate = certificate
      self.privateKey = privateKey
      self.format = format
      self.passphrase = passphrase
    }
  }

  /// The base64 SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
  public struct PublicKeyPin: Sendable, Hashable {
    public let sha256: String

    public init(sha256: String) {
      self.sha256 = sha256
    }
  }

  public enum Version: Sendable {
    case tls12
    case tls13
  }

  public var trustRoots = TrustRoots.system
  public var clientCertificate: ClientCertificate?
  /// One match is enough; empty: no pinning. Applied in addition to the chain.
  public var pinnedPublicKeys: [PublicKeyPin] = []
  public var minimumVersion = Version.tls12
  /// Accept any certificate for any name. For tests.
  public var allowsInsecureServers = false

  public init() {}
}
