import WeirHTTP

/// The facts in the fields of a response head about the body's end and about the connection (RFC 9112 §6.3, §9.3).
///
/// A head that another reader could frame differently is refused, as that reader would take one response for another.
struct ResponseFraming {
  private(set) var contentLength: Int64?
  private(set) var isChunked = false
  /// Whether there is a Content-Encoding.
  private(set) var isEncoded = false
  /// Whether Connection may name other fields: there is one with any value but `keep-alive`, or a folded line.
  private(set) var mayNameFields = false
  private(set) var saysClose = false
  private(set) var saysKeepAlive = false
  private var previous = Kind.other

  private enum Kind {
    case contentLength
    case transferEncoding
    case connection
    case other
  }

  /// Takes in a field. `field` has its ranges in `octets`.
  mutating func take(_ field: FieldLine, in octets: UnsafeRawBufferPointer) throws(ResponseDefect) {
    previous = .other
    switch field.name.count {
    case 10 where octets.isToken(in: field.name, named: "connection"):
      previous = .connection
      takeConnection(octets.octets(field.value))
    case 14 where octets.isToken(in: field.name, named: "content-length"):
      previous = .contentLength
      try takeContentLength(field, in: octets)
    case 16 where octets.isToken(in: field.name, named: "content-encoding"): isEncoded = true
    case 17 where octets.octets(field.name).spells("transfer-encoding"):
      previous = .transferEncoding
      try takeCoding(field, in: octets)
    default: break
    }
  }

  /// Takes in a line that continues the previous field (RFC 9112 §5.2).
  mutating func takeContinuation() throws(ResponseDefect) {
    mayNameFields = true
    switch previous {
    case .contentLength: throw .malformedHead(.fold)
    case .transferEncoding: throw .refusedTransferEncoding
    // The line may say `close`, or turn an option into another one.
    case .connection: saysClose = true
    case .other: break
    }
  }

  private mutating func takeConnection(_ value: UnsafeRawBufferPointer) {
    if value.spells("keep-alive") {
      saysKeepAlive = true
      return
    }
    mayNameFields = true
    for option in value.listElements {
      if option.spells("close") { saysClose = true }
      if option.spells("keep-alive") { saysKeepAlive = true }
    }
  }

  /// A length by RFC 9110 §8.6. With 19 digits or more, readers may disagree on the value.
  private mutating func takeContentLength(
    _ field: FieldLine, in octets: UnsafeRawBufferPointer
  ) throws(ResponseDefect) {
    guard field.isWellFormed(in: octets), field.value.count < 19, let length = octets.octets(field.value).decimal else {
      throw .malformedHead(.contentLength)
    }
    if isChunked { throw .malformedHead(.bothFramings) }
    if let contentLength, contentLength != length { throw .conflictingLengths }
    contentLength = length
  }

  /// Accepts only `chunked`, the one coding that every HTTP/1.1 client knows.
  private mutating func takeCoding(_ field: FieldLine, in octets: UnsafeRawBufferPointer) throws(ResponseDefect) {
    guard field.isWellFormed(in: octets), octets.octets(field.value).spells("chunked"), !isChunked else {
      throw .refusedTransferEncoding
    }
    if contentLength != nil { throw .malformedHead(.bothFramings) }
    isChunked = true
  }
}
