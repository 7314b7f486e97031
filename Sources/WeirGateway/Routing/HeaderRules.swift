import WeirHTTP
package import WeirTransport

/// A route's changes to the header fields of requests or of responses, made after all others.
package struct HeaderRules: Sendable, Equatable {
  /// The fields to set. Each replaces every field of its name.
  package var set: [HeaderRule] = []
  /// The fields to add to those that are there.
  package var add: [HeaderRule] = []
  package var remove: [String] = []
}

extension HeaderRules {
  /// The rules without those that give a value to a field of this name, or of one that reads like it.
  func leavingOut(_ name: [UInt8]?) -> HeaderRules {
    guard let name = name?.map(\.lowercased) else { return self }
    var rules = self
    let isIt: (HeaderRule) -> Bool = { rule in rule.name.withOctets { $0.isNameForCGI(name) } }
    rules.set.removeAll(where: isIt)
    rules.add.removeAll(where: isIt)
    return rules
  }
}

package struct HeaderRule: Sendable, Equatable {
  package var name: String
  /// The text; empty if the value is a secret.
  package var value: String
  /// The value, if it is a secret of a file. It is literal.
  package var secret: Secret?
}

extension HeaderRules {
  /// The messages whose fields are changed.
  enum Messages {
    case requests
    case responses
  }

  /// Fields that belong to the connection or to the message framing, which the gateway itself sets.
  static let reserved: Set<String> = [
    "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade",
  ]

  /// Fields of requests that the gateway writes, and of which there must be only one.
  private static let single: Set<String> = ["host", "x-forwarded-host", "x-forwarded-proto", "x-retry-attempt"]

  static func problem(setting name: String, of messages: Messages = .requests) -> String? {
    if !FieldSyntax.isToken(name) { return "\(quoted(name)) is not a field name" }
    let lowercased = FieldSyntax.lowercased(name)
    switch (messages, lowercased) {
    // Without Via, a route that leads back to this gateway would loop until its timeout.
    case (.requests, "via"): return "the gateway finds loops by Via; leave it out"
    case (.responses, "via"), (.responses, "date"): return "\(name) is not the route's to change; leave it out"
    default: return reserved.contains(lowercased) ? "the gateway sets or drops \(name) itself; leave it out" : nil
    }
  }

  static func problem(adding name: String, to messages: Messages) -> String? {
    if messages == .requests, single.contains(FieldSyntax.lowercased(name)) {
      return "a request has one \(name); set it instead"
    }
    return problem(setting: name, of: messages)
  }

  static func problem(removing name: String, from messages: Messages = .requests) -> String? {
    if messages == .requests, FieldSyntax.isSameName(name, "host") {
      return "every request needs Host; set another value instead"
    }
    return problem(setting: name, of: messages)
  }
}
