/// The alphabets of the exposition formats.
package enum MetricName {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
  static func isValid(_ name: String) -> Bool {
    isValid(name.utf8) { isLetter($0) || $0 == UInt8(ascii: ":") }
  }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`
  package static func isValidLabel(_ name: String) -> Bool {
    isValid(name.utf8, letter: isLetter)
  }

  /// Names that are reserved by the formats (`le`) or by Prometheus (`__…`).
  package static func isReservedLabel(_ name: String) -> Bool {
    name == "le" || name.utf8.starts(with: "__".utf8)
  }

  private static func isValid(_ name: String.UTF8View, letter: (UInt8) -> Bool) -> Bool {
    guard let first = name.first, letter(first) else { return false }
    return name.allSatisfy { letter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }
}
