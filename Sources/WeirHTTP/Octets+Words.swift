// Scans of eight octets at a time, for the parsers of heads.

extension UnsafeRawBufferPointer {
  /// The index of the first octet of `range` that can't be in a token (RFC 9110 §5.6.2), or the end of the range.
  @inlinable
  package func endOfToken(in range: Range<Int>) -> Int {
    var index = range.lowerBound
    while index + 8 <= range.upperBound {
      let others = OctetWord(self, at: index).othersThanNameCharacters
      guard others == 0 else {
        index += others.trailingZeroBitCount / 8
        break
      }
      index += 8
    }
    while index < range.upperBound, OctetSet.token.contains(self[index]) { index += 1 }
    return index
  }

  /// The index of the first control character of `range`, the tab among them, or the end of the range.
  @inlinable
  package func firstControl(in range: Range<Int>) -> Int {
    var index = range.lowerBound
    while index + 8 <= range.upperBound {
      let controls = OctetWord(self, at: index).controls
      if controls != 0 { return index + controls.trailingZeroBitCount / 8 }
      index += 8
    }
    while index < range.upperBound, self[index] >= .space, self[index] != 0x7f { index += 1 }
    return index
  }

  /// Whether `range` holds anything but field content (RFC 9110 §5.5): a control character other than a tab.
  @inlinable
  package func hasControl(in range: Range<Int>) -> Bool {
    var index = firstControl(in: range)
    while index < range.upperBound, self[index] == .tab { index = firstControl(in: index + 1..<range.upperBound) }
    return index < range.upperBound
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the token in `range` is `name`, which is in lower case and has 8 to 16 octets, ignoring the case of
  /// letters. The range must have as many octets as the name. Outside of tokens, some control characters would count as
  /// punctuation.
  @inlinable @inline(__always)
  package func isToken(in range: Range<Int>, named name: StaticString) -> Bool {
    let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    let (start, end) = (range.lowerBound, range.upperBound)
    guard range.count == name.count, name.count >= 8, name.count <= 16 else { return false }
    return OctetWord(self, at: start).lowercased == OctetWord(name, at: 0).bits
      && OctetWord(self, at: end - 8).lowercased == OctetWord(name, at: name.count - 8).bits
  }
}

/// Eight octets, the first in the lowest bits. The results are masks with the highest bit of each octet in question.
@usableFromInline
struct OctetWord {
  @usableFromInline let bits: UInt64

  @inlinable @inline(__always)
  init(_ octets: UnsafeRawBufferPointer, at index: Int) {
    bits = UInt64(littleEndian: octets.loadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  /// Every octet but letters, digits and hyphens, of which nearly all field names consist.
  @inlinable @inline(__always)
  var othersThanNameCharacters: UInt64 {
    // Sums of seven bits don't carry into the next octet; the highest bit says whether an octet reached a bound.
    let low = bits & Self.all(0x7f)
    let letter = low | Self.all(0x20)
    let letters = (letter &+ Self.all(0x80 - 0x61)) & ~(letter &+ Self.all(0x80 - 0x7b))
    let digits = (low &+ Self.all(0x80 - 0x30)) & ~(low &+ Self.all(0x80 - 0x3a))
    let hyphens = ~((low ^ Self.all(0x2d)) &+ Self.all(0x7f))
    return ~((letters | digits | hyphens) & ~bits) & Self.all(0x80)
  }

  /// Control characters, the tab among them. Above the lowest one found, the mask may be wrong.
  @inlinable @inline(__always)
  var controls: UInt64 {
    let delete = bits ^ Self.all(0x7f)
    return ((bits &- Self.all(0x20)) & ~bits | (delete &- Self.all(0x01)) & ~delete) & Self.all(0x80)
  }

  /// The letters of a token in lower case. Its other characters have the bit already, but for `^` and `_`, which become
  /// `~` and DEL.
  @inlinable @inline(__always)
  var lowercased: UInt64 { bits | Self.all(0x20) }

  @inlinable @inline(__always)
  static func all(_ octet: UInt64) -> UInt64 { octet &* 0x0101_0101_0101_0101 }
}
