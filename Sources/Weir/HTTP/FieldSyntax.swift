/// The grammar of field names and values (RFC 9110 section 5), on bytes.
package enum FieldSyntax {
  /// Whether two field names are the same: ASCII letters compare without case, as tokens hold nothing else.
  package static func isSameName(_ left: String, _ right: String) -> Bool {
    let left = left.utf8
    let right = right.utf8
    guard left.count == right.count else { return false }
    return zip(left, right).allSatisfy { $0 == $1 || lowercased($0) == lowercased($1) }
  }

  /// Whether the text is a token (RFC 9110 section 5.6.2): what methods and field names must be.
  package static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
  }

  /// Whether a field value may go on the wire: without CR, LF and NUL (RFC 9110 section 5.5).
  package static func isValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0 }
  }

  /// The text with ASCII letters in lower case.
  package static func lowercased(_ text: some StringProtocol) -> String {
    guard text.utf8.contains(where: { $0 != lowercased($0) }) else { return String(text) }
    return String(decoding: text.utf8.map(lowercased), as: UTF8.self)
  }

  /// The text without the blanks (RFC 9110 section 5.6.3) at its ends.
  package static func trimmed(_ text: Substring) -> Substring {
    let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    var bytes = text.utf8.drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return Substring(bytes)
  }

  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }

  package static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
      UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default:
      false
    }
  }
}
