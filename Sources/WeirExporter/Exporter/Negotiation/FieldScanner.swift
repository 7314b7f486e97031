import WeirHTTP

/// Reads the pieces that lists in header fields are made of, from front to back (RFC 9110 §5.6).
///
/// A verb that doesn't find its piece returns nil or false and has moved at most past white space.
struct FieldScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) {
    rest = Substring(text).utf8
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func skipBlanks() {
    rest = rest.drop { $0.isBlank }
  }

  mutating func take(_ byte: Unicode.Scalar) -> Bool {
    guard let first = rest.first, first == UInt8(ascii: byte) else { return false }
    rest.removeFirst()
    return true
  }

  /// A token (§5.6.2), in lower case: the names that this module reads are compared without case.
  mutating func token() -> String? {
    let token = rest.prefix { OctetSet.token.contains($0) }
    guard !token.isEmpty else { return nil }
    rest = rest[token.endIndex...]
    return String(decoding: token.lazy.map(\.lowercased), as: UTF8.self)
  }

  /// A quoted string (§5.6.4) without its quotes and escapes, in lower case; nil when it isn't one or doesn't end.
  mutating func quotedString() -> String? {
    guard rest.first == UInt8(ascii: "\"") else { return nil }
    var text: [UInt8] = []
    var position = rest.index(after: rest.startIndex)
    while position < rest.endIndex {
      var byte = rest[position]
      rest.formIndex(after: &position)
      if byte == UInt8(ascii: "\"") {
        rest = rest[position...]
        return String(decoding: text, as: UTF8.self)
      }
      if byte == UInt8(ascii: "\\") {
        guard position < rest.endIndex else { return nil }
        byte = rest[position]
        rest.formIndex(after: &position)
      }
      text.append(byte.lowercased)
    }
    return nil
  }

  /// Goes to the comma that ends this element, or to the end. Commas in quoted strings don't count; a quoted string that
  /// doesn't end holds all the rest.
  mutating func skipElement() {
    while let first = rest.first, first != UInt8(ascii: ",") {
      if first != UInt8(ascii: "\"") {
        rest.removeFirst()
      } else if quotedString() == nil {
        rest = rest.suffix(0)
      }
    }
  }
}
