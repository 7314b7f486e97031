import WeirHTTP

/// A media type without its parameters, or a pattern with `*` for one or both halves (RFC 9110 section 12.5.1).
package struct MIMEType: Sendable, Hashable {
  package let type: String
  package let subtype: String

  /// Takes what stands before `;`, without blanks and in lower case; nil when that is no `type/subtype`.
  package init?(_ text: String) {
    let name = text.utf8.prefix { $0 != UInt8(ascii: ";") }
    guard let slash = name.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    type = Self.normalized(name[..<slash])
    subtype = Self.normalized(name[name.index(after: slash)...])
    if type.isEmpty || subtype.isEmpty { return nil }
  }

  /// What stands before the parameters, as it is written.
  static func name(in text: String) -> String {
    String(FieldSyntax.trimmed(Substring(text.utf8.prefix { $0 != UInt8(ascii: ";") })))
  }

  /// Whether the pattern accepts everything, also a response without a type.
  package var isWildcard: Bool { type == "*" && subtype == "*" }

  /// Whether this pattern accepts the type.
  package func matches(_ other: MIMEType) -> Bool {
    (type == "*" || type == other.type) && (subtype == "*" || subtype == other.subtype)
  }

  private static func normalized(_ text: Substring.UTF8View) -> String {
    FieldSyntax.lowercased(FieldSyntax.trimmed(Substring(text)))
  }
}
