import WeirHTTP

/// The parts of a request line that may be sent.
package enum RequestRules {
  /// Checks the method (RFC 9110 §5.6.2). A blank or a line end in it would change the request's shape. CONNECT in any
  /// case is refused, as servers that ignore the case would open a tunnel on a connection that goes back to the pool.
  package static func defect(ofMethod method: String) -> String? {
    if method == "GET" || method == "POST" { return nil }
    guard FieldSyntax.isToken(method) else { return "the method is not a token (RFC 9110 §5.6.2)" }
    return FieldSyntax.isSameName(method, "connect") ? "the method CONNECT opens a tunnel and is not supported" : nil
  }

  package static func defect(ofTarget target: String) -> String? {
    guard target.isEmpty || holdsBlank(target) else { return nil }
    return "the request target is empty or holds blanks"
  }

  /// Whether it holds a blank or a control character. All octets are looked at, which takes fewer instructions than to
  /// end with the first.
  private static func holdsBlank(_ target: String) -> Bool {
    let found = target.utf8.withContiguousStorageIfAvailable { octets in
      octets.reduce(UInt8(0)) { $0 | ($1 <= 32 ? 1 : 0) | ($1 == 127 ? 1 : 0) } != 0
    }
    return found ?? target.utf8.contains { $0 <= 32 || $0 == 127 }
  }
}
