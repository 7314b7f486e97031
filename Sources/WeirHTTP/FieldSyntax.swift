/// The grammar of field names and values (RFC 9110 §5).
package enum FieldSyntax {
  /// A token (§5.6.2), as methods and field names must be.
  @inlinable
  package static func isToken(_ octets: some Collection<UInt8>) -> Bool {
    !octets.isEmpty && octets.allSatisfy { OctetSet.token.contains($0) }
  }

  /// The same for octets in memory. It checks every field that the gateway forwards; the generic form costs 1,000
  /// instructions.
  @inlinable
  package static func isToken(_ octets: UnsafeRawBufferPointer) -> Bool {
    !octets.isEmpty && octets.endOfToken(in: 0..<octets.count) == octets.count
  }

  package static func isToken(_ text: String) -> Bool { text.withOctets { isToken($0) } }

  /// Whether a field value may be sent: it has no CR, LF or NUL (§5.5).
  package static func isSendable(_ value: String) -> Bool {
    value.withOctets { !$0.hasBreak(in: 0..<$0.count) }
  }

  /// `field-value` (§5.5): visible characters and obs-text, with blanks between but not around them.
  package static func isValue(_ octets: some BidirectionalCollection<UInt8>) -> Bool {
    if let first = octets.first, let last = octets.last, first.isBlank || last.isBlank { return false }
    return octets.allSatisfy { $0.isFieldContent }
  }

  /// Whether two field names are the same: ASCII letters compare without case, as tokens hold nothing else.
  package static func isSameName(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return left.withOctets { left in
      right.withOctets { right in left.indices.allSatisfy { left[$0].lowercased == right[$0].lowercased } }
    }
  }

  /// The text with ASCII letters in lower case.
  package static func lowercased(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 != $0.lowercased }) else { return text }
    return String(decoding: text.utf8.lazy.map(\.lowercased), as: UTF8.self)
  }

  /// Like ``lowercased(_:)-(String)``, for octets; invalid UTF-8 is repaired.
  package static func lowercased(_ octets: UnsafeRawBufferPointer) -> String {
    String(decoding: octets.lazy.map(\.lowercased), as: UTF8.self)
  }

  /// A value as text. Values that aren't UTF-8 are read as ISO Latin 1, which HTTP used in the past (§5.5).
  package static func text(_ value: UnsafeRawBufferPointer) -> String {
    if let text = String(validating: value.bindMemory(to: UInt8.self), as: UTF8.self) { return text }
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: value.lazy.map { Unicode.Scalar($0) })
    return String(scalars)
  }

  /// The text without the blanks at its ends.
  package static func trimmed(_ text: Substring) -> Substring {
    var rest = text.utf8
    while rest.first?.isBlank == true { rest.removeFirst() }
    while rest.last?.isBlank == true { rest.removeLast() }
    return Substring(rest)
  }
}
