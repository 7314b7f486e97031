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
