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

  /// The rule for clients' certificates. A client always proves that it has the certificate's key.
  package enum ClientAuth: Sendable, Equatable {
    /// A client without a certificate is refused. Means nothing without authorities.
    case required
    /// A client may have no certificate. A bad one ends the handshake. Means nothing without authorities.
    case optional
    /// A client without a certificate is refused. Any certificate is taken, of any issuer.
    case requiredUnverified
    /// A client may have no certificate, and any is taken.
    case optionalUnverified
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
