// Scans of eight octets at a time, for the parsers of heads.

extension UnsafeRawBufferPointer {
  /// The index of the first octet of `range` that can't be in a token (RFC 9110 §5.6.2), or the end of the range.
  @inlinable
  package func endOfToken(in range: Range<Int>) -> Int {
    guard let base = baseAddress else { return range.lowerBound }
    return base.endOfToken(from: range.lowerBound, before: range.upperBound)
  }

  /// Whether `range` holds CR, LF or a zero byte, which no field value may have (RFC 9110 §5.5). Other control characters
  /// are no danger to a reader.
  @inlinable
  package func hasBreak(in range: Range<Int>) -> Bool {
    guard let base = baseAddress else { return false }
    var index = base.firstControl(from: range.lowerBound, before: range.upperBound)
    while index < range.upperBound {
      if self[index] == 0 || self[index].isLineBreak { return true }
      index = base.firstControl(from: index + 1, before: range.upperBound)
    }
    return false
  }

  /// Whether `range` holds anything but field content (RFC 9110 §5.5): a control character other than a tab.
  @inlinable
  package func hasControl(in range: Range<Int>) -> Bool {
    guard let base = baseAddress else { return false }
    var index = base.firstControl(from: range.lowerBound, before: range.upperBound)
    while index < range.upperBound, self[index] == .tab {
      index = base.firstControl(from: index + 1, before: range.upperBound)
    }
    return index < range.upperBound
  }

  /// Whether these are at least eight octets, and all of them letters and hyphens.
  @inlinable @inline(__always)
  var hasOnlyLettersAndHyphens: Bool {
    guard let base = baseAddress, count >= 8 else { return false }
    var index = 0
    while index < count &- 8, OctetWord(base, at: index).othersThanLettersAndHyphens == 0 { index &+= 8 }
    return index >= count &- 8 && OctetWord(base, at: count &- 8).othersThanLettersAndHyphens == 0
  }

  /// Whether the octets begin with `text`, which is in lower case, ignoring the case of letters.
  @inlinable
  package func begins(with text: StaticString) -> Bool {
    let size = text.utf8CodeUnitCount
    guard let base = baseAddress, count >= size else { return false }
    let text = UnsafeRawPointer(text.utf8Start)
    // Compares from the end, where field names differ more often than at their beginning.
    guard size >= 8 else {
      var index = size &- 1
      while index >= 0, base[index].lowercased == text[index] { index &-= 1 }
      return index < 0
    }
    var index = size &- 8
    while index > 0, OctetWord(base, at: index).spells(OctetWord(text, at: index)) {
      index = index > 8 ? index &- 8 : 0
    }
    return index == 0 && OctetWord(base, at: 0).spells(OctetWord(text, at: 0))
  }

  /// Whether the token in `range` is `name`, which is in lower case and has 8 to 16 octets, ignoring the case of
  /// letters. If the range had control characters, some of them would count as punctuation.
  @inlinable @inline(__always)
  package func isToken(in range: Range<Int>, named name: StaticString) -> Bool {
    let count = name.utf8CodeUnitCount
    guard let base = baseAddress, range.count == count, count >= 8, count <= 16 else { return false }
    let name = UnsafeRawPointer(name.utf8Start)
    return OctetWord(base, at: range.lowerBound).lowercased == OctetWord(name, at: 0).bits
      && OctetWord(base, at: range.upperBound &- 8).lowercased == OctetWord(name, at: count &- 8).bits
  }
}

extension UnsafeRawPointer {
  /// The offset of the first octet that can't be in a token, or `end`.
  @inlinable @inline(__always)
  package func endOfToken(from start: Int, before end: Int) -> Int {
    var index = start
    while index <= end &- 8 {
      let others = OctetWord(self, at: index).othersThanLettersAndHyphens
      guard others == 0 else {
        index &+= others.trailingZeroBitCount &>> 3
        break
      }
      index &+= 8
    }
    if index < end, index > end &- 8, end &- start >= 8,
      OctetWord(self, at: end &- 8).othersThanLettersAndHyphens == 0
    {
      // The rest, with octets before it that are such ones.
      return end
    }
    while index < end, self[index] != .colon, OctetSet.token.contains(self[index]) { index &+= 1 }
    return index
  }

  /// The offset of the first control character, the tab among them, or `end`.
  @inlinable @inline(__always)
  package func firstControl(from start: Int, before end: Int) -> Int {
    var index = start
    while index <= end &- 8 {
      let controls = OctetWord(self, at: index).controls
      if controls != 0 { return index &+ controls.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    if index < end, end &- start >= 8 {
      // The rest, with octets before it that are none: a word as well.
      let controls = OctetWord(self, at: end &- 8).controls
      return controls == 0 ? end : end &- 8 &+ controls.trailingZeroBitCount &>> 3
    }
    while index < end, self[index] >= .space, self[index] != 0x7f { index &+= 1 }
    return index
  }

  @inlinable @inline(__always)
  package subscript(index: Int) -> UInt8 { load(fromByteOffset: index, as: UInt8.self) }
}

/// Eight octets, the first in the lowest bits. The results are masks with the highest bit of each octet in question.
@usableFromInline
struct OctetWord {
  @usableFromInline let bits: UInt64

  @inlinable @inline(__always)
  init(_ octets: UnsafeRawPointer, at index: Int) {
    bits = UInt64(littleEndian: octets.loadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  // Sums of seven bits don't carry into the next octet; the highest bit says whether an octet reached a bound.

  /// Every octet but letters and hyphens, of which nearly all field names consist.
  @inlinable @inline(__always)
  var othersThanLettersAndHyphens: UInt64 {
    let low = bits & Self.all(0x7f)
    let letter = low | Self.all(0x20)
    let letters = (letter &+ Self.all(0x80 - 0x61)) & ~(letter &+ Self.all(0x80 - 0x7b))
    let hyphens = ~((low ^ Self.all(0x2d)) &+ Self.all(0x7f))
    return ~((letters | hyphens) & ~bits) & Self.all(0x80)
  }

  /// Control characters, the tab among them.
  @inlinable @inline(__always)
  var controls: UInt64 {
    let low = bits & Self.all(0x7f)
    return (~(low &+ Self.all(0x80 - 0x20)) | (low &+ Self.all(0x01))) & ~bits & Self.all(0x80)
  }

  /// The letters of a token in lower case. Its other characters have the bit already, but for `^` and `_`, which become
  /// `~` and DEL.
  @inlinable @inline(__always)
  var lowercased: UInt64 { bits | Self.all(0x20) }

  /// Whether the octets are those of `text`, which has no capitals, ignoring the case of letters.
  @inlinable @inline(__always)
  func spells(_ text: OctetWord) -> Bool {
    // Octets from 0x60 on are letters, or the characters around them, which no text here has.
    let letters = text.bits & text.bits &>> 1 & Self.all(0x20)
    return bits | letters == text.bits
  }

  @inlinable @inline(__always)
  static func all(_ octet: UInt64) -> UInt64 { octet &* 0x0101_0101_0101_0101 }
}
