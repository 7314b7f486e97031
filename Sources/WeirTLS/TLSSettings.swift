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

  /// The rule for clients' certificates where there are authorities for them.
  package enum ClientAuth: Sendable, Equatable {
    /// A client without a certificate is refused.
    case required
    /// A client may have no certificate. A bad one ends the handshake.
    case optional
  }

  /// 1 to 100. The first is shown to clients that name no host, or one that no certificate covers.
  package var certificates: [TLSCertificate]
  /// The oldest version that is spoken.
  package var minimumVersion: Version
  /// Whether a name that no certificate covers ends the handshake with the alert unrecognized_name.
  package var strictNames: Bool
  /// PEM of the authorities that issue clients' certificates; nil asks clients for none.
  package var clientCA: [UInt8]?
  /// Means nothing without `clientCA`.
  package var clientAuth: ClientAuth
  /// 1 to 4 keys of 80 bytes: a name of 16, an HMAC key of 32, an AES-256 key of 32, as nginx and OpenSSL order them.
  /// The first encrypts, and all decrypt. Nil draws keys, and new ones every 12 hours.
  package var ticketKeys: [[UInt8]]?

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
