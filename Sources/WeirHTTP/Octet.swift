extension UInt8 {
  @inlinable package static var tab: UInt8 { 0x09 }
  @inlinable package static var lineFeed: UInt8 { 0x0a }
  @inlinable package static var carriageReturn: UInt8 { 0x0d }
  @inlinable package static var space: UInt8 { 0x20 }
  @inlinable package static var comma: UInt8 { 0x2c }
  @inlinable package static var slash: UInt8 { 0x2f }
  @inlinable package static var colon: UInt8 { 0x3a }
  @inlinable package static var semicolon: UInt8 { 0x3b }
  @inlinable package static var questionMark: UInt8 { 0x3f }

  @inlinable @inline(__always) package var isDigit: Bool { self &- 0x30 < 10 }
  /// White space within a line (RFC 9110 §5.6.3).
  @inlinable @inline(__always) package var isBlank: Bool { self == .space || self == .tab }
  @inlinable @inline(__always) package var isLineBreak: Bool { self == .carriageReturn || self == .lineFeed }

  /// A letter in lower case; other octets stay as they are.
  @inlinable @inline(__always) package var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

  /// RFC 9110 §5.5: visible characters, obs-text, space and tab.
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
