import WeirHTTP

extension HeaderRules {
  /// Fields whose meaning is the connection's or the message framing's, which the gateway itself sets.
  static let reserved: Set<String> = [
    "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade",
  ]

  static func problem(setting name: String) -> String? {
    if !FieldSyntax.isToken(name) { return "\(quoted(name)) is no field name" }
    // Without it a route that leads back to this gateway would go round until its timeout.
    if name.lowercased() == "via" { return "the gateway finds loops by Via; leave it out" }
    return reserved.contains(name.lowercased()) ? "the gateway sets or drops \(name) itself; leave it out" : nil
  }

  static func problem(removing name: String) -> String? {
    if name.lowercased() == "host" { return "every request needs Host; set another value instead" }
    return problem(setting: name)
  }
}
