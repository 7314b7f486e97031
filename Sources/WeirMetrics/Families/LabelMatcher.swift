#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Walks along a rendered label set and compares its values with given ones.
@usableFromInline
struct LabelMatcher {
  @usableFromInline var cursor: UnsafeRawPointer
  @usableFromInline let end: UnsafeRawPointer
  @usableFromInline let isEscaped: Bool

  /// The matcher is valid as long as the series.
  @inlinable @inline(__always)
  init(_ series: Series) {
    cursor = series.slab.text
    end = cursor + Int(series.slab.textCount)
    isEscaped = series.slab.isEscaped
  }

  @inlinable @inline(__always)
  mutating func accepts(_ value: some LabelValue, after skip: Int) -> Bool {
    value.withLabelBytes { accepts($0, after: skip) }
  }

  /// Whether the next value of the text, `skip` bytes further, is this one. After a `false` the matcher must not be
  /// used.
  @inlinable @inline(__always)
  mutating func accepts(_ value: UnsafeRawBufferPointer, after skip: Int) -> Bool {
    // The last label is left out if its value is empty: the text ends with the quote of the one before.
    if value.count == 0, end - cursor == 1 { return true }
    cursor += skip
    if isEscaped { return acceptsEscaped(value) }
    // The quote behind the value must be inside the text too, so a longer value never reads beyond the end.
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

/// Equality without a call for short values, as labels have them. `text` has at least `value.count` bytes.
@inlinable @inline(__always)
func equalBytes(_ value: UnsafeRawBufferPointer, _ text: UnsafeRawPointer) -> Bool {
  let count = value.count
  guard let value = value.baseAddress else { return true }
  if count <= 8 { return equalShort(value, text, count) }
  var index = 0
  repeat {
    guard (value + index).loadUnaligned(as: UInt64.self) == (text + index).loadUnaligned(as: UInt64.self) else {
      return false
    }
    index &+= 8
  } while index &+ 8 < count
  return equalShort(value + index, text + index, count &- index)
}

/// Equality of up to eight bytes, read as ``LabelHash`` reads them.
@inlinable @inline(__always)
func equalShort(_ value: UnsafeRawPointer, _ text: UnsafeRawPointer, _ count: Int) -> Bool {
  if count >= 4 {
    return value.loadUnaligned(as: UInt32.self) == text.loadUnaligned(as: UInt32.self)
      && (value + (count &- 4)).loadUnaligned(as: UInt32.self) == (text + (count &- 4)).loadUnaligned(as: UInt32.self)
  }
  var index = 0
  while index < count {
    if (value + index).load(as: UInt8.self) != (text + index).load(as: UInt8.self) { return false }
    index &+= 1
  }
  return true
}

/// The order of two texts by their bytes: below, equal to or above zero.
func compareText(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
  let count = min(left.count, right.count)
  guard count > 0, let start = left.baseAddress, let other = right.baseAddress else { return left.count - right.count }
  let order = memcmp(start, other, count)
  return order == 0 ? left.count - right.count : Int(order)
}
