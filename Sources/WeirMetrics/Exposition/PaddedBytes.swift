/// Text that is copied often: with room behind it, so that it can be copied in blocks of 16.
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

  /// Gives the text; the padding behind it may be read too.
  @inline(__always)
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<($0.count - AtomicSlab.padding)])) }
  }
}
