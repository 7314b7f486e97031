/// A form's parts in their order, and how they stand one behind the other (RFC 2046 section 5.1.1).
struct MultipartBody {
  /// How much of a file or a stream is read at once.
  static let pieceSize = 128 << 10
  /// How much room a stream is believed to need: what it is declared to have may be anything.
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

  /// How many bytes it will be, except for long streams.
  var expectedSize: UInt64 {
    parts.reduce(UInt64(last.count)) { size, part in
      let length = if case .stream = part.body { min(part.length, Self.believedLength) } else { part.length }
      return size.saturatingAdd(length).saturatingAdd(UInt64(between.count + part.head.count))
    }
  }

  /// Writes the bytes of it all; none when there are no parts.
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

  /// Copies a body that has to be that long.
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

  /// What comes after the declared end, as far as it comes at once: it may have no end.
  private static func excess(of reader: MultipartReader) throws(WeirError) -> Int {
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
    defer { scratch.deallocate() }
    return try reader.read(into: scratch)
  }
}

/// Where a form's bytes go.
protocol MultipartSink: AnyObject {
  /// Takes bytes.
  func write(_ bytes: UnsafeRawBufferPointer) throws(WeirError)

  /// Takes what `read` puts into the room it is given, which is at least a byte and at most `count`; returns how many bytes
  /// those were.
  func fill(
    _ count: Int, _ read: (UnsafeMutableRawBufferPointer) throws(WeirError) -> Int
  ) throws(WeirError) -> Int
}

extension MultipartSink {
  func write(_ bytes: some ContiguousBytes) throws(WeirError) {
    // `withUnsafeBytes` loses the error's type; this keeps it.
    let result = bytes.withUnsafeBytes { bytes in
      do throws(WeirError) { return Result<Void, WeirError>.success(try write(bytes)) } catch { return .failure(error) }
    }
    try result.get()
  }
}
