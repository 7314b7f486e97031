import CZlib

/// One `z_stream` for inflating, with its coding's framing. Limits and buffers are elsewhere.
final class InflateStream {
  private enum Phase {
    /// Before the bytes that tell zlib from raw; holds the first of them.
    case detecting(UInt8?)
    /// Inside a stream or member. `started` once it has been given a byte.
    case decoding(started: Bool)
    /// After a gzip member; `magic` once 1F, the first byte of another, was seen.
    case betweenMembers(magic: Bool)
    /// After the end: any further input is ignored.
    case ended
  }

  // zlib keeps a pointer back to the z_stream, so it needs an address of its own.
  private let stream: UnsafeMutablePointer<z_stream>
  private let coding: ContentCoding
  private var phase: Phase

  /// The last call filled its output, so zlib may hold more that needs no further input.
  private(set) var mayHoldOutput = false

  init(_ coding: ContentCoding) throws(CompressionError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let code = weir_inflateInit2(stream, coding.windowBits)
    guard code == Z_OK else {
      stream.deallocate()
      throw CompressionError(code: code, message: nil)
    }
    self.stream = stream
    self.coding = coding
    phase = coding == .deflate ? .detecting(nil) : .decoding(started: false)
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Whether input may end here. An empty input is complete: servers send it with a Content-Encoding header.
  var isWhole: Bool {
    switch phase {
    case .detecting(let first): first == nil
    case .decoding(let started): !started
    case .betweenMembers, .ended: true
    }
  }

  /// Decodes from the front of `input` into `output` until one of them is used up.
  ///
  /// - Returns: The number of bytes written, which are valid also if there is a failure.
  func decode(
    _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) -> (written: Int, failure: CompressionError?) {
    var room = output
    mayHoldOutput = false
    do {
      while try advance(&input, into: &room) {}
      return (output.count - room.count, nil)
    } catch {
      mayHoldOutput = false
      return (output.count - room.count, error)
    }
  }

  // MARK: - Framing

  /// One step; false when input or output is used up.
  private func advance(
    _ input: inout UnsafeRawBufferPointer, into room: inout UnsafeMutableRawBufferPointer
  ) throws(CompressionError) -> Bool {
    switch phase {
    case .detecting(let first):
      guard let byte = Self.takeFirst(&input) else { return false }
      try detect(first, byte, into: &room)
      return true
    case .decoding:
      return try inflate(&input, into: &room)
    case .betweenMembers(let magic):
      guard let byte = input.first else { return false }
      try lookForMember(byte, magicSeen: magic, &input, into: &room)
      return true
    case .ended:
      input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
      return false
    }
  }

  private static func takeFirst(_ input: inout UnsafeRawBufferPointer) -> UInt8? {
    guard let byte = input.first else { return nil }
    input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    return byte
  }

  private func detect(
    _ first: UInt8?, _ byte: UInt8, into room: inout UnsafeMutableRawBufferPointer
  ) throws(CompressionError) {
    guard let first else {
      phase = .detecting(byte)
      return
    }
    if !Self.isZlibHeader(first, byte) { try restart(windowBits: -MAX_WBITS) }
    phase = .decoding(started: true)
    try inflate([first, byte], into: &room)
  }

  /// Checks a zlib header (RFC 1950 §2.2): method 8, a window of at most 32 KiB, and a multiple of 31.
  private static func isZlibHeader(_ first: UInt8, _ second: UInt8) -> Bool {
    first & 0x0F == 8 && first >> 4 <= 7 && (UInt16(first) << 8 | UInt16(second)) % 31 == 0
  }

  private func lookForMember(
    _ byte: UInt8, magicSeen: Bool, _ input: inout UnsafeRawBufferPointer,
    into room: inout UnsafeMutableRawBufferPointer
  ) throws(CompressionError) {
    switch (magicSeen, byte) {
    case (false, 0x1F):
      _ = Self.takeFirst(&input)
      phase = .betweenMembers(magic: true)
    case (true, 0x8B):
      try restart(windowBits: coding.windowBits)
      phase = .decoding(started: true)
      try inflate([0x1F], into: &room)
    default:
      phase = .ended
    }
  }

  // MARK: - zlib

  private func restart(windowBits: Int32) throws(CompressionError) {
    let code = inflateReset2(stream, windowBits)
    guard code == Z_OK else { throw CompressionError(code: code, message: stream.pointee.msg) }
  }

  /// Gives zlib bytes of a header that were held back; they are too few to fill the output.
  private func inflate(
    _ held: [UInt8], into room: inout UnsafeMutableRawBufferPointer
  ) throws(CompressionError) {
    var index = 0
    while index < held.count, case .decoding = phase {
      _ = try held.span.extracting(index..<index + 1).withUnsafeBytes { byte throws(CompressionError) in
        var input = byte
        return try inflate(&input, into: &room)
      }
      index += 1
    }
  }

  /// One call of zlib; false when input or output is used up.
  private func inflate(
    _ input: inout UnsafeRawBufferPointer, into room: inout UnsafeMutableRawBufferPointer
  ) throws(CompressionError) -> Bool {
    let offered = min(input.count, Int(Int32.max))
    let wanted = min(room.count, Int(Int32.max))
    stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_in = UInt32(offered)
    stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(wanted)
    if offered > 0 { phase = .decoding(started: true) }

    let code = CZlib.inflate(stream, Z_NO_FLUSH)

    let taken = offered - Int(stream.pointee.avail_in)
    let written = wanted - Int(stream.pointee.avail_out)
    input = UnsafeRawBufferPointer(rebasing: input.dropFirst(taken))
    room = UnsafeMutableRawBufferPointer(rebasing: room.dropFirst(written))
    switch code {
    case Z_STREAM_END:
      phase = coding == .gzip ? .betweenMembers(magic: false) : .ended
      return true
    case Z_OK, Z_BUF_ERROR:  // Z_BUF_ERROR: no progress was possible, which is not a failure
      mayHoldOutput = room.isEmpty
      return !room.isEmpty && !input.isEmpty
    default:
      throw CompressionError(code: code, message: stream.pointee.msg)
    }
  }
}
