/// The TLS of a listener, as its configuration has it. Files are given by their bytes.
package struct TLSSettings: Sendable, Equatable {
  /// The most certificates of a listener.
  package static let maximumCertificates = 100
  /// The most ticket keys of a listener.
  package static let maximumTicketKeys = 4
  /// The bytes of a ticket key.
  package static let ticketKeyLength = 80

  /// A version of TLS.
  package enum Version: Sendable, Equatable {
    /// RFC 5246.
    case v1_2
    /// RFC 8446.
    case v1_3
  }

  /// The rule for clients' certificates. A client always proves that it has the certificate's key. Tickets depend on the
  /// rule by its number; 0 stands for none.
  package enum ClientAuth: UInt8, Sendable {
    /// A client may have no certificate. A bad one ends the handshake. Means nothing without authorities.
    case optional = 1
    /// A client without a certificate is refused. Means nothing without authorities.
    case required = 2
    /// A client may have no certificate, and any is taken.
    case optionalUnverified = 3
    /// A client without a certificate is refused. Any certificate is taken, of any issuer.
    case requiredUnverified = 4
  }

  /// 1 to 100. The first is shown to clients that name no host, or one that no certificate covers.
  package var certificates: [TLSCertificate]
  /// The oldest version that is spoken.
  package var minimumVersion: Version
  /// Whether a name that no certificate covers ends the handshake with the alert unrecognized_name.
  package var strictNames: Bool
  /// PEM of the authorities that issue clients' certificates; nil asks clients for none.
  package var clientCA: [UInt8]?
  /// Whether clients need certificates, and whether these are verified.
  package var clientAuth: ClientAuth
  /// 1 to 4 keys of 80 bytes: a name of 16, an HMAC key of 32, an AES-256 key of 32, as nginx and OpenSSL order them.
  /// The first encrypts, and all decrypt. Nil draws keys, and new ones every 12 hours.
  package var ticketKeys: [[UInt8]]?
  /// The newest version that is spoken.
  package var maximumVersion = Version.v1_3
  /// The cipher suites, in the server's order; empty for OpenSSL's. If there are none of TLS 1.3 among them, that
  /// version has OpenSSL's. If there are none of TLS 1.2, that version is not spoken.
  package var cipherSuites: [TLSCipherSuite] = []
  /// The groups for the exchange of keys, in the server's order and each once; empty for OpenSSL's.
  package var groups: [TLSGroup] = []
  /// Whether the server's order of cipher suites counts, and not the client's.
  package var prefersServerOrder = false
  /// Subject alternative names (DNS, email, IP, URI) of which a client's certificate must have one, in just this
  /// spelling; nil for any. Clients must need certificates then.
  package var allowedClientNames: Set<String>?

  /// Settings as they are given. `TLSServerContext` finds what is wrong with them.
  package init(
    certificates: [TLSCertificate], minimumVersion: Version = .v1_2, strictNames: Bool = false,
    clientCA: [UInt8]? = nil, clientAuth: ClientAuth = .required, ticketKeys: [[UInt8]]? = nil
  ) {
    self.certificates = certificates
    self.minimumVersion = minimumVersion
    self.strictNames = strictNames
    self.clientCA = clientCA
    self.clientAuth = clientAuth
    self.ticketKeys = ticketKeys
  }

  /// Whether clients are asked for certificates.
  var asksForCertificates: Bool { clientCA != nil || !verifiesClients }

  /// Whether clients without a certificate are refused.
  var needsCertificates: Bool {
    asksForCertificates && (clientAuth == .required || clientAuth == .requiredUnverified)
  }

  var verifiesClients: Bool { clientAuth == .required || clientAuth == .optional }

  /// The oldest version, in view of the cipher suites.
  var oldestVersion: Version {
    cipherSuites.isEmpty || cipherSuites.contains { $0.version == .v1_2 } ? minimumVersion : .v1_3
  }
}

/// A certificate with its key, as the bytes of their PEM files.
package struct TLSCertificate: Sendable, Equatable {
  /// The certificate itself first, then those that lead to its authority.
  package var chain: [UInt8]
  /// The private key, which must have no passphrase.
  package var key: [UInt8]

  /// A pair of files' bytes, unchecked.
  package init(chain: [UInt8], key: [UInt8]) {
    self.chain = chain
    self.key = key
  }
}

/// A cipher suite by its name at IANA. There are those that Go's crypto/tls calls secure, all with forward secrecy.
package enum TLSCipherSuite: String, Sendable, Equatable, CaseIterable {
  case aes128GCM = "TLS_AES_128_GCM_SHA256"
  case aes256GCM = "TLS_AES_256_GCM_SHA384"
  case chaCha20 = "TLS_CHACHA20_POLY1305_SHA256"
  case ecdsaAES128CBC = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"
  case ecdsaAES256CBC = "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"
  case rsaAES128CBC = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
  case rsaAES256CBC = "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"
  case ecdsaAES128GCM = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
  case ecdsaAES256GCM = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
  case rsaAES128GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
  case rsaAES256GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
  case ecdsaChaCha20 = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
  case rsaChaCha20 = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"

  /// The version of TLS that the suite is for.
  var version: TLSSettings.Version {
    switch self {
    case .aes128GCM, .aes256GCM, .chaCha20: .v1_3
    default: .v1_2
    }
  }

  /// OpenSSL's name. It has those of IANA for TLS 1.3 alone.
  var openSSLName: String {
    switch self {
    case .aes128GCM, .aes256GCM, .chaCha20: rawValue
    case .ecdsaAES128CBC: "ECDHE-ECDSA-AES128-SHA"
    case .ecdsaAES256CBC: "ECDHE-ECDSA-AES256-SHA"
    case .rsaAES128CBC: "ECDHE-RSA-AES128-SHA"
    case .rsaAES256CBC: "ECDHE-RSA-AES256-SHA"
    case .ecdsaAES128GCM: "ECDHE-ECDSA-AES128-GCM-SHA256"
    case .ecdsaAES256GCM: "ECDHE-ECDSA-AES256-GCM-SHA384"
    case .rsaAES128GCM: "ECDHE-RSA-AES128-GCM-SHA256"
    case .rsaAES256GCM: "ECDHE-RSA-AES256-GCM-SHA384"
    case .ecdsaChaCha20: "ECDHE-ECDSA-CHACHA20-POLY1305"
    case .rsaChaCha20: "ECDHE-RSA-CHACHA20-POLY1305"
    }
  }
}

/// A group for the exchange of keys, by the name that Go's crypto/tls has for it.
package enum TLSGroup: String, Sendable, Equatable, CaseIterable {
  case p256 = "CurveP256"
  case p384 = "CurveP384"
  case p521 = "CurveP521"
  case x25519 = "X25519"
  /// Known to OpenSSL from 3.5 on.
  case x25519MLKEM768 = "X25519MLKEM768"

  var openSSLName: String {
    switch self {
    case .p256: "P-256"
    case .p384: "P-384"
    case .p521: "P-521"
    case .x25519, .x25519MLKEM768: rawValue
    }
  }
}
