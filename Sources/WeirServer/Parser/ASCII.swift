internal import Glibc

/// A set of ASCII characters that the grammar of HTTP names, as two 64-bit masks: it is asked for each octet received.
struct OctetSet: Sendable {
  private let low: UInt64
  private let high: UInt64

  @inline(__always)
  func contains(_ octet: UInt8) -> Bool {
    guard octet < 128 else { return false }
    return ((octet < 64 ? low : high) >> UInt64(octet & 63)) & 1 == 1
  }

  /// RFC 9110 §5.6.2: letters, digits and ``!#$%&'*+-.^_`|~``.
  @inline(__always)
  static var token: OctetSet { OctetSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }

  /// RFC 3986 §3.2.2: unreserved characters, sub-delims and the percent sign of a registered name.
  @inline(__always)
  static var registeredName: OctetSet { OctetSet(low: 0x2bff_7ff2_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

  /// Hexadecimal digits, colons and periods, of which IP literals are made.
  @inline(__always)
  static var ipLiteral: OctetSet { OctetSet(low: 0x07ff_4000_0000_0000, high: 0x0000_007e_0000_007e) }
}

extension UInt8 {
  static var tab: UInt8 { 0x09 }
  static var lineFeed: UInt8 { 0x0a }
  static var carriageReturn: UInt8 { 0x0d }
  static var space: UInt8 { 0x20 }
  static var comma: UInt8 { 0x2c }
  static var slash: UInt8 { 0x2f }
  static var colon: UInt8 { 0x3a }
  static var semicolon: UInt8 { 0x3b }
  static var questionMark: UInt8 { 0x3f }

  @inline(__always) var isDigit: Bool { self &- 0x30 < 10 }
  @inline(__always) var isBlank: Bool { self == .space || self == .tab }

  /// A letter in lower case; other octets become something that no letter or hyphen equals.
  @inline(__always) var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

  /// RFC 9110 §5.5: visible characters, obs-text, space and tab.
  @inline(__always) var isFieldContent: Bool { (self >= 0x20 && self != 0x7f) || self == .tab }

  /// The value of a hexadecimal digit.
  var hexValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x37
    case 0x61...0x66: self - 0x57
    default: nil
    }
  }
}

extension Span<UInt8> {
  /// The place of the first `octet` at or after `start`.
  func firstIndex(of octet: UInt8, from start: Int) -> Int? {
    withUnsafeBufferPointer { buffer in
      guard start < buffer.count, let base = buffer.baseAddress,
        let found = memchr(base + start, CInt(octet), buffer.count - start)
      else { return nil }
      return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
  }

  /// Whether the octets spell `text`, which is in lower case, in any case.
  func spells(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      for index in indices where self[index].lowercased != text[index] { return false }
      return true
    }
  }

  /// Whether the octets are `text`.
  func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      for index in indices where self[index] != text[index] { return false }
      return true
    }
  }

  func allSatisfy(_ predicate: (UInt8) -> Bool) -> Bool {
    for index in indices where !predicate(self[index]) { return false }
    return true
  }
}

extension [UInt8] {
  mutating func append(_ octets: Span<UInt8>) {
    octets.withUnsafeBufferPointer { append(contentsOf: $0) }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the octets spell `text`, which is in lower case, in any case.
  func spells(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { equalsIgnoringCase(UnsafeRawBufferPointer($0)) }
  }

  /// Whether both hold the same octets but for the case of letters.
  func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index].lowercased != other[index].lowercased { return false }
    return true
  }
}

extension String {
  /// Calls `body` with the string's UTF-8, without copying it where it is stored contiguously.
  @inline(__always)
  func withOctets<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
    return Array(utf8).withUnsafeBytes(body)
  }
}
