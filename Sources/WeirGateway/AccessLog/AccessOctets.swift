import WeirHTTP

// Octets as they are written into lines. Every octet that is not visible ASCII, and the backslash, becomes `\xHH`, so
// that each backslash in a value begins such an escape.

extension [UInt8] {
  /// The most octets that a value takes in a line.
  static let longestAccessValue = 2048

  /// Appends a value between quotation marks.
  mutating func append(accessValue octets: UnsafeRawBufferPointer, isJSON: Bool) {
    append(.quotationMark)
    append(accessOctets: octets, isJSON: isJSON)
    append(.quotationMark)
  }

  /// Appends a value. In JSON the backslash of an escape is itself escaped, so that a reader of JSON gets `\xHH`.
  mutating func append(accessOctets octets: UnsafeRawBufferPointer, isJSON: Bool) {
    if octets.count <= Self.longestAccessValue, octets.allSatisfy(\.isPlainInAccessLog) {
      append(contentsOf: octets)
    } else {
      append(escaping: octets, isJSON: isJSON)
    }
  }

  private mutating func append(escaping octets: UnsafeRawBufferPointer, isJSON: Bool) {
    var room = Self.longestAccessValue
    for octet in octets {
      let isQuote = octet == .quotationMark && isJSON
      let length = octet.isPlainInAccessLog ? 1 : isQuote ? 2 : isJSON ? 5 : 4
      guard length <= room else { return }
      room -= length
      if length == 1 {
        append(octet)
      } else if isQuote {
        append(.backslash)
        append(octet)
      } else {
        if isJSON { append(.backslash) }
        append(.backslash)
        append(UInt8(ascii: "x"))
        append((octet >> 4).upperCaseDigit)
        append((octet & 15).upperCaseDigit)
      }
    }
  }

  mutating func append(accessText text: StaticString) {
    append(contentsOf: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends a number in decimal, with zeros in front of it up to `width` digits.
  mutating func append(accessNumber number: Int64, width: Int = 1) {
    var rest = number.magnitude
    var digits = InlineArray<20, UInt8>(repeating: 0x30)
    var first = digits.count
    repeat {
      first -= 1
      digits[first] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    } while rest > 0
    first = Swift.min(first, Swift.max(0, digits.count - width))
    digits.span.withUnsafeBytes { append(contentsOf: $0.octets(first..<$0.count)) }
  }

  /// Appends seconds with six decimals.
  mutating func append(accessSeconds seconds: Double) {
    let micros = seconds > 0 ? Int64(Swift.min(seconds, 1e9) * 1e6) : 0
    append(accessNumber: micros / 1_000_000)
    append(UInt8(ascii: "."))
    append(accessNumber: micros % 1_000_000, width: 6)
  }
}

extension UInt8 {
  /// Visible ASCII and the space, without quotation mark and backslash.
  @inline(__always) fileprivate var isPlainInAccessLog: Bool {
    self &- 0x20 < 0x5f && self != .quotationMark && self != .backslash
  }

  fileprivate var upperCaseDigit: UInt8 { self < 10 ? self + 0x30 : self + 0x37 }
}
