import WeirCurl
import WeirIO

/// A request body that is read from an `InputStream`. A stream may block its reader, so it is opened, read and closed
/// on a reader thread, a piece at a time. It can be read only once.
struct BodyStream {
  /// The result of one read.
  enum Piece: Sendable {
    case bytes([UInt8])
    case end
    /// A text and a code: a failed file read has more to report than that its stream ended.
    case failed(String, URLError.Code)
    /// An error of the caller's sequence.
    case broken(any Error)
  }

  enum Supply {
    case bytes(Int)
    case end
    case failed(String, URLError.Code)
    case broken(any Error)
    /// Nothing is there yet; `reads` is true if a read has to be started.
    case later(reads: Bool)
  }

  static let pieceSize = 64 << 10

  /// Whether reading has begun; the stream can't return to its beginning after that.
  private(set) var hasBegun = false
  /// Whether the stream is open, or will be.
  var isOpen: Bool { if case .bytes = last { hasBegun } else { false } }
  private var isReading = false
  private var last = Piece.bytes([])
  private var taken = 0

  /// Copies bytes that were read, or says why there are none.
  mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
    switch last {
    case .end: return .end
    case .failed(let text, let code): return .failed(text, code)
    case .broken(let error): return .broken(error)
    case .bytes(let bytes):
      let count = min(buffer.count, bytes.count - taken)
      guard count > 0 else { return wait() }
      bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count])) }
      taken += count
      return .bytes(count)
    }
  }

  mutating func arrived(_ piece: Piece) {
    isReading = false
    last = piece
    taken = 0
  }

  private mutating func wait() -> Supply {
    // Sent bytes are not kept while the next ones are made.
    (last, taken) = (.bytes([]), 0)
    defer { isReading = true }
    hasBegun = true
    return .later(reads: !isReading)
  }

  /// Reads on, and closes the stream at its end. May take long.
  static func read(from stream: InputStream) -> Piece {
    if stream.streamStatus == .notOpen { stream.open() }
    var result = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: pieceSize) { buffer, count in
      if let start = buffer.baseAddress { result = stream.read(start, maxLength: buffer.count) }
      // Any class may implement a stream, so its answer is checked.
      count = (0...buffer.count).contains(result) ? result : 0
    }
    if !bytes.isEmpty { return .bytes(bytes) }
    defer { stream.close() }
    if result == 0 { return .end }
    if result > 0 { return .failed("it claims to have read more than was asked for", .requestBodyStreamExhausted) }
    let error = stream.streamError
    return .failed(
      error?.localizedDescription ?? "it can't be read", (error as? URLError)?.code ?? .requestBodyStreamExhausted)
  }

  /// The length of the stream that the request announces; nil means that the body ends where the stream ends.
  static func length(of hop: HopRequest) -> Int64? {
    guard let text = hop.value(forHeader: "Content-Length"), text.utf8.allSatisfy({ $0 &- 48 < 10 })
    else { return nil }
    return Int64(text)
  }
}

extension InputStream {
  /// Reads at least a byte into a non-empty buffer and returns the number of bytes; 0 at the end. Any class may
  /// implement a stream, so its answers are checked.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    let count = read(start, maxLength: buffer.count)
    guard count >= 0 else { throw streamError ?? POSIXError(.EIO) }
    guard count <= buffer.count else { throw POSIXError(.EOVERFLOW) }
    return count
  }
}

/// A `Data` as the body of a transfer, without a copy.
struct DataBytes: TransferBytes {
  private let data: Data

  init(_ data: Data) {
    self.data = data
  }

  var count: Int { data.count }

  func copyBytes(from offset: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    let length = min(buffer.count, data.count - offset)
    guard offset >= 0, length > 0 else { return 0 }
    let start = data.startIndex + offset
    return data.copyBytes(to: buffer, from: start..<(start + length))
  }
}

extension TransferBody {
  /// Nil if the length isn't known.
  var length: Int64? {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let size): size
    case .pulled(let length): length
    }
  }
}
