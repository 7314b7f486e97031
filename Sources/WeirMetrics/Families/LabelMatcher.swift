import Glibc

/// Walks along a rendered label set and says whether given values are the ones in it.
@usableFromInline
struct LabelMatcher {
  @usableFromInline var cursor: UnsafeRawPointer
  @usableFromInline let end: UnsafeRawPointer
  @usableFromInline let skips: UnsafeBufferPointer<Int>
  @usableFromInline var index = 0
  @usableFromInline let escaped: Bool

  /// `text` is a label set with its padding, thus never empty, so that its pointer is never nil.
  @inlinable @inline(__always)
  init(text: UnsafeRawBufferPointer, skips: UnsafeBufferPointer<Int>) {
    cursor = text.baseAddress.unsafelyUnwrapped
    end = cursor + (text.count - SeriesLabels.padding)
    escaped = text[text.count - 1] != 0
    self.skips = skips
  }

  /// Whether the next value of the text is this one. After a `false` the matcher is of no more use.
  @inlinable @inline(__always)
  mutating func accepts(_ value: UnsafeRawBufferPointer) -> Bool {
    cursor += skips[index]
    index &+= 1
    if escaped { return acceptsEscaped(value) }
    // The quote behind the value must be inside the text too; so a longer value never reads beyond the end.
    guard end - cursor > value.count, equalBytes(value, cursor) else { return false }
    cursor += value.count
    return cursor.load(as: UInt8.self) == UInt8(ascii: "\"")
  }

  @usableFromInline
  mutating func acceptsEscaped(_ value: UnsafeRawBufferPointer) -> Bool {
    for byte in value {
      if let letter = Escaping.letter(for: byte) {
        guard end - cursor > 2, cursor.load(as: UInt8.self) == UInt8(ascii: "\\") else { return false }
        guard (cursor + 1).load(as: UInt8.self) == letter else { return false }
        cursor += 2
      } else {
        guard end - cursor > 1, cursor.load(as: UInt8.self) == byte else { return false }
        cursor += 1
      }
    }
    return cursor.load(as: UInt8.self) == UInt8(ascii: "\"")
  }
}

/// Equality without a call for the short values that labels have. `text` has at least `value.count` bytes.
@inlinable @inline(__always)
func equalBytes(_ value: UnsafeRawBufferPointer, _ text: UnsafeRawPointer) -> Bool {
  let count = value.count
  guard let value = value.baseAddress else { return true }
  guard count >= 8 else {
    if count >= 4 {
      return value.loadUnaligned(as: UInt32.self) == text.loadUnaligned(as: UInt32.self)
        && (value + (count - 4)).loadUnaligned(as: UInt32.self) == (text + (count - 4)).loadUnaligned(as: UInt32.self)
    }
    for index in 0..<count
    where (value + index).load(as: UInt8.self) != (text + index).load(as: UInt8.self) {
      return false
    }
    return true
  }
  var index = 0
  while index &+ 8 < count {
    guard (value + index).loadUnaligned(as: UInt64.self) == (text + index).loadUnaligned(as: UInt64.self) else {
      return false
    }
    index &+= 8
  }
  let last = count - 8
  return (value + last).loadUnaligned(as: UInt64.self) == (text + last).loadUnaligned(as: UInt64.self)
}

func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ count: Int) -> Int32 {
  guard count > 0, let left = left.baseAddress, let right = right.baseAddress else { return 0 }
  return memcmp(left, right, count)
}
