package import WeirCompression
import WeirCurl

/// A body that is compressed while it is read. It pulls pieces of the plain body and gives compressed pieces, in
/// constant memory (about 400 KiB).
package struct CompressedBody {
  private static let pieceSize = 64 << 10

  private let deflater: Deflater
  private var input = [UInt8](repeating: 0, count: pieceSize)
  private var output: [UInt8] = []
  private var taken = 0
  private var isAtEnd = false

  /// Begins a body.
  package init(_ coding: RequestCoding) throws {
    deflater = try coding.deflater()
  }

  /// Puts the next compressed bytes into a buffer and returns their number; 0 at the end.
  ///
  /// - Parameter pull: Puts the next plain bytes into a buffer and returns their number; 0 at the end. An error that it
  ///   throws is rethrown, and `read` can be called again after that.
  package mutating func read(
    into buffer: UnsafeMutableRawBufferPointer, pulling pull: (UnsafeMutableRawBufferPointer) throws -> Int
  ) throws -> Int {
    guard !buffer.isEmpty else { return 0 }
    while taken == output.count {
      if isAtEnd { return 0 }
      try compress(try input.withUnsafeMutableBytes { min(try pull($0), $0.count) })
    }
    let count = output.copyBytes(from: taken, to: buffer)
    taken += count
    return count
  }

  private mutating func compress(_ count: Int) throws {
    output.removeAll(keepingCapacity: true)
    taken = 0
    isAtEnd = count <= 0
    let flush: Deflater.Flush = isAtEnd ? .finish : .none
    try input.withUnsafeBytes { bytes in
      let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, count)))
      try deflater.feed(piece, flush: flush) { output.append(contentsOf: $0) }
    }
  }
}

/// A `CompressedBody` as a stream that reads another stream, for bodies that are sent as streams.
package final class CompressedInputStream: InputStream {
  private let plain: InputStream
  private var body: CompressedBody?
  private var failure: (any Error)?
  private var status = Status.notOpen

  /// Takes over the stream of the plain body.
  package init(_ plain: InputStream, _ coding: RequestCoding) throws {
    self.plain = plain
    body = try CompressedBody(coding)
    super.init(data: Data())
  }

  /// Before this stream is opened, it has the plain stream's status: a stream that has been read from can't be sent.
  package override var streamStatus: Status { status == .notOpen ? plain.streamStatus : status }
  package override var streamError: (any Error)? { failure }
  package override var hasBytesAvailable: Bool { status == .open }

  package override func open() {
    guard status == .notOpen else { return }
    plain.open()
    status = .open
  }

  package override func close() {
    plain.close()
    body = nil
    status = .closed
  }

  package override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    guard status == .open else { return status == .atEnd ? 0 : -1 }
    do {
      let count =
        try body?.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: length), pulling: plain.read(into:))
        ?? 0
      if count == 0, length > 0 { status = .atEnd }
      return count
    } catch {
      failure = error
      status = .error
      return -1
    }
  }
}

/// A content coding that a request's body can be sent in (RFC 9110 section 8.4.1).
package enum RequestCoding: String, Hashable, Sendable {
  case deflate
  case gzip

  /// One of zlib's ten levels: nearly as small as the default, in less time. In the header of `deflate` it shows as 78
  /// 5E.
  private static let level = 5

  private var coding: ContentCoding { self == .gzip ? .gzip : .deflate }

  /// An encoder that compresses a body piece by piece.
  package func deflater() throws(CompressionError) -> Deflater {
    try Deflater(coding, level: Self.level)
  }

  /// The whole body, compressed.
  func compress(_ body: Data) throws -> Data {
    let deflater = try deflater()
    var compressed = Data()
    try body.withUnsafeBytes { bytes in
      try deflater.feed(bytes, flush: .finish) { compressed.append(contentsOf: $0) }
    }
    return compressed
  }
}
