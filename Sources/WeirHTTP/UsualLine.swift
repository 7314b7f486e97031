// The lines of most heads, found and checked in one pass, without a search for their ends. A nil means nothing about a
// line: it has another form, or no end yet, and must be read with care.

/// A field line in the usual form: a token, a colon, a value without tabs or other control characters, CR LF.
@usableFromInline
package struct UsualField {
  /// The end of the name, where the colon is.
  @usableFromInline package let colon: Int
  /// The end of the value and of the blanks behind it.
  @usableFromInline package let valueEnd: Int
  @usableFromInline package let lineEnd: Int

  /// Reads the line that begins at `start`.
  @inlinable @inline(__always)
  package init?(_ octets: UnsafeRawPointer, from start: Int, before end: Int) {
    let colon = octets.endOfToken(from: start, before: end)
    guard colon > start, colon < end, octets[colon] == .colon else { return nil }
    let valueEnd = octets.firstControl(from: colon &+ 1, before: end)
    guard valueEnd < end &- 1, octets[valueEnd] == .carriageReturn, octets[valueEnd &+ 1] == .lineFeed else {
      return nil
    }
    self.colon = colon
    self.valueEnd = valueEnd
    lineEnd = valueEnd &+ 2
  }
}

extension StatusLine {
  /// Reads the line at `start`, if it has the usual form: HTTP/1.0 or 1.1, a status from 100 on, a blank, a reason
  /// without control characters, CR LF. Sets `lineEnd`.
  package init?(usual octets: UnsafeRawPointer, from start: Int, before end: Int, lineEnd: inout Int) {
    guard start <= end &- 16 else { return nil }
    let word = OctetWord(octets, at: start).bits
    let digits = (octets[start &+ 9] &- 0x30, octets[start &+ 10] &- 0x30, octets[start &+ 11] &- 0x30)
    guard word == Self.version(1) || word == Self.version(0), octets[start &+ 8] == .space,
      octets[start &+ 12] == .space, digits.0 > 0, digits.0 < 10, digits.1 < 10, digits.2 < 10
    else { return nil }
    let reasonEnd = octets.firstControl(from: start &+ 13, before: end)
    guard reasonEnd < end &- 1, octets[reasonEnd] == .carriageReturn, octets[reasonEnd &+ 1] == .lineFeed else {
      return nil
    }
    lineEnd = reasonEnd &+ 2
    version = word == Self.version(1) ? .http1_1 : .http1_0
    status = Int(digits.0) &* 100 &+ Int(digits.1) &* 10 &+ Int(digits.2)
  }

  /// `HTTP/1.0` or `HTTP/1.1` as the bits of a word.
  private static func version(_ minor: UInt64) -> UInt64 { 0x302e_312f_5054_5448 | minor << 56 }
}
