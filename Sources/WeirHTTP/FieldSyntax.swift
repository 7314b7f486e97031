/// The grammar of field names and values (RFC 9110 §5).
package enum FieldSyntax {
  /// A token (§5.6.2): what methods and field names must be.
  @inlinable
  package static func isToken(_ octets: some Collection<UInt8>) -> Bool {
    !octets.isEmpty && octets.allSatisfy { OctetSet.token.contains($0) }
  }

  package static func isToken(_ text: String) -> Bool { isToken(text.utf8) }

  /// Whether a field value may go on the wire: without CR, LF and NUL (§5.5).
  package static func isSendable(_ value: String) -> Bool {
    value.utf8.allSatisfy { !$0.isLineBreak && $0 != 0 }
  }

  /// `field-value` (§5.5): visible characters and obs-text, with blanks between but not around them.
  package static func isValue(_ octets: some BidirectionalCollection<UInt8>) -> Bool {
    if let first = octets.first, let last = octets.last, first.isBlank || last.isBlank { return false }
    return octets.allSatisfy { $0.isFieldContent }
  }

  /// Whether two field names are the same: ASCII letters compare without case, as tokens hold nothing else.
  package static func isSameName(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { $0.lowercased == $1.lowercased }
  }

  /// The text with ASCII letters in lower case.
  package static func lowercased(_ text: some StringProtocol) -> String {
    guard text.utf8.contains(where: { $0 != $0.lowercased }) else { return String(text) }
    return String(decoding: text.utf8.map(\.lowercased), as: UTF8.self)
  }

  /// The text without the blanks at its ends.
  package static func trimmed(_ text: Substring) -> Substring {
    Substring(text.utf8.trimmed)
  }
}
