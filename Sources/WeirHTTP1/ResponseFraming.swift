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

  /// Whether `take` may have something to say about a field with a name of so many octets.
  @inline(__always)
  static func mayConcern(nameOf count: Int) -> Bool { count == 10 || count == 14 || count == 16 || count == 17 }

  /// Takes in a field that does not concern the framing.
  @inline(__always)
  mutating func takeOther() { previous = .other }

  /// Takes in a field by the ranges of its name and its value in `octets`; blanks around the value are dropped.
  mutating func take(
    name: Range<Int>, value: Range<Int>, in octets: UnsafeRawBufferPointer
  ) throws(ResponseDefect) {
    previous = .other
    let value = octets.trimmed(value)
    switch name.count {
    case 10 where octets.isToken(in: name, named: "connection"):
      previous = .connection
      takeConnection(octets.octets(value))
    case 14 where octets.isToken(in: name, named: "content-length"):
      previous = .contentLength
      guard octets[name.upperBound] == .colon else { throw .malformedHead(.contentLength) }
      try takeContentLength(octets.octets(value))
    case 16 where octets.isToken(in: name, named: "content-encoding"): isEncoded = true
    case 17 where octets.octets(name).spells("transfer-encoding"):
      previous = .transferEncoding
      guard octets[name.upperBound] == .colon else { throw .refusedTransferEncoding }
      try takeCoding(octets.octets(value))
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
    if value.isToken(in: 0..<value.count, named: "keep-alive") {
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
  private mutating func takeContentLength(_ value: UnsafeRawBufferPointer) throws(ResponseDefect) {
    guard value.count < 19, let length = value.decimal else { throw .malformedHead(.contentLength) }
    if isChunked { throw .malformedHead(.bothFramings) }
    if let contentLength, contentLength != length { throw .conflictingLengths }
    contentLength = length
  }

  /// Accepts only `chunked`, the one coding that every HTTP/1.1 client knows.
  private mutating func takeCoding(_ value: UnsafeRawBufferPointer) throws(ResponseDefect) {
    guard value.spells("chunked"), !isChunked else { throw .refusedTransferEncoding }
    if contentLength != nil { throw .malformedHead(.bothFramings) }
    isChunked = true
  }
}
