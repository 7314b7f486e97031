import WeirHTTP

/// The facts in the header fields about the end of the body and about the connection (RFC 9112 §6, §9.3).
///
/// Requests are smuggled past a gateway in messages that two parsers read differently, so every ambiguity is refused.
struct RequestFraming {
  private(set) var host: Range<Int>?
  private(set) var expectsContinue = false
  private var contentLength: Int64?
  /// Whether there is a Transfer-Encoding, whether it names `chunked`, and whether it names other codings.
  private var hasCodings = false
  private var isChunked = false
  private var hasOtherCodings = false
  private var saysClose = false
  private var saysKeepAlive = false
  /// Whether Connection names other fields.
  private(set) var namesFields = false

  /// Takes in the field `name: value`, if it matters here. `place` is the value's range in the head.
  mutating func take(
    name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, at place: Range<Int>
  ) throws(RequestRefusal) {
    switch name.count {
    case 4 where name.spells("host"): try takeHost(value, at: place)
    case 6 where name.spells("expect"): try takeExpectation(value)
    case 10 where name.spells("connection"): takeConnection(value)
    case 14 where name.spells("content-length"): try takeContentLength(value)
    case 17 where name.spells("transfer-encoding"): try takeCodings(value)
    default: break
    }
  }

  /// The body's length, to be asked once all fields have been taken in.
  ///
  /// - Parameter opensTunnel: Whether the request is a CONNECT: what follows its head is for the tunnel
  ///   (RFC 9110 §9.3.6).
  func bodyLength(
    version: RequestHead.Version, limit: Int64?, opensTunnel: Bool
  ) throws(RequestRefusal) -> BodyLength {
    if version == .http11, host == nil { throw .badRequest("a request of HTTP/1.1 needs a Host field") }
    if opensTunnel {
      guard !hasCodings, contentLength ?? 0 == 0 else { throw .badRequest("CONNECT has no body") }
      return .none
    }
    if hasCodings {
      guard contentLength == nil else { throw .badRequest("Content-Length and Transfer-Encoding exclude each other") }
      guard version == .http11 else { throw .badRequest("HTTP/1.0 knows no Transfer-Encoding") }
      guard isChunked, !hasOtherCodings else { throw .unknownCoding }
      return .chunked
    }
    guard let contentLength else { return .none }
    if let limit, contentLength > limit { throw .bodyTooLarge }
    return .length(contentLength)
  }

  func keepsAlive(version: RequestHead.Version) -> Bool {
    !saysClose && (version == .http11 || saysKeepAlive)
  }

  private mutating func takeHost(_ value: UnsafeRawBufferPointer, at place: Range<Int>) throws(RequestRefusal) {
    guard host == nil else { throw .badRequest("more than one Host field") }
    guard Authority.isValid(value.bindMemory(to: UInt8.self).span) else {
      throw .badRequest("the Host field is malformed")
    }
    host = place
  }

  private mutating func takeExpectation(_ value: UnsafeRawBufferPointer) throws(RequestRefusal) {
    guard !expectsContinue else { throw .badRequest("more than one Expect field") }
    guard value.spells("100-continue") else { throw .expectation }
    expectsContinue = true
  }

  private mutating func takeConnection(_ value: UnsafeRawBufferPointer) {
    for option in value.listElements {
      if option.spells("close") {
        saysClose = true
      } else if option.spells("keep-alive") {
        saysKeepAlive = true
      } else if !option.isEmpty {
        namesFields = true
      }
    }
  }

  /// RFC 9110 §8.6: only digits. Repetitions, which a recipient may accept if they agree, are refused.
  private mutating func takeContentLength(_ value: UnsafeRawBufferPointer) throws(RequestRefusal) {
    guard contentLength == nil else { throw .badRequest("more than one Content-Length") }
    guard let length = value.decimal else {
      throw .badRequest("Content-Length is not a number")
    }
    guard length < .max else { throw .bodyTooLarge }
    contentLength = length
  }

  /// RFC 9112 §6.1, §6.3: `chunked` must come once and last, or the end of the body can't be known.
  private mutating func takeCodings(_ value: UnsafeRawBufferPointer) throws(RequestRefusal) {
    var isMisplaced = value.count == 0
    hasCodings = true
    for coding in value.listElements {
      if isChunked { isMisplaced = true }
      if coding.spells("chunked") { isChunked = true } else { hasOtherCodings = true }
    }
    if isMisplaced { throw .badRequest("the transfer coding chunked must come once, and last") }
  }
}
