package import WeirHTTP

/// Reads one response of HTTP/1.0 or 1.1 (RFC 9112) from a connection, from its first byte to its end. The input may be
/// cut anywhere. It refuses everything that two readers could understand differently.
///
/// The caller asks for one event at a time, so that the parser reads no further than the caller is ready for.
package struct ResponseParser: Sendable {
  package enum Event: Sendable {
    /// All input was consumed, and the response is not complete.
    case needsMore
    /// The head of an interim response (RFC 9110 §15.2); another head follows.
    case interim(ResponseHead)
    /// The final head, after which the body's framing is known.
    case head(ResponseHead)
    /// A piece of the content, as a range of the input.
    case body(Range<Int>)
    /// The response is complete. Bytes after it do not belong to it.
    case end
  }

  /// How the peer's side of a connection ended.
  package enum ConnectionEnd: Sendable {
    /// By FIN on plain TCP, by close_notify on TLS.
    case whole
    /// By a reset, or on TLS without close_notify.
    case cut
    /// By one of the two, without a way to know which.
    case unknown
  }

  private enum Stage {
    /// The head of a tunnel, which nobody has sent.
    case established
    case head
    case bodyless
    case sized(remaining: Int64)
    case chunked
    case upToEnd
    case ended
    case failed(ResponseDefect)
  }

  private let requestIsHead: Bool
  private let allowsSwitch: Bool
  private let maximumHeadSize: Int
  private var stage = Stage.head
  private var heads: ResponseHeadParser
  private var chunks: ChunkedCoding
  private var framing = ResponseFraming()
  private var finishedHeadBytes = 0
  private var hasBody = false

  /// Whether a byte of a response was taken.
  package private(set) var hasBegun = false
  package private(set) var interimCount = 0
  /// The final status line's; nil before the final head.
  package private(set) var version: HTTPVersionNumber?
  /// The final status; 0 before the final head.
  package private(set) var status = 0

  /// The limit for all heads together, as a multiple of the limit for one.
  private static let headsInAll = 8
  /// Longer than any status line without a reason.
  private static let leastHeadSize = 16

  /// - Parameters:
  ///   - requestIsHead: Whether the method was HEAD, so that the response has no body.
  ///   - allowsSwitch: Whether the request asked for another protocol, so that 101 is its final response, and all bytes
  ///     behind it are a body that the connection's end ends.
  ///   - maximumHeadSize: The limit in bytes for each head, from the status line to the blank line, and for trailers.
  package init(
    requestIsHead: Bool, allowsSwitch: Bool = false, maximumHeadSize: Int
  ) {
    self.requestIsHead = requestIsHead
    self.allowsSwitch = allowsSwitch
    // Sums of clamped sizes can't overflow.
    self.maximumHeadSize = min(max(maximumHeadSize, Self.leastHeadSize), 1 << 32)
    heads = ResponseHeadParser(maximumSize: self.maximumHeadSize)
    chunks = ChunkedCoding(maximumTrailers: self.maximumHeadSize, isTolerant: true)
  }

  /// The parser of a tunnel that was made without a request: a head with status 200, and what the connection's end ends.
  static var established: ResponseParser {
    var parser = ResponseParser(requestIsHead: false, allowsSwitch: true, maximumHeadSize: leastHeadSize)
    parser.stage = .established
    parser.hasBegun = true
    return parser
  }

  /// Content-Length of the final head; a response to HEAD and a 304 may have one and no body.
  package var contentLength: Int64? { framing.contentLength }

  /// Whether the final head says that a body is chunked.
  package var isChunked: Bool { framing.isChunked }

  /// The bytes of all heads and trailers so far, as received.
  @inline(__always)
  package var headBytes: Int { finishedHeadBytes + heads.heldCount + chunks.trailerOctets }

  /// Whether the connection may serve another request once the response has ended (RFC 9112 §9.3).
  @inline(__always)
  package var keepsAlive: Bool {
    guard isReusable, let version else { return false }
    // A chunked response of HTTP/1.0 has faulty framing (RFC 9112 §6.1).
    return !framing.saysClose && (version == .http1_1 || framing.saysKeepAlive && !framing.isChunked)
  }

  /// Takes bytes and returns the next event; the first `consumed` bytes of the input are done with. The caller calls
  /// again with the rest, which may be empty, until the event is `.needsMore` or `.end`.
  package mutating func next(
    _ input: UnsafeRawBufferPointer
  ) throws(ResponseDefect) -> (event: Event, consumed: Int) {
    do throws(ResponseDefect) {
      return try advance(input)
    } catch {
      throw fail(error)
    }
  }

  /// Takes the end of the connection. A response that is complete by now has the event `.end`; any other one is cut.
  package mutating func connectionEnded(_ end: ConnectionEnd) throws(ResponseDefect) -> Event {
    switch stage {
    case .bodyless, .sized(remaining: 0), .ended: stage = .ended
    case .upToEnd where end == .whole: stage = .ended
    case .upToEnd where end == .unknown: throw fail(.unprovableEnd)
    case .head where interimCount == 0 && heads.statusLine == nil: throw fail(.noResponse)
    case .head: throw fail(.cutHead)
    case .established, .sized, .chunked, .upToEnd: throw fail(.cutBody)
    case .failed(let defect): throw defect
    }
    return .end
  }

  @inline(__always)
  private var isReusable: Bool {
    guard status != 101 else { return false }
    // A 204 that announces a body (RFC 9110 §8.6, RFC 9112 §6.1) may be followed by one.
    if status == 204, framing.isChunked || framing.contentLength ?? 0 > 0 { return false }
    return !hasBody || framing.isChunked || framing.contentLength != nil
  }

  private mutating func advance(
    _ input: UnsafeRawBufferPointer
  ) throws(ResponseDefect) -> (event: Event, consumed: Int) {
    switch stage {
    case .established:
      stage = .upToEnd
      status = 200
      let text = "HTTP/1.1 200 Connection established\r\n\r\n"
      return (.head(ResponseHead(status: status, version: .http1_1, bytes: Array(text.utf8))), 0)
    case .head: return try takeHead(input)
    case .bodyless, .sized(remaining: 0), .ended:
      stage = .ended
      return (.end, 0)
    case .sized(let remaining):
      guard !input.isEmpty else { return (.needsMore, 0) }
      let count = Int(min(remaining, Int64(input.count)))
      stage = .sized(remaining: remaining - Int64(count))
      return (.body(0..<count), count)
    case .chunked: return try takeChunks(input)
    case .upToEnd: return input.isEmpty ? (.needsMore, 0) : (.body(0..<input.count), input.count)
    case .failed(let defect): throw defect
    }
  }

  private mutating func takeHead(
    _ input: UnsafeRawBufferPointer
  ) throws(ResponseDefect) -> (event: Event, consumed: Int) {
    guard !input.isEmpty else { return (.needsMore, 0) }
    hasBegun = true
    var position = 0
    guard let head = try heads.parse(input, at: &position) else { return (.needsMore, position) }
    guard headBytes <= maximumHeadSize * Self.headsInAll, let line = heads.statusLine else { throw .headTooLarge }
    if line.isInterim {
      try countInterim()
      return (.interim(head), position)
    }
    try beginBody(line, heads.framing)
    return (.head(head), position)
  }

  private mutating func countInterim() throws(ResponseDefect) {
    guard interimCount < ResponseHead.mostInterim else { throw .tooManyInterimResponses }
    interimCount += 1
    finishedHeadBytes += heads.heldCount
    heads.reset()
  }

  private mutating func beginBody(_ line: StatusLine, _ framing: ResponseFraming) throws(ResponseDefect) {
    // HTTP/1.0 knows no Upgrade (RFC 9110 §7.8).
    guard line.status != 101 || allowsSwitch && line.version == .http1_1 else {
      throw .malformedHead(.switchedProtocol)
    }
    // A length would not be that of another protocol's bytes.
    self.framing = line.status == 101 ? ResponseFraming() : framing
    finishedHeadBytes += heads.heldCount
    heads.release()
    status = line.status
    version = line.version
    hasBody = line.mayHaveBody && !requestIsHead
    if line.status == 101 {
      stage = .upToEnd
    } else if !hasBody {
      stage = .bodyless
    } else if framing.isChunked {
      stage = .chunked
    } else if let length = framing.contentLength {
      stage = .sized(remaining: length)
    } else {
      stage = .upToEnd
    }
  }

  private mutating func takeChunks(
    _ input: UnsafeRawBufferPointer
  ) throws(ResponseDefect) -> (event: Event, consumed: Int) {
    var position = 0
    do throws(ChunkedCoding.Defect) {
      switch try chunks.parse(input, at: &position) {
      case .data(let range): return (.body(range), position)
      case .needsInput: return (.needsMore, position)
      case .end:
        stage = .ended
        return (.end, position)
      }
    } catch {
      throw .malformedChunks(error)
    }
  }

  private mutating func fail(_ defect: ResponseDefect) -> ResponseDefect {
    stage = .failed(defect)
    return defect
  }
}
