/// The methods of which more is known than their names (RFC 9110 §9.2; QUERY is RFC 10008's). Methods are
/// case-sensitive.
package enum RequestMethods {
  /// Methods that ask a server to change nothing (§9.2.1).
  package static let safe: Set<String> = ["GET", "HEAD", "OPTIONS", "QUERY", "TRACE"]

  /// Methods by which several requests have the effect of one (§9.2.2), so that a request whose answer was lost may be
  /// repeated.
  package static let idempotent = safe.union(["DELETE", "PUT"])

  /// Whether requests of the method usually have a body. One without says so by a length of 0, as a server might wait for
  /// it otherwise (§8.6).
  package static func expectsBody(_ method: String) -> Bool {
    // Asked for each request: a set would cost four times as much, and the usual method comes first.
    switch method {
    case "GET": false
    case "PATCH", "POST", "PUT", "QUERY": true
    default: false
    }
  }
}
