import WeirCurl
import WeirIO

/// A request body that comes out of an `InputStream`. A stream may make its reader wait, so it is opened, read and
/// closed on a thread for readers, a piece at a time; and it can be read once only.
struct BodyStream {
  /// What one reading gave.
  enum Piece: Sendable {
    case bytes([UInt8])
    case end
    /// Of a file there may be more to say than that a stream ended.
    case failed(String, URLError.Code)
  }

  enum Supply {
    case bytes(Int)
    case end
    case failed(String, URLError.Code)
    /// Nothing yet; true: somebody has to read.
    case later(reads: Bool)
  }

  private static let pieceSize = 64 << 10

  /// Whether reading has begun; then there is no way back to the beginning.
  private(set) var hasBegun = false
  /// Whether it is open, or will be.
  var isOpen: Bool { if case .bytes = last { hasBegun } else { false } }
  private var isReading = false
  private var last = Piece.bytes([])
  private var taken = 0

  /// Copies bytes that were read, or says why there are none.
  mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
    switch last {
    case .end: return .end
    case .failed(let text, let code): return .failed(text, code)
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
      // A stream may be of anybody's making.
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

  /// How much of the stream a request announces; nil: its end is the body's.
  static func length(of urlRequest: URLRequest) -> Int64? {
    guard let text = urlRequest.value(forHTTPHeaderField: "Content-Length"), text.utf8.allSatisfy({ $0 &- 48 < 10 })
    else { return nil }
    return Int64(text)
  }
}

extension InputStream {
  /// Reads at least a byte into a buffer that isn't empty, and says how many; 0 at the end. A stream may be of the
  /// caller's making, so its answers are checked.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    let count = read(start, maxLength: buffer.count)
    guard count >= 0 else { throw streamError ?? POSIXError(.EIO) }
    guard count <= buffer.count else { throw POSIXError(.EOVERFLOW) }
    return count
  }
}
