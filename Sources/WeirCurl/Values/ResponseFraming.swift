import WeirHTTP

/// The framing of a response, from the fields of its head (RFC 9112 §6.3). libcurl accepts heads that are ambiguous. A
/// head that another reader could frame differently is refused here, as that reader would take one response for
/// another.
struct ResponseFraming {
  /// Content-Length; −1 when there is no such field.
  private(set) var contentLength: Int64 = -1
  private(set) var isChunked = false
  /// Whether there is a Content-Encoding.
  private(set) var isEncoded = false
  /// Whether there may be a `Connection: close`: there is a Connection field with any value but `keep-alive`.
  private(set) var announcesClose = false
  /// The defect of a malformed head, in words.
  var defect: String?
  /// Whether the previous line decides the framing, so that a folded line would change it.
  private var mustNotContinue = true

  /// Whether only the end of the connection would end a body.
  var endsWithConnection: Bool { contentLength < 0 && !isChunked }

  /// Records a line after the status line. Returns a failure if the response can't be trusted.
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
    // The folded line may continue a Connection field.
    announcesClose = true
    guard mustNotContinue else { return nil }
    return isChunked ? .refusedTransferEncoding : malformed("a folded line after the status line or a framing field")
  }

  private mutating func noteContentOrConnection(_ line: UnsafeRawBufferPointer) -> TransferError.Kind? {
    guard let field = FieldLine(line, named: "content-length") else {
      noteEncodingOrConnection(line)
      return nil
    }
    mustNotContinue = true
    guard field.isWellFormed(in: line), let length = Self.length(line.octets(field.value)) else {
      return malformed("a Content-Length that is not a number")
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

  /// A length by RFC 9110 §8.6. With 19 digits or more, readers may disagree on the value.
  private static func length(_ value: UnsafeRawBufferPointer) -> Int64? {
    value.count < 19 ? value.decimal : nil
  }

  /// Accepts only `chunked`, the one coding that every HTTP/1.1 client knows.
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
