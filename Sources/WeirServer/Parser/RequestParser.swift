/// Reads requests of HTTP/1.0 and 1.1 from a stream of octets cut anywhere (RFC 9112), and refuses what isn't strictly
/// one: two readings of the same octets are a hole in whatever stands behind.
///
/// The caller asks for one event at a time, so that nothing is read ahead of what it is ready for.
package struct RequestParser: Sendable {
  package struct Limits: Sendable {
    var targetBytes: Int
    var headerBytes: Int
    var headerFields: Int
    var bodyBytes: Int64?

    /// Sizes are kept in a range in which they are easily counted.
    package init(_ limits: ServerLimits) {
      targetBytes = min(max(limits.targetBytes, 1), 16 << 20)
      headerBytes = min(max(limits.headerBytes, 0), 16 << 20)
      headerFields = max(limits.headerFields, 0)
      bodyBytes = limits.bodyBytes.map { max($0, 0) }
    }
  }

  package enum Event: Sendable {
    case head(RequestHead)
    /// A piece of the body: where it lies in the input.
    case body(Range<Int>)
    /// The body, if any, is complete.
    case end
    case needsInput
    /// From here on the stream can't be trusted; all further calls report the same.
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

  /// Gives back what is held of a head; nothing more will be parsed.
  mutating func forget() {
    headParser = HeadParser(limits: limits)
  }

  /// Takes what the next event needs from `input`, beginning at `position`, which moves on.
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
      stage = .bodyless  // leaves `body` the only owner
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

  private mutating func take(_ step: ChunkedBody.Step) -> Event {
    switch step {
    case .data(let range): return .body(range)
    case .needsInput: return .needsInput
    case .end:
      stage = .head
      return .end
    }
  }
}
