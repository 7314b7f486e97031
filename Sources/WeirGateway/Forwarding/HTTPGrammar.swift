import Weir

/// Pieces of HTTP's grammar (RFC 9110 §5).
enum HTTPGrammar {
  /// `1*tchar` (§5.6.2): a method, a field name.
  static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy(FieldSyntax.isTokenByte)
  }

  /// `field-value` (§5.5): visible characters and obs-text, with spaces and tabs between but not around them.
  static func isFieldValue(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    if let first = bytes.first, let last = bytes.last, isSpace(first) || isSpace(last) { return false }
    return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
  }

  /// `pchar` (RFC 3986 §3.3) without percent-encoding.
  static func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
      UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "@"):
      true
    default: isUnreserved(byte)
    }
  }

  /// RFC 3986 §2.3.
  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
