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
    guard target.isEmpty || !target.utf8.allSatisfy({ $0 > 32 && $0 != 127 }) else { return nil }
    return "the request target is empty or holds blanks"
  }
}
