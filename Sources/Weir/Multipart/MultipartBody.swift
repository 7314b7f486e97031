import Glibc

/// The parts of a form in their order, with the delimiters between them (RFC 2046 section 5.1.1).
struct MultipartBody {
  /// Bytes of a file or stream that are read at once.
  static let pieceSize = 128 << 10
  /// The most room that is reserved for a stream: its declared length may be any number.
  private static let believedLength: UInt64 = 1 << 20

  private let parts: [MultipartPart]
  private let first: [UInt8]
  private let between: [UInt8]
  private let last: [UInt8]

  init(boundary: String, parts: [MultipartPart]) {
    self.parts = parts
    first = Array("--\(boundary)\r\n".utf8)
    between = Array("\r\n--\(boundary)\r\n".utf8)
    last = Array("\r\n--\(boundary)--\r\n".utf8)
  }

  /// The expected number of bytes; for long streams less than they declare.
  var expectedSize: UInt64 {
    parts.reduce(UInt64(last.count)) { size, part in
      let length = if case .stream = part.body { min(part.length, Self.believedLength) } else { part.length }
      return size.saturatingAdd(length).saturatingAdd(UInt64(between.count + part.head.count))
    }
  }

  /// Writes the whole form; a form without parts gives no bytes.
  func write(to sink: some MultipartSink) throws(WeirError) {
    guard !parts.isEmpty else { return }
    for (position, part) in parts.enumerated() {
      try sink.write(position == 0 ? first : between)
      try sink.write(part.head)
      switch part.body {
      case .data(let data): try sink.write(data)
      case .file(let file): try Self.copy(MultipartReader(file), part.length, to: sink)
      case .stream(let stream): try Self.copy(MultipartReader(stream), part.length, to: sink)
      }
    }
    try sink.write(last)
  }

  /// Copies a body, which must have exactly this length.
  private static func copy(
    _ reader: MultipartReader, _ length: UInt64, to sink: some MultipartSink
  ) throws(WeirError) {
    var total: UInt64 = 0
    while total < length {
      let wanted = Int(min(UInt64(pieceSize), length - total))
      let count = try sink.fill(wanted) { buffer throws(WeirError) in try reader.read(into: buffer) }
      guard count > 0 else { throw .unexpectedLength(expected: length, read: total) }
      total += UInt64(count)
    }
    let excess = try excess(of: reader)
    guard excess == 0 else { throw .unexpectedLength(expected: length, read: total.saturatingAdd(UInt64(excess))) }
  }

  /// The number of bytes after the declared end, from a single read: the stream may have no end.
  private static func excess(of reader: MultipartReader) throws(WeirError) -> Int {
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
    defer { scratch.deallocate() }
    return try reader.read(into: scratch)
  }
}

/// The receiver of a form's bytes.
protocol MultipartSink: AnyObject {
  /// Takes bytes.
  func write(_ bytes: UnsafeRawBufferPointer) throws(WeirError)

  /// Takes the bytes that `read` puts into a buffer. The buffer has room for at least one byte and at most `count`.
  /// Returns the number of bytes.
  func fill(
    _ count: Int, _ read: (UnsafeMutableRawBufferPointer) throws(WeirError) -> Int
  ) throws(WeirError) -> Int
}

extension MultipartSink {
  func write(_ bytes: some ContiguousBytes) throws(WeirError) {
    // The inner `do` keeps the error's type, which `withUnsafeBytes` would lose.
    let result = bytes.withUnsafeBytes { bytes in
      do throws(WeirError) { return Result<Void, WeirError>.success(try write(bytes)) } catch { return .failure(error) }
    }
    try result.get()
  }
}

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
