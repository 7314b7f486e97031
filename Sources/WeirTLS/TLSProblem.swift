/// The reason why settings make no context. Indices count certificates and keys from 0.
package enum TLSProblem: Error, Sendable, Equatable {
  /// The list of certificates is empty.
  case noCertificates
  /// There are more than `TLSSettings.maximumCertificates`.
  case tooManyCertificates(Int)
  /// The bytes of a file hold no PEM block.
  case notPEM(Subject)
  /// The PEM blocks of a file hold no certificate.
  case noCertificate(Subject)
  /// A certificate or key of a file can't be read, for OpenSSL's reason.
  case damaged(Subject, detail: String)
  /// The key has a passphrase, for which a server has no one to ask.
  case keyEncrypted(index: Int)
  /// The key belongs to no certificate of the chain.
  case keyMismatch(index: Int)
  /// The key belongs to a certificate further down the chain.
  case chainOrder(index: Int)
  /// OpenSSL refuses the pair, as it does with weak keys.
  case certificateRefused(index: Int, detail: String)
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
    case .notPEM(.key): "the key file is not PEM; convert it with 'openssl pkey'"
    case .notPEM(.clientCA): "the client CA file is not PEM; convert it with 'openssl x509'"
    case .notPEM: "the certificate file is not PEM; convert it with 'openssl x509'"
    case .noCertificate(.clientCA): "the client CA file holds no certificate; give those of the authorities to trust"
    case .noCertificate:
      "the certificate file holds no certificate; give the chain, the server's own certificate first"
    case .damaged(.key, let detail): "the key file holds no private key that can be read (\(detail))"
    case .damaged(.clientCA, let detail):
      "a certificate of the client CA file can't be read (\(detail)); copy the file again"
    case .damaged(_, let detail): "a certificate of the file can't be read (\(detail)); copy the file again"
    case .keyEncrypted: "the key is encrypted; remove its passphrase with 'openssl pkey'"
    case .keyMismatch: "the key does not belong to the certificate; give the key that the certificate was made with"
    case .chainOrder:
      "the key belongs to a later certificate of the file; put the server's own certificate first"
    case .certificateRefused(_, let detail):
      "OpenSSL refuses the certificate (\(detail)); use a stronger key or signature"
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
    case .notPEM(let part), .noCertificate(let part), .damaged(let part, _): part
    case .chainOrder(let index), .certificateRefused(let index, _): .chain(index)
    case .keyEncrypted(let index), .keyMismatch(let index): .key(index)
    case .ticketKeyCount, .ticketKeyLength: .ticketKeys
    case .noCertificates, .tooManyCertificates, .versionsReversed, .noCipherSuiteForVersion, .unknownGroup,
      .namesWithoutCertificates, .internalFailure:
      .other
    }
  }
}
