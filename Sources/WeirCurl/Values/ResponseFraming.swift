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
    // It may continue a Connection field.
    announcesClose = true
    guard mustNotContinue else { return nil }
    return isChunked ? .refusedTransferEncoding : malformed("a folded line where the framing is decided")
  }

  private mutating func noteContentOrConnection(_ line: UnsafeRawBufferPointer) -> TransferError.Kind? {
    guard let field = FieldLine(line, named: "content-length") else {
      noteEncodingOrConnection(line)
      return nil
    }
    mustNotContinue = true
    guard field.isWellFormed(in: line), let length = Self.length(line.octets(field.value)) else {
      return malformed("a Content-Length that is no number")
    }
    if isChunked { return malformed("both a Transfer-Encoding and a Content-Length") }
    if contentLength >= 0, contentLength != length { return .conflictingLengths }
    contentLength = length
    return nil
  }

  private mutating func noteEncodingOrConnection(_ line: UnsafeRawBufferPointer) {
    if FieldLine(line, named: "content-encoding") != nil {
      isEncoded = true
    } else if let field = FieldLine(line, named: "connection"), !line.octets(field.value).spells("keep-alive") {
      announcesClose = true
    }
  }

  /// RFC 9110 §8.6; with more digits than any length needs, some would read another one.
  private static func length(_ value: UnsafeRawBufferPointer) -> Int64? {
    value.count < 19 ? value.decimal : nil
  }

  /// The one coding that may be there is the one that every client of HTTP/1.1 knows.
  private mutating func noteCoding(_ line: UnsafeRawBufferPointer) -> TransferError.Kind? {
    guard let field = FieldLine(line, named: "transfer-encoding") else { return nil }
    mustNotContinue = true
    guard field.isWellFormed(in: line), line.octets(field.value).spells("chunked"), !isChunked else {
      return .refusedTransferEncoding
    }
    if contentLength >= 0 { return malformed("both a Transfer-Encoding and a Content-Length") }
    isChunked = true
    return nil
  }

  private mutating func malformed(_ what: String) -> TransferError.Kind {
    defect = "the response head has \(what)"
    return .malformedHead
  }
}
