import WeirHTTP

/// Reads requests of HTTP/1.0 and 1.1 (RFC 9112) from a stream of octets that is cut anywhere. It refuses everything
/// that isn't strictly a request: octets that two parsers read differently are a security hole in the servers behind.
///
/// The caller asks for one event at a time, so that the parser reads no further than the caller is ready for.
package struct RequestParser: Sendable {
  package struct Limits: Sendable {
    var targetBytes: Int
    var headerBytes: Int
    var headerFields: Int
    var bodyBytes: Int64?

    /// Sizes are clamped to a range in which counting can't overflow.
    package init(_ limits: ServerLimits) {
      targetBytes = min(max(limits.targetBytes, 1), 16 << 20)
      headerBytes = min(max(limits.headerBytes, 0), 16 << 20)
      headerFields = max(limits.headerFields, 0)
      bodyBytes = limits.bodyBytes.map { max($0, 0) }
    }
  }

  package enum Event: Sendable {
    case head(RequestHead)
    /// A piece of the body, as a range of the input.
    case body(Range<Int>)
    /// The body, if any, is complete.
    case end
    case needsInput
    /// The stream can't be trusted from here on. All further calls return the same event.
    case refused(RequestRefusal)
  }

  private enum Stage {
    case head
    case bodyless
    case sized(remaining: Int64)
    case chunked(ChunkedBody)
    case refused(RequestRefusal)
  }

  private let limits: Limits
  private var headParser: HeadParser
  private var stage = Stage.head

  package init(limits: Limits) {
    self.limits = limits
    headParser = HeadParser(limits: limits)
  }

  /// Whether a part of a head has arrived.
  package var isInsideHead: Bool { headParser.isInside }

  /// Whether the request whose head is being read, or was refused, is for HEAD, as far as it has come.
  package var isForHEAD: Bool { headParser.isForHEAD }

  /// Whether the request whose head was refused waits for `100 Continue`.
  package var expectsContinue: Bool { headParser.expectsContinue }

  /// Releases the memory of a partial head; nothing more will be parsed.
  mutating func forget() {
    headParser = HeadParser(limits: limits)
  }

  /// Returns the next event. It consumes input from `position`, which it moves on.
  package mutating func next(_ input: Span<UInt8>, at position: inout Int) -> Event {
    do {
      return try advance(input, at: &position)
    } catch {
      stage = .refused(error)
      return .refused(error)
    }
  }

  private mutating func advance(_ input: Span<UInt8>, at position: inout Int) throws(RequestRefusal) -> Event {
    switch stage {
    case .head:
      guard position < input.count, let head = try headParser.parse(input, at: &position) else { return .needsInput }
      beginBody(head.bodyLength)
      return .head(head)
    case .bodyless, .sized(remaining: 0):
      stage = .head
      return .end
    case .sized(let remaining):
      guard position < input.count else { return .needsInput }
      let taken = Int(min(remaining, Int64(input.count - position)))
      position += taken
      stage = .sized(remaining: remaining - Int64(taken))
      return .body(position - taken..<position)
    case .chunked(var body):
      stage = .bodyless  // makes `body` the only owner of its value
      let step = try body.parse(input, at: &position)
      stage = .chunked(body)
      return take(step)
    case .refused(let refusal): throw refusal
    }
  }

  private mutating func beginBody(_ length: BodyLength) {
    switch length {
    case .none: stage = .bodyless
    case .length(let length): stage = .sized(remaining: length)
    case .chunked: stage = .chunked(ChunkedBody(limits: limits))
    }
  }

  private mutating func take(_ step: ChunkedCoding.Step) -> Event {
    switch step {
    case .data(let range): return .body(range)
    case .needsInput: return .needsInput
    case .end:
      stage = .head
      return .end
    }
  }
}

/// The reason why a request is refused before a handler sees it.
package struct RequestRefusal: Error, Hashable, Sendable {
  /// The status of the answer to the client.
  package let status: Int
  /// The reason for logs and the answer's body: a fixed text without any part of the request.
  package let reason: String

  static func badRequest(_ reason: String) -> RequestRefusal { RequestRefusal(status: 400, reason: reason) }

  static let plainHTTP = RequestRefusal.badRequest("this address speaks TLS; use https://")
  static let slowRequest = RequestRefusal(status: 408, reason: "the request took too long to arrive")
  static let bodyTooLarge = RequestRefusal(status: 413, reason: "the body is too large")
  static let targetTooLong = RequestRefusal(status: 414, reason: "the request target is too long")
  static let expectation = RequestRefusal(status: 417, reason: "only the expectation 100-continue is known")
  static let headerTooLarge = RequestRefusal(status: 431, reason: "the header fields are too large")
  static let methodTooLong = RequestRefusal(status: 501, reason: "the method is too long to be known")
  static let unknownCoding = RequestRefusal(status: 501, reason: "only the transfer coding chunked is known")
  static let unknownVersion = RequestRefusal(status: 505, reason: "only HTTP/1.0 and HTTP/1.1 are spoken")
}
