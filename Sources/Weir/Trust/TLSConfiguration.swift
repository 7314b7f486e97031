/// How servers are trusted and the client identifies itself.
public struct TLSConfiguration: Sendable {
  /// Whom a server's certificate must be issued by.
  public enum TrustRoots: Sendable, Hashable {
    /// The system's store.
    case system
    /// A file of PEM certificates. When it is replaced, connections made five seconds later follow it; those that stand, and
    /// the TLS sessions that they left, do not.
    case file(String)
    /// PEM certificates in memory.
    case pem(Data)
  }

  /// A certificate with its key, as PEM or PKCS #12.
  public struct ClientCertificate: Sendable {
    /// Where something is read from.
    public enum Source: Sendable {
      /// The file with this path, read when a connection is made.
      case file(String)
      /// These bytes.
      case data(Data)
    }

    /// How certificate and key are written.
    public enum Format: Sendable {
      /// Text (RFC 7468).
      case pem
      /// Certificate and key in one (RFC 7292).
      case pkcs12
    }

    /// The certificate, with those that lead to its root if the server needs them.
    public var certificate: Source
    /// The private key when the certificate's source doesn't hold it.
    public var privateKey: Source?
    /// Of the certificate and of the key.
    public var format: Format
    /// What the key, or the PKCS #12 file, is encrypted with.
    public var passphrase: String?

    /// Takes a certificate with its key; a wrong one shows when a connection is made.
    public init(certificate: Source, privateKey: Source? = nil, format: Format = .pem, passphrase: String? = nil) {
      self.certificate = certificate
      self.privateKey = privateKey
      self.format = format
      self.passphrase = passphrase
    }
  }

  /// The base64 SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
  public struct PublicKeyPin: Sendable, Hashable {
    /// 44 characters of base64, without a prefix.
    public let sha256: String

    /// Takes the text, with or without libcurl's `sha256//` before it; one that is no base64 of a SHA-256 matches no key.
    public init(sha256: String) {
      self.sha256 = sha256.hasPrefix("sha256//") ? String(sha256.dropFirst(8)) : sha256
    }
  }

  /// The versions of TLS there are to choose from.
  public enum Version: Sendable {
    /// RFC 5246 and later.
    case tls12
    /// RFC 8446.
    case tls13
  }

  /// Whom a server's certificate must be issued by; default: whom the system trusts.
  public var trustRoots = TrustRoots.system
  /// What the client identifies itself with where a server asks; default: nothing.
  public var clientCertificate: ClientCertificate?
  /// One match is enough; empty: no pinning. Applied in addition to the chain.
  public var pinnedPublicKeys: [PublicKeyPin] = []
  /// No older version is spoken; default 1.2.
  public var minimumVersion = Version.tls12
  /// Accept any certificate for any name, of hosts without an evaluator, and let evaluators do so
  /// (``DisabledTrustEvaluator``). For tests.
  public var allowsInsecureServers = false

  /// The system's roots, TLS 1.2 or later, no client certificate, no pins.
  public init() {}
}
