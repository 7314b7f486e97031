internal import CAres

/// The c-ares that this process has loaded.
package enum AresLibrary {
  /// The version, such as `1.18.1`.
  package static var version: String { ares_version(nil).map { String(cString: $0) } ?? "" }
}

/// A status of c-ares.
struct AresStatus: RawRepresentable, Hashable {
  let rawValue: CInt

  static let success = AresStatus(rawValue: ARES_SUCCESS)
  static let noData = AresStatus(rawValue: ARES_ENODATA)
  static let malformedQuestion = AresStatus(rawValue: ARES_EFORMERR)
  static let serverFailure = AresStatus(rawValue: ARES_ESERVFAIL)
  static let notFound = AresStatus(rawValue: ARES_ENOTFOUND)
  static let notImplemented = AresStatus(rawValue: ARES_ENOTIMP)
  static let refused = AresStatus(rawValue: ARES_EREFUSED)
  static let badName = AresStatus(rawValue: ARES_EBADNAME)
  static let badResponse = AresStatus(rawValue: ARES_EBADRESP)
  static let connectionRefused = AresStatus(rawValue: ARES_ECONNREFUSED)
  static let timeout = AresStatus(rawValue: ARES_ETIMEOUT)

  /// - Parameter refusal: The response code of the datagram that ended the question, if one did. c-ares 1.18 asks the next
  ///   server after SERVFAIL, NOTIMP and REFUSED, and reports the last of them as a refused connection.
  func problem(refusal: ResponseCode?) -> LookupProblem {
    switch self {
    case .timeout: .timeout
    case .notFound: .noSuchName
    case .noData: .noAddresses
    case .serverFailure: .serverFailure
    case .refused: .refused
    case .malformedQuestion, .notImplemented: .other("the name server does not understand the question")
    case .badName: .other("the name is not valid in DNS")
    case .badResponse: .other("the name server's answer is malformed")
    case .connectionRefused: refusal?.problem ?? .other("no name server can be reached")
    default: .other(String(cString: ares_strerror(rawValue)))
    }
  }
}

/// A response code of DNS (RFC 1035 §4.1.1).
struct ResponseCode: RawRepresentable, Hashable {
  let rawValue: UInt8

  static let serverFailure = ResponseCode(rawValue: 2)
  static let notImplemented = ResponseCode(rawValue: 4)
  static let refused = ResponseCode(rawValue: 5)

  /// The problem that this code is; nil for codes that c-ares reports by a status of their own.
  var problem: LookupProblem? {
    switch self {
    case .serverFailure: .serverFailure
    case .refused: .refused
    case .notImplemented: .other("the name server does not understand the question")
    default: nil
    }
  }
}
