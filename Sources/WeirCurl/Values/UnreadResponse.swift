import WeirHTTP

/// The part of an HTTP/1 response that had arrived when libcurl gave up its connection, and how much of it has been
/// read.
///
/// The head's lines are handed to the reader of heads. The body is delimited here by the framing of that head (RFC 9112
/// §6.3). A close-delimited body counts as cut, as its connection ended by a failure.
struct UnreadResponse {
  /// A piece of the body.
  enum Piece: Equatable {
    case bytes(Range<Int>)
    /// The body is complete.
    case end
    /// The body ends too early, or its chunks are malformed.
    case cut
  }

  private enum Place {
    case body(left: Int64)
    case bodyToEnd
    case chunks(ChunkedCoding)
    case end
    case cut
  }

  let bytes: [UInt8]
  private var position = 0
  private var place = Place.bodyToEnd

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The next line, including its line end; nil when no complete line is left.
  mutating func line() -> Range<Int>? {
    guard let end = bytes[position...].firstIndex(of: 10) else { return nil }
    defer { position = end + 1 }
    return position..<end + 1
  }

  /// The head is over.
  mutating func bodyBegins(_ framing: ResponseFraming, hasBody: Bool) {
    if !hasBody {
      place = .end
    } else if framing.isChunked {
      // The trailers are bounded by what was kept of the response.
      place = .chunks(ChunkedCoding(maximumTrailers: bytes.count, isTolerant: true))
    } else {
      place = framing.contentLength.map { .body(left: $0) } ?? .bodyToEnd
    }
  }

  /// The next piece of the body, of at most `count` bytes.
  mutating func next(atMost count: Int) -> Piece {
    while true {
      switch place {
      case .body(let left):
        if left == 0 { return .end }
        let taken = take(min(count, Int(clamping: left)))
        place = .body(left: left - Int64(taken.count))
        return taken.isEmpty ? .cut : .bytes(taken)
      case .bodyToEnd:
        let taken = take(count)
        return taken.isEmpty ? .cut : .bytes(taken)
      case .chunks(let coding):
        if let piece = takeChunks(coding, atMost: count) { return piece }
      case .end: return .end
      case .cut: return .cut
      }
    }
  }

  private mutating func take(_ count: Int) -> Range<Int> {
    let end = min(bytes.count, position + count)
    defer { position = end }
    return position..<end
  }

  /// The next piece of a chunked body among the next `count` bytes; nil if they have only framing.
  private mutating func takeChunks(_ coding: ChunkedCoding, atMost count: Int) -> Piece? {
    guard position < bytes.count else { return .cut }
    let end = position + min(count, bytes.count - position)
    var coding = coding
    var next = position
    do throws(ChunkedCoding.Defect) {
      let step = try bytes.span.extracting(0..<end).withUnsafeBytes { (bytes) throws(ChunkedCoding.Defect) in
        try coding.parse(bytes, at: &next)
      }
      position = next
      place = .chunks(coding)
      switch step {
      case .data(let range): return .bytes(range)
      case .end: place = .end
      case .needsInput: break
      }
    } catch {
      place = .cut
    }
    return nil
  }
}
