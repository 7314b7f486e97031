/// The reason why a lookup brought no addresses.
package enum LookupProblem: Error, Hashable, Sendable {
  /// No answer came in time.
  case timeout
  /// The name does not exist (NXDOMAIN).
  case noSuchName
  /// The name exists, but has no addresses of the family that was asked for, or no services.
  case noAddresses
  /// The name servers failed (SERVFAIL).
  case serverFailure
  /// The name servers refuse to answer (REFUSED).
  case refused
  case other(String)

  /// A word for metrics, without dynamic text.
  package var label: String {
    switch self {
    case .timeout: "timeout"
    case .noSuchName: "no_such_name"
    case .noAddresses: "no_addresses"
    case .serverFailure: "server_failure"
    case .refused: "refused"
    case .other: "other"
    }
  }

  /// Whether the name servers have said that there is nothing. A repeated question would bring the same.
  var isDefinite: Bool {
    switch self {
    case .noSuchName, .noAddresses: true
    case .timeout, .serverFailure, .refused, .other: false
    }
  }
}

extension LookupProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .timeout: "no name server answered in time"
    case .noSuchName: "there is no such name"
    case .noAddresses: "the name has no addresses"
    case .serverFailure: "the name server failed (SERVFAIL)"
    case .refused: "the name server refused the question (REFUSED)"
    case .other(let text): text
    }
  }
}
