import WeirHTTP

/// What the fields of a response head say about where the response ends (RFC 9112 §6.3). libcurl believes more than can be
/// sure; a head that others could read differently is refused, as whoever reads on would take one response for another.
struct ResponseFraming {
  /// Content-Length; −1 when there is none.
  private(set) var contentLength: Int64 = -1
  private(set) var isChunked = false
  /// Whether there is a Content-Encoding.
  private(set) var isEncoded = false
  /// Whether there may be `Connection: close`: any value but `keep-alive`.
  private(set) var announcesClose = false
  /// In words, what made the head malformed.
  var defect: String?
  /// Whether the line before decides about the framing, so that a folded line would change it.
  private var mustNotContinue = true

  /// Whether nothing but the end of the connection ends the body, if there is one.
  var endsWithConnection: Bool { contentLength < 0 && !isChunked }

  /// Takes note of a line after the status line; the failure when the response can't be trusted.
  mutating func note(_ line: UnsafeRawBufferPointer) -> TransferError.Kind? {
    let first = line.first ?? 0
    if first.isBlank { return noteContinuation() }
    mustNotContinue = false
    switch first | 32 {
    case UInt8(ascii: "c"): return noteContentOrConnection(line)
    case UInt8(ascii: "t"): return noteCoding(line)
    default: return nil
    }
  }

  private mutating func noteContinuation() -> TransferError.Kind? {
    guard mustNotContinue else { return nil }
    return isChunked ? .refusedTransferEncoding : malformed("a folded line where the framing is decided")
  }

  private mutating func noteContentOrConnection(_ line: UnsafeRawBufferPointer) -> TransferError.Kind? {
    guard let field = HeaderLine(line, named: .contentLength) else {
      if HeaderLine.isContentEncoding(line) { isEncoded = true }
      if let connection = HeaderLine(line, named: .connection), !connection.isKeepAlive { announcesClose = true }
      return nil
    }
    mustNotContinue = true
    guard field.isWellFormed, let length = field.number else { return malformed("a Content-Length that is no number") }
    if isChunked { return malformed("both a Transfer-Encoding and a Content-Length") }
    if contentLength >= 0, contentLength != length { return .conflictingLengths }
    contentLength = length
    return nil
  }

  private mutating func noteCoding(_ line: UnsafeRawBufferPointer) -> TransferError.Kind? {
    guard let field = HeaderLine(line, named: .transferEncoding) else { return nil }
    mustNotContinue = true
    guard field.isWellFormed, field.isChunked, !isChunked else { return .refusedTransferEncoding }
    if contentLength >= 0 { return malformed("both a Transfer-Encoding and a Content-Length") }
    isChunked = true
    return nil
  }

  private mutating func malformed(_ what: String) -> TransferError.Kind {
    defect = "the response head has \(what)"
    return .malformedHead
  }
}
