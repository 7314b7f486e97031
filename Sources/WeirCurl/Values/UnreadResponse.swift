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
    case chunkSize
    case chunk(left: Int64)
    case chunkEnd
    case trailers
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
      place = .chunkSize
    } else {
      place = framing.contentLength < 0 ? .bodyToEnd : .body(left: framing.contentLength)
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
      case .chunkSize: place = chunkSize()
      case .chunk(let left):
        let taken = take(min(count, Int(clamping: left)))
        place = left == Int64(taken.count) ? .chunkEnd : .chunk(left: left - Int64(taken.count))
        return taken.isEmpty ? .cut : .bytes(taken)
      case .chunkEnd: place = text(line()) == [] ? .chunkSize : .cut
      case .trailers:
        guard let line = text(line()) else { return .cut }
        if line.isEmpty { place = .end }
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

  /// A chunk's size (RFC 9112 §7.1): hexadecimal digits. Extensions are ignored.
  private mutating func chunkSize() -> Place {
    guard let line = text(line()) else { return .cut }
    let digits = line.prefix { $0 != UInt8(ascii: ";") && !$0.isBlank }
    guard !digits.isEmpty, digits.count <= 16, let size = Int64(String(decoding: digits, as: UTF8.self), radix: 16),
      size >= 0, digits.first != UInt8(ascii: "+")
    else { return .cut }
    return size == 0 ? .trailers : .chunk(left: size)
  }

  /// A line without its end.
  private func text(_ line: Range<Int>?) -> ArraySlice<UInt8>? {
    guard let line else { return nil }
    let text = bytes[line].dropLast()
    return text.last == 13 ? text.dropLast() : text
  }
}
