extension UInt8 {
  @inlinable package static var tab: UInt8 { 0x09 }
  @inlinable package static var lineFeed: UInt8 { 0x0a }
  @inlinable package static var carriageReturn: UInt8 { 0x0d }
  @inlinable package static var space: UInt8 { 0x20 }
  @inlinable package static var quotationMark: UInt8 { 0x22 }
  @inlinable package static var comma: UInt8 { 0x2c }
  @inlinable package static var slash: UInt8 { 0x2f }
  @inlinable package static var colon: UInt8 { 0x3a }
  @inlinable package static var semicolon: UInt8 { 0x3b }
  @inlinable package static var equalsSign: UInt8 { 0x3d }
  @inlinable package static var questionMark: UInt8 { 0x3f }
  @inlinable package static var backslash: UInt8 { 0x5c }

  @inlinable @inline(__always) package var isDigit: Bool { self &- 0x30 < 10 }
  @inlinable @inline(__always) package var isLetterOrDigit: Bool { isDigit || (self | 0x20) &- 0x61 < 26 }
  /// White space within a line (RFC 9110 §5.6.3).
  @inlinable @inline(__always) package var isBlank: Bool { self == .space || self == .tab }
  @inlinable @inline(__always) package var isLineBreak: Bool { self == .carriageReturn || self == .lineFeed }

  /// A letter in lower case; other octets stay as they are.
  @inlinable @inline(__always) package var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

  /// The octet as it stands in the name of a CGI variable (RFC 3875 §4.1.18), in lower case: all that are neither letters
  /// nor digits are one.
  @inlinable @inline(__always) package var foldedForCGI: UInt8 { isLetterOrDigit ? lowercased : UInt8(ascii: "_") }

  /// Field content (RFC 9110 §5.5): visible characters, obs-text, space and tab.
  @inlinable @inline(__always) package var isFieldContent: Bool { (self >= 0x20 && self != 0x7f) || self == .tab }

  /// The value of a hexadecimal digit.
  @inlinable package var hexValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x37
    case 0x61...0x66: self - 0x57
    default: nil
    }
  }
}

/// A set of ASCII characters from HTTP's grammar. It is two 64-bit masks, as it is used for each octet received.
@usableFromInline
package struct OctetSet: Sendable {
  @usableFromInline let low: UInt64
  @usableFromInline let high: UInt64

  @inlinable @inline(__always)
  init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  @inlinable @inline(__always)
  package func contains(_ octet: UInt8) -> Bool {
    guard octet < 128 else { return false }
    return ((octet < 64 ? low : high) >> UInt64(octet & 63)) & 1 == 1
  }

  /// Token characters (RFC 9110 §5.6.2): letters, digits and ``!#$%&'*+-.^_`|~``.
  @inlinable @inline(__always)
  package static var token: OctetSet { OctetSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }

  /// Unreserved characters (RFC 3986 §2.3): letters, digits and `-._~`.
  @inlinable @inline(__always)
  package static var unreserved: OctetSet { OctetSet(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

  /// Characters of a path segment (RFC 3986 §3.3), without the percent sign.
  @inlinable @inline(__always)
  package static var segment: OctetSet { OctetSet(low: 0x2fff_7fd2_0000_0000, high: 0x47ff_fffe_87ff_ffff) }

  /// Characters of a registered name (RFC 3986 §3.2.2): unreserved characters, sub-delims and the percent sign.
  @inlinable @inline(__always)
  package static var registeredName: OctetSet { OctetSet(low: 0x2bff_7ff2_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

  /// Characters of IP literals: hexadecimal digits, colons and periods.
  @inlinable @inline(__always)
  package static var ipLiteral: OctetSet { OctetSet(low: 0x07ff_4000_0000_0000, high: 0x0000_007e_0000_007e) }
}
