/// A hash of label values, computed from their bytes without a copy.
///
/// It multiplies and folds 16 bytes per step, like wyhash. The seed is random per family, so that a client that can
/// choose label values can't choose collisions.
@usableFromInline
struct LabelHash {
  @usableFromInline var state: UInt64
  @usableFromInline let seed: UInt64
  /// Whether a value is longer than the limit. Then only its cut form identifies a series.
  @usableFromInline var isOversized = false

  @inlinable @inline(__always)
  init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// The hash; never zero, which marks a free slot.
  @inlinable @inline(__always)
  var value: UInt64 {
    state == 0 ? 1 : state
  }

  /// The hash of the values so far and this one.
  @inlinable @inline(__always)
  func with(_ value: some LabelValue) -> LabelHash {
    var hash = self
    value.withLabelBytes { hash.combine($0) }
    return hash
  }

  @inlinable @inline(__always)
  mutating func combine(_ bytes: UnsafeRawBufferPointer) {
    let count = bytes.count
    guard let start = bytes.baseAddress, count > 0 else {
      fold(0, 0, 0)
      return
    }
    if count > 16 {
      combineLong(start, count)
    } else if count > 8 {
      fold(word(start), short(start + 8, count &- 8), count)
    } else {
      fold(short(start, count), 0, count)
    }
  }

  /// One to eight bytes as a number. Short strings have just been written to the stack as two words. A read across both
  /// would have to wait until they are in memory.
  @inlinable @inline(__always)
  func short(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
    if count >= 4 {
      let low = start.loadUnaligned(as: UInt32.self)
      let high = (start + (count &- 4)).loadUnaligned(as: UInt32.self)
      return UInt64(low) | UInt64(high) << 32
    }
    let first = UInt64(start.load(as: UInt8.self))
    let middle = UInt64((start + count / 2).load(as: UInt8.self))
    let last = UInt64((start + (count &- 1)).load(as: UInt8.self))
    return first << 16 | middle << 8 | last
  }

  @inlinable @inline(__always)
  mutating func combineLong(_ start: UnsafeRawPointer, _ count: Int) {
    guard count <= 4096 else {
      isOversized = true
      return
    }
    var position = 0
    while position &+ 16 < count {
      fold(word(start + position), word(start + (position + 8)), 0)
      position &+= 16
    }
    // The last 16 bytes, some of which may have been hashed already.
    fold(word(start + (count &- 16)), word(start + (count &- 8)), count)
  }

  @inlinable @inline(__always)
  func word(_ pointer: UnsafeRawPointer) -> UInt64 {
    pointer.loadUnaligned(as: UInt64.self)
  }

  @inlinable @inline(__always)
  mutating func fold(_ first: UInt64, _ second: UInt64, _ count: Int) {
    // The length is spread over all bits, so that a byte of the text can't cancel a different length.
    let length = UInt64(truncatingIfNeeded: count) &* 0xD6E8_FEB8_6659_FD93
    let product = (first ^ seed ^ length).multipliedFullWidth(
      by: second ^ state ^ 0x9E37_79B9_7F4A_7C15)
    state = product.high ^ product.low
  }
}
