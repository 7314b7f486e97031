import WeirHTTP

/// A media type without its parameters, or a pattern with `*` for one or both halves (RFC 9110 section 12.5.1).
package struct MIMEType: Sendable, Hashable {
  package let type: String
  package let subtype: String

  /// Takes what stands before `;`, without blanks and in lower case; nil when that is no `type/subtype`.
  package init?(_ text: String) {
    let halves = text.withOctets { text -> (String, String)? in
      var parts = text.parameterParts
      guard let name = parts.next(), let slash = name.firstIndex(of: .slash) else { return nil }
      return (
        FieldSyntax.lowercased(name.octets(0..<slash).trimmed),
        FieldSyntax.lowercased(name.octets(slash + 1..<name.count).trimmed)
      )
    }
    guard let halves, !halves.0.isEmpty, !halves.1.isEmpty else { return nil }
    (type, subtype) = halves
  }

  /// What stands before the parameters, as it is written.
  static func name(in text: String) -> String {
    text.withOctets { text in
      var parts = text.parameterParts
      return parts.next().map { FieldSyntax.text($0) } ?? ""
    }
  }

  /// Whether the pattern accepts everything, also a response without a type.
  package var isWildcard: Bool { type == "*" && subtype == "*" }

  /// Whether this pattern accepts the type.
  package func matches(_ other: MIMEType) -> Bool {
    (type == "*" || type == other.type) && (subtype == "*" || subtype == other.subtype)
  }
}
