import WeirHTTP

// The protocols to which the requests of a route may switch.

extension ConfigurationReader {
  private static let mostProtocols = 16
  private static let longestProtocol = 64
  private static let idleTimeouts = 0.1...86_400.0
  private static let limits = 1...100_000

  /// A list of protocols, or a mapping that has one.
  func tunnels() -> TunnelRule? {
    switch node.content {
    case .sequence: return protocols().map { TunnelRule(protocols: $0) }
    case .scalar:
      report("expected a list of protocols such as [websocket], or a mapping with protocols")
      return nil
    default: break
    }
    return mapping { keys in
      let list = keys.take("protocols", required: "list the protocols, such as [websocket]")
      var rule = TunnelRule(protocols: list.flatMap { $0.protocols() } ?? [])
      if let seconds = keys.takeSeconds("idleTimeout", within: Self.idleTimeouts) { rule.idleTimeout = seconds }
      if let limit = keys.takeCount("limit", within: Self.limits) { rule.limit = limit }
      return rule.protocols.isEmpty ? nil : rule
    }
  }

  private func protocols() -> [String]? {
    guard let list = elements() else { return nil }
    guard (1...Self.mostProtocols).contains(list.count) else {
      report("holds \(list.count) protocols; give 1 to \(Self.mostProtocols)")
      return nil
    }
    return list.compactMap { $0.read(as: .string, unless: Self.problem(protocol:)) }
  }

  /// A name, perhaps with a version (RFC 9110 §7.8).
  private static func problem(protocol text: String) -> String? {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.utf8.count <= longestProtocol, parts.allSatisfy({ FieldSyntax.isToken($0.utf8) }) else {
      return "must be at most \(longestProtocol) bytes: the name of a protocol, perhaps with / and a version"
    }
    let name = FieldSyntax.lowercased(String(parts[0]))
    if name == "h2c" || name == "http" { return "requests in HTTP/2 would pass by all routes; they can't be tunnelled" }
    return nil
  }
}
