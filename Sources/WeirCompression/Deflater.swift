import CZlib

/// A streaming compressor. Its output is bounded by its input, so a caller bounds the work of a turn by the input it
/// gives.
///
/// It holds about 256 KiB; `reset` lets one serve many bodies. Not thread-safe.
package final class Deflater {
  /// How much of the input must have been written when a call returns.
  package enum Flush: Int32, Sendable {
    /// zlib decides, for the best compression.
    case none = 0  // Z_NO_FLUSH
    /// The receiver can decode all input so far.
    case sync = 2  // Z_SYNC_FLUSH
    /// The stream ends: only `reset` may follow.
    case finish = 4  // Z_FINISH
  }

  // zlib keeps a pointer back to the z_stream, so it needs an address of its own.
  private let stream: UnsafeMutablePointer<z_stream>
  private var ended = false

  /// - Parameter level: 0 (stored) to 9 (smallest); other numbers are clamped. nil: zlib's default, 6.
  package init(_ coding: ContentCoding, level: Int? = nil) throws(CompressionError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let level = level.map { Int32(min(9, max(0, $0))) } ?? Z_DEFAULT_COMPRESSION
    let code = weir_deflateInit2(stream, level, coding.windowBits)
    guard code == Z_OK else {
      stream.deallocate()
      throw CompressionError(code: code, message: nil)
    }
    self.stream = stream
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Compresses `input`, which need only be valid during the call.
  ///
  /// - Parameter sink: Called with slices of at most 64 KiB, valid during the call.
  /// - Throws: `.misuse` after `.finish` without `reset`.
  package func feed(
    _ input: UnsafeRawBufferPointer, flush: Flush = .none, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) {
    guard !ended else { throw .misuse }
    // A flush may write much more than its input.
    let scratch = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(Inflater.maximumSlice, max(flush == .none ? 1 << 10 : 16 << 10, input.count)), alignment: 16)
    defer { scratch.deallocate() }
    var rest = input
    repeat {
      let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(Int32.max)))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
      try compress(part, flush: rest.isEmpty ? flush : .none, scratch, into: sink)
    } while !rest.isEmpty
    ended = flush == .finish
  }

  /// Ends the stream: writes the bytes that zlib still holds, and the trailer.
  package func finish(into sink: (UnsafeRawBufferPointer) -> Void) throws(CompressionError) {
    try feed(UnsafeRawBufferPointer(start: nil, count: 0), flush: .finish, into: sink)
  }

  /// Makes the compressor ready for another body of the same coding and level, keeping its memory.
  package func reset() throws(CompressionError) {
    let code = deflateReset(stream)
    guard code == Z_OK else { throw CompressionError(code: code, message: stream.pointee.msg) }
    ended = false
  }

  private func compress(
    _ input: UnsafeRawBufferPointer, flush: Flush, _ scratch: UnsafeMutableRawBufferPointer,
    into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) {
    stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_in = UInt32(input.count)
    repeat {
      stream.pointee.next_out = scratch.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(scratch.count)
      let code = deflate(stream, flush.rawValue)
      guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else {
        throw CompressionError(code: code, message: stream.pointee.msg)
      }
      let written = scratch.count - Int(stream.pointee.avail_out)
      if written > 0 { sink(UnsafeRawBufferPointer(rebasing: scratch.prefix(written))) }
    } while stream.pointee.avail_out == 0
  }
}

/// Compresses whole bodies in one call, for bodies that are in memory anyway.
package enum Compression {
  /// `bytes`, compressed.
  package static func deflate(
    _ bytes: UnsafeRawBufferPointer, _ coding: ContentCoding, level: Int? = nil
  ) throws(CompressionError) -> [UInt8] {
    var output: [UInt8] = []
    try Deflater(coding, level: level).feed(bytes, flush: .finish) { output.append(contentsOf: $0) }
    return output
  }
}
