/// The reason why settings make no context. Indices count certificates and keys from 0.
package enum TLSProblem: Error, Sendable, Equatable {
  /// The list of certificates is empty.
  case noCertificates
  /// There are more than `TLSSettings.maximumCertificates`.
  case tooManyCertificates(Int)
  /// The bytes of the chain hold no PEM block.
  case chainNotPEM(index: Int)
  /// The chain's PEM blocks hold no certificate.
  case chainEmpty(index: Int)
  /// A certificate of the chain can't be read, for OpenSSL's reason.
  case chainDamaged(index: Int, detail: String)
  /// The bytes of the key hold no PEM block.
  case keyNotPEM(index: Int)
  /// The key's PEM blocks hold no private key that can be read.
  case keyUnreadable(index: Int, detail: String)
  /// The key has a passphrase, for which a server has no one to ask.
  case keyEncrypted(index: Int)
  /// The key belongs to no certificate of the chain.
  case keyMismatch(index: Int)
  /// The key belongs to a certificate further down the chain.
  case chainOrder(index: Int)
  /// OpenSSL refuses the pair, as it does with weak keys.
  case certificateRefused(index: Int, detail: String)
  /// The bytes of the clients' authorities hold no PEM block.
  case clientCANotPEM
  /// The PEM blocks of the clients' authorities hold no certificate.
  case clientCAEmpty
  /// An authority's certificate can't be read, for OpenSSL's reason.
  case clientCADamaged(detail: String)
  /// There are no ticket keys in the list, or more than `TLSSettings.maximumTicketKeys`.
  case ticketKeyCount(Int)
  /// A ticket key has another length than `TLSSettings.ticketKeyLength`.
  case ticketKeyLength(index: Int, length: Int)
  /// The oldest version is newer than the newest.
  case versionsReversed
  /// TLS 1.2 is the newest version, and the list of cipher suites has none of it.
  case noCipherSuiteForVersion
  /// OpenSSL does not know the group.
  case unknownGroup(TLSGroup)
  /// Names of clients are given, and clients need no certificate.
  case namesWithoutCertificates
  /// OpenSSL failed for want of memory or of random numbers.
  case internalFailure(detail: String)
}

extension TLSProblem: CustomStringConvertible {
  /// A sentence that says what is wrong and what to change. It does not name files, which the caller knows.
  package var description: String {
    switch self {
    case .noCertificates: "there is no certificate; give at least one"
    case .tooManyCertificates(let count):
      "there are \(count) certificates; at most \(TLSSettings.maximumCertificates) are possible"
    case .chainNotPEM: "the certificate file is not PEM; convert it with 'openssl x509'"
    case .chainEmpty: "the certificate file holds no certificate; give the chain, the server's own certificate first"
    case .chainDamaged(_, let detail): "a certificate of the file can't be read (\(detail)); copy the file again"
    case .keyNotPEM: "the key file is not PEM; convert it with 'openssl pkey'"
    case .keyUnreadable(_, let detail): "the key file holds no private key that can be read (\(detail))"
    case .keyEncrypted: "the key is encrypted; remove its passphrase with 'openssl pkey'"
    case .keyMismatch: "the key does not belong to the certificate; give the key that the certificate was made with"
    case .chainOrder:
      "the key belongs to a later certificate of the file; put the server's own certificate first"
    case .certificateRefused(_, let detail):
      "OpenSSL refuses the certificate (\(detail)); use a stronger key or signature"
    case .clientCANotPEM: "the client CA file is not PEM; convert it with 'openssl x509'"
    case .clientCAEmpty: "the client CA file holds no certificate; give those of the authorities to trust"
    case .clientCADamaged(let detail):
      "a certificate of the client CA file can't be read (\(detail)); copy the file again"
    case .ticketKeyCount(let count):
      "there are \(count) ticket keys; give 1 to \(TLSSettings.maximumTicketKeys)"
    case .ticketKeyLength(let index, let length):
      "ticket key \(index + 1) has \(length) bytes; it needs \(TLSSettings.ticketKeyLength)"
    case .versionsReversed: "the oldest version is newer than the newest; exchange them"
    case .noCipherSuiteForVersion:
      "TLS 1.2 is the newest version, and no cipher suite is one of it; add one, or allow TLS 1.3"
    case .unknownGroup(let group):
      "the OpenSSL that is installed does not know \(group.rawValue); leave it out"
    case .namesWithoutCertificates:
      "names of clients are given, and clients need no certificate; require certificates"
    case .internalFailure(let detail): "OpenSSL failed (\(detail)); this is no fault of the settings"
    }
  }

  /// The part of the settings that a problem is about.
  package enum Subject: Sendable, Equatable {
    /// The chain of a certificate.
    case chain(Int)
    case key(Int)
    case clientCA
    case ticketKeys
    /// No part that is a file.
    case other
  }

  package var subject: Subject {
    switch self {
    case .chainNotPEM(let index), .chainEmpty(let index), .chainDamaged(let index, _), .chainOrder(let index),
      .certificateRefused(let index, _):
      .chain(index)
    case .keyNotPEM(let index), .keyUnreadable(let index, _), .keyEncrypted(let index), .keyMismatch(let index):
      .key(index)
    case .clientCANotPEM, .clientCAEmpty, .clientCADamaged: .clientCA
    case .ticketKeyCount, .ticketKeyLength: .ticketKeys
    case .noCertificates, .tooManyCertificates, .versionsReversed, .noCipherSuiteForVersion, .unknownGroup,
      .namesWithoutCertificates, .internalFailure:
      .other
    }
  }
}
