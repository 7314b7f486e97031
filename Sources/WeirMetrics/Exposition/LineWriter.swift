/// Writes pieces of lines to memory whose room was asked for before.
struct LineWriter {
  /// A block copy may write up to 15 bytes beyond its end.
  static let slack = 16
  /// The longest number: a `Double` has up to 24 characters, a `UInt64` 20.
  static let number = 24

  var cursor: UnsafeMutableRawPointer

  @inline(__always)
  mutating func put(_ byte: UInt8) {
    cursor.storeBytes(of: byte, as: UInt8.self)
    cursor += 1
  }

  /// Copies in blocks of 16; both sides have room for that.
  @inline(__always)
  mutating func put(padded source: UnsafeRawPointer, count: Int) {
    var position = 0
    repeat {
      let block = (source + position).loadUnaligned(as: SIMD16<UInt8>.self)
      (cursor + position).storeBytes(of: block, as: SIMD16<UInt8>.self)
      position &+= 16
    } while position < count
    cursor += count
  }

  @inline(__always)
  mutating func put(_ text: PaddedBytes) {
    text.bytes.withUnsafeBytes { bytes in
      put(padded: bytes.baseAddress.unsafelyUnwrapped, count: bytes.count - SeriesLabels.padding)
    }
  }

  @inline(__always)
  mutating func put(_ labels: SeriesLabels) {
    labels.bytes.withUnsafeBytes { bytes in
      put(padded: bytes.baseAddress.unsafelyUnwrapped, count: bytes.count - SeriesLabels.padding)
    }
  }

  mutating func put(_ text: some Collection<UInt8>) {
    for byte in text { put(byte) }
  }

  @inline(__always)
  mutating func put(_ value: UInt64) {
    cursor += NumberText.write(value, to: cursor)
  }

  @inline(__always)
  mutating func put(_ value: Double) {
    cursor += NumberText.write(value, to: cursor)
  }
}
