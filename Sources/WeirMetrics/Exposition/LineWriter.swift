/// Writes pieces of lines to memory that was reserved before.
struct LineWriter {
  /// A block copy may write up to 15 bytes beyond the end of its text.
  static let slack = 16
  /// The longest number: a `Double` has up to 24 characters, a `UInt64` 20.
  static let number = 24

  var cursor: UnsafeMutableRawPointer

  @inline(__always)
  mutating func put(_ byte: UInt8) {
    cursor.storeBytes(of: byte, as: UInt8.self)
    cursor += 1
  }

  /// Copies in blocks of 16 bytes; source and destination have room for that.
  @inline(__always)
  mutating func put(padded source: UnsafeRawBufferPointer) {
    guard let start = source.baseAddress else { return }
    var position = 0
    while position < source.count {
      let block = (start + position).loadUnaligned(as: SIMD16<UInt8>.self)
      (cursor + position).storeBytes(of: block, as: SIMD16<UInt8>.self)
      position &+= 16
    }
    cursor += source.count
  }

  @inline(__always)
  mutating func put(_ text: PaddedBytes) {
    text.withBytes { put(padded: $0) }
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

/// Text that is copied often. It has padding at its end, so that it can be copied in blocks of 16 bytes.
struct PaddedBytes: Sendable {
  private let bytes: [UInt8]

  init(_ text: String) {
    self.init(Array(text.utf8))
  }

  init(_ text: [UInt8]) {
    bytes = text + repeatElement(0, count: AtomicSlab.padding)
  }

  var count: Int {
    bytes.count - AtomicSlab.padding
  }

  /// Passes the text to `body`; the padding behind it may be read too.
  @inline(__always)
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<($0.count - AtomicSlab.padding)])) }
  }
}
