import WeirHTTP

/// Keeps secrets out of texts that people and logs read. It compares scalars, as a question mark with a combining mark
/// behind it is another character.
package enum Redaction {
  package static let placeholder = "<redacted>"

  private static let secretFields = ["authorization", "proxy-authorization", "cookie", "set-cookie"]

  /// Whether a field's value is a secret.
  package static func isSecretField(_ name: String) -> Bool {
    secretFields.contains { FieldSyntax.isSameName($0, name) }
  }

  /// The text with the userinfo (RFC 3986 section 3.2.1) of every URL in it replaced.
  package static func urls(in text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
    var result = ""
    var rest = Substring(text)
    while let slashes = firstDoubleSlash(in: rest) {
      result += rest[..<slashes]
      rest = rest[slashes...]
      let authority = rest.unicodeScalars.prefix { !endsAuthority($0) }
      if let at = authority.lastIndex(of: "@") {
        result += placeholder
        rest = rest[at...]
      }
    }
    return result + rest
  }

  /// The text of an error without userinfo and queries, which may hold keys.
  package static func errorText(_ text: String) -> String { queries(in: urls(in: text)) }

  /// The text without the query of every URL in it. Any text between a question mark and the next space counts as a
  /// query.
  package static func queries(in text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "?")) else { return text }
    var isInQuery = false
    return text.unicodeScalars.reduce(into: "") { text, scalar in
      let endsQuery = scalar.properties.isWhitespace || "\"<>".unicodeScalars.contains(scalar)
      if isInQuery, !endsQuery {
        if text.last == "?" { text.append("…") }
        return
      }
      isInQuery = scalar == "?"
      text.unicodeScalars.append(scalar)
    }
  }

  /// The text of an invalid URL without its secrets. Everything before its last `@` may be userinfo, and everything
  /// behind a question mark or number sign may be a query or fragment.
  package static func invalidURL(_ text: String) -> String {
    let text = withoutUserinfo(text)
    guard let end = text.unicodeScalars.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return text }
    return "\(String(text.unicodeScalars[...end]))…"
  }

  private static func withoutUserinfo(_ text: String) -> String {
    guard let at = text.unicodeScalars.lastIndex(of: "@") else { return text }
    let kept = firstDoubleSlash(in: text[..<at]).map { text[..<$0] } ?? ""
    return kept + placeholder + text[at...]
  }

  /// The index after the first `//`.
  private static func firstDoubleSlash(in text: Substring) -> Substring.Index? {
    var wasSlash = false
    for index in text.utf8.indices {
      let isSlash = text.utf8[index] == UInt8(ascii: "/")
      if isSlash && wasSlash { return text.utf8.index(after: index) }
      wasSlash = isSlash
    }
    return nil
  }

  private static func endsAuthority(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    // A quote `'` may stand in userinfo (RFC 3986 section 3.2.1), so it does not end the authority.
    case "/", "?", "#", "\"", "<", ">": true
    default: scalar.properties.isWhitespace
    }
  }
}
