/// A set of ASCII characters that the grammar of HTTP names, as two 64-bit masks: it is asked for each octet received.
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

  /// RFC 9110 §5.6.2: letters, digits and ``!#$%&'*+-.^_`|~``.
  @inlinable @inline(__always)
  package static var token: OctetSet { OctetSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }

  /// RFC 3986 §2.3: letters, digits and `-._~`.
  @inlinable @inline(__always)
  package static var unreserved: OctetSet { OctetSet(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

  /// RFC 3986 §3.3: what a segment of a path is made of, percent-encoding aside.
  @inlinable @inline(__always)
  package static var segment: OctetSet { OctetSet(low: 0x2fff_7fd2_0000_0000, high: 0x47ff_fffe_87ff_ffff) }

  /// RFC 3986 §3.2.2: unreserved characters, sub-delims and the percent sign of a registered name.
  @inlinable @inline(__always)
  package static var registeredName: OctetSet { OctetSet(low: 0x2bff_7ff2_0000_0000, high: 0x47ff_fffe_87ff_fffe) }

  /// Hexadecimal digits, colons and periods, of which IP literals are made.
  @inlinable @inline(__always)
  package static var ipLiteral: OctetSet { OctetSet(low: 0x07ff_4000_0000_0000, high: 0x0000_007e_0000_007e) }
}
