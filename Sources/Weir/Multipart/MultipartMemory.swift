import Glibc

/// A form's bytes in memory. The memory is allocated once for the expected size, and neither cleared nor copied on the
/// way.
final class MultipartMemory: MultipartSink {
  private var start: UnsafeMutableRawPointer?
  private var capacity = 0
  private var count = 0

  init(capacity: UInt64) throws(WeirError) {
    guard let capacity = Int(exactly: capacity) else { throw Self.outOfMemory }
    try grow(to: capacity)
  }

  deinit {
    free(start)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(WeirError) {
    guard let source = bytes.baseAddress else { return }
    try room(for: bytes.count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  func fill(
    _ wanted: Int, _ read: (UnsafeMutableRawBufferPointer) throws(WeirError) -> Int
  ) throws(WeirError) -> Int {
    let filled = try read(UnsafeMutableRawBufferPointer(start: room(for: wanted), count: wanted))
    count += filled
    return filled
  }

  /// The bytes, which the caller owns from now on.
  func takeData() -> Data {
    guard let start, count > 0 else { return Data() }
    self.start = nil
    return Data(bytesNoCopy: start, count: count, deallocator: .free)
  }

  private func room(for more: Int) throws(WeirError) -> UnsafeMutableRawPointer {
    let (needed, isTooLarge) = count.addingReportingOverflow(more)
    guard !isTooLarge else { throw Self.outOfMemory }
    if needed > capacity { try grow(to: max(needed, capacity.multipliedReportingOverflow(by: 2).partialValue)) }
    guard let start else { throw Self.outOfMemory }
    return start + count
  }

  private func grow(to wanted: Int) throws(WeirError) {
    guard let grown = realloc(start, max(1, wanted)) else { throw Self.outOfMemory }
    start = grown
    capacity = wanted
  }

  private static var outOfMemory: WeirError {
    .multipartEncodingFailed(reason: .outputStreamWriteFailed(error: POSIXError(.ENOMEM)))
  }
}
