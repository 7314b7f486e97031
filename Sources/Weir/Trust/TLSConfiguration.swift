/// How servers are trusted and the client identifies itself.
public struct TLSConfiguration: Sendable, Hashable {
  /// The certificate authorities that a server's certificate must lead to.
  public enum TrustRoots: Sendable, Hashable {
    /// The system's store.
    case system
    /// A file of PEM certificates. If it is replaced, connections made more than five seconds later use the new file.
    /// Existing connections, and the TLS sessions that they left, are kept.
    case file(String)
    /// PEM certificates in memory.
    case pem(Data)
  }

  /// A certificate with its key, as PEM or PKCS #12.
  public struct ClientCertificate: Sendable, Hashable {
    /// The source of a certificate or key.
    public enum Source: Sendable, Hashable {
      /// The file with this path, read when a connection is made.
      case file(String)
      /// These bytes.
      case data(Data)
    }

    /// The format of certificate and key.
    public enum Format: Sendable {
      /// Text (RFC 7468).
      case pem
      /// Certificate and key in one file (RFC 7292).
      case pkcs12
    }

    /// The certificate, followed by the intermediate certificates if the server needs them.
    public var certificate: Source
    /// The private key, if the certificate's source doesn't contain it.
    public var privateKey: Source?
    /// The format of both the certificate and the key.
    public var format: Format
    /// The passphrase of the key or of the PKCS #12 file.
    public var passphrase: String?

    /// Takes a certificate with its key. If one is wrong, making a connection fails.
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

    /// Takes the text, with or without libcurl's prefix `sha256//`. A text that is not the base64 of a SHA-256 matches
    /// no key.
    public init(sha256: String) {
      self.sha256 = sha256.hasPrefix("sha256//") ? String(sha256.dropFirst(8)) : sha256
    }
  }

  /// The TLS versions to choose from.
  public enum Version: Sendable {
    /// TLS 1.2 (RFC 5246).
    case tls12
    /// TLS 1.3 (RFC 8446).
    case tls13
  }

  /// The certificate authorities that a server's certificate must lead to; default: the system's.
  public var trustRoots = TrustRoots.system
  /// The certificate for servers that ask the client for one; default: none.
  public var clientCertificate: ClientCertificate?
  /// The keys that servers may have: one match is enough. Empty: no pinning. Applied in addition to the chain.
  public var pinnedPublicKeys: [PublicKeyPin] = []
  /// The oldest TLS version that is accepted; default 1.2.
  public var minimumVersion = Version.tls12
  /// The name asked for (SNI), which every server's certificate must have; nil: the URL's host. It does not hold for
  /// hosts with an evaluator.
  public var serverName: String?
  /// Whether hosts without an evaluator may have any certificate for any name, and whether evaluators may allow the
  /// same (``DisabledTrustEvaluator``). For tests.
  public var allowsInsecureServers = false

  /// A configuration with the system's roots, TLS 1.2 or later, no client certificate and no pins.
  public init() {}
}

extension TLSConfiguration.PublicKeyPin {
  /// The pin of a certificate's key, or of a public key (RFC 5280 section 4.1.2.7), in DER.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noPublicKeysFound`` for anything else, such as a private key.
  public init(der data: Data) throws {
    try self.init(publicKeyIn: [UInt8](data))
  }

  /// The pin of the first `CERTIFICATE` or `PUBLIC KEY` in a text (RFC 7468). In a chain a server's own certificate
  /// comes first.
  ///
  /// - Throws: ``WeirError/ServerTrustFailureReason/noPublicKeysFound`` if there is neither.
  public init(pem text: String) throws {
    let piece = PEM.pieces(of: text.utf8).first { $0.isCertificate || $0.label == "PUBLIC KEY" }
    try self.init(publicKeyIn: piece?.bytes ?? [])
  }

  private init(publicKeyIn bytes: [UInt8]) throws {
    guard let key = DERReader.publicKey(in: bytes) else {
      throw WeirError.serverTrustEvaluationFailed(reason: .noPublicKeysFound)
    }
    self.init(sha256: SHA256.base64(of: key))
  }
}

// Keys and their passphrases must not appear in logs.

extension TLSConfiguration.ClientCertificate: CustomStringConvertible, CustomReflectable {
  /// The sources of certificate and key, without their contents.
  public var description: String {
    let key = privateKey.map { ", privateKey: \($0)" } ?? ""
    let passphrase = passphrase == nil ? "" : ", passphrase: \(Redaction.placeholder)"
    return "ClientCertificate(certificate: \(certificate)\(key), format: \(format)\(passphrase))"
  }

  /// Only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}

extension TLSConfiguration.ClientCertificate.Source: CustomStringConvertible, CustomReflectable {
  /// The path, or the number of bytes.
  public var description: String {
    switch self {
    case .file(let path): path
    case .data(let data): "\(data.count) bytes"
    }
  }

  /// Only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .enum) }
}
