/// Text as a JSON string (RFC 8259 §7).
package enum JSONText {
  /// Where the text is read, which decides what is escaped beyond what JSON asks for.
  package enum Place {
    /// Terminals and log viewers act on C1 controls.
    case terminal
    /// Within a page or a script, `<` may begin a tag.
    case page
  }

  /// DEL and the line ends of Unicode are escaped everywhere.
  package static func mustEscape(_ scalar: Unicode.Scalar, in place: Place = .terminal) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f, 0x2028...0x2029: true
    case 0x80...0x9f: place == .terminal
    case 0x3c: place == .page
    default: false
    }
  }

  package static func append(_ text: String, in place: Place = .terminal, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy({ isPlain($0) }) {
      bytes.append(contentsOf: text.utf8)
    } else {
      for scalar in text.unicodeScalars { append(scalar, in: place, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Whether an octet is ASCII that stands for itself everywhere.
  private static func isPlain(_ octet: UInt8) -> Bool {
    0x20..<0x7f ~= octet && octet != UInt8(ascii: "\"") && octet != UInt8(ascii: "\\") && octet != UInt8(ascii: "<")
  }

  private static func append(_ scalar: Unicode.Scalar, in place: Place, to bytes: inout [UInt8]) {
    switch scalar {
    case "\"": bytes.append(contentsOf: "\\\"".utf8)
    case "\\": bytes.append(contentsOf: "\\\\".utf8)
    case "\n" where place == .terminal: bytes.append(contentsOf: "\\n".utf8)
    case "\r" where place == .terminal: bytes.append(contentsOf: "\\r".utf8)
    case "\t" where place == .terminal: bytes.append(contentsOf: "\\t".utf8)
    case _ where mustEscape(scalar, in: place):
      let digits = String(scalar.value, radix: 16)
      bytes.append(contentsOf: "\\u".utf8)
      bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
      bytes.append(contentsOf: digits.utf8)
    default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
  }
}
