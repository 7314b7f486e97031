/// The facts in the fields of a response head about the body's end and about the connection (RFC 9112 §6.3, §9.3).
///
/// A head that another reader could frame differently is refused, as that reader would take one response for another.
/// It is inlinable, as every head that is forwarded is read by it.
@usableFromInline
package struct ResponseFraming: Sendable {
  @usableFromInline package internal(set) var contentLength: Int64?
  @usableFromInline package internal(set) var isChunked = false
  /// Whether there is a Content-Encoding.
  @usableFromInline package internal(set) var isEncoded = false
  /// Whether Connection may name other fields: there is one with any value but `keep-alive`, or a folded line.
  @usableFromInline package internal(set) var mayNameFields = false
  @usableFromInline package internal(set) var saysClose = false
  @usableFromInline package internal(set) var saysKeepAlive = false
  @usableFromInline var previous = Line.status

  @usableFromInline
  enum Line: Sendable {
    case status
    case contentLength
    case transferEncoding
    case connection
    case other
  }

  @inlinable package init() {}

  /// Whether only the end of the connection would end a body.
  package var endsWithConnection: Bool { contentLength == nil && !isChunked }

  /// Whether a field was taken in.
  @inlinable
  package var hasFields: Bool { if case .status = previous { false } else { true } }

  /// Whether `take` may have something to say about a field with a name of so many octets.
  @inlinable @inline(__always)
  package static func mayConcern(nameOf count: Int) -> Bool { count == 10 || count == 14 || count == 16 || count == 17 }

  /// Takes in a field that does not concern the framing.
  @inlinable @inline(__always)
  package mutating func takeOther() { previous = .other }

  /// Takes in a field by the ranges of its name, a token, and of its value, which has no line break; blanks around the
  /// value are dropped.
  @inlinable
  package mutating func take(
    name: Range<Int>, value: Range<Int>, in octets: UnsafeRawBufferPointer
  ) throws(ResponseDefect) {
    previous = .other
    let value = octets.trimmed(value)
    switch name.count {
    case 10 where octets.isToken(in: name, named: "connection"):
      previous = .connection
      if octets.isToken(in: value, named: "keep-alive") {
        saysKeepAlive = true
      } else {
        takeConnection(octets.octets(value))
      }
    case 14 where octets.isToken(in: name, named: "content-length"):
      try takeContentLength(name: name, value: value, in: octets)
    case 16 where octets.isToken(in: name, named: "content-encoding"): isEncoded = true
    case 17 where octets.octets(name).spells("transfer-encoding"):
      try takeCoding(name: name, value: value, in: octets)
    default: break
    }
  }

  /// Takes in a line that was not checked, with its end. libcurl accepts heads that are ambiguous.
  package mutating func take(uncheckedLine line: UnsafeRawBufferPointer) throws(ResponseDefect) {
    let first = line.first ?? 0
    if first.isBlank { return try takeContinuation() }
    previous = .other
    switch first.lowercased {
    case UInt8(ascii: "c"):
      if let field = FieldLine(line, named: "content-length") {
        try takeContentLength(name: field.name, value: field.value, in: line)
      } else if FieldLine(line, named: "content-encoding") != nil {
        isEncoded = true
      } else if let field = FieldLine(line, named: "connection") {
        previous = .connection
        takeConnection(line.octets(field.value))
      }
    case UInt8(ascii: "t"):
      guard let field = FieldLine(line, named: "transfer-encoding") else { return }
      try takeCoding(name: field.name, value: field.value, in: line)
    default: break
    }
  }

  /// Takes in a line that continues the one before (RFC 9112 §5.2).
  package mutating func takeContinuation() throws(ResponseDefect) {
    mayNameFields = true
    switch previous {
    case .status, .contentLength: throw .malformedHead(.fold)
    case .transferEncoding: throw .refusedTransferEncoding
    // The line may say `close`, or turn an option into another one.
    case .connection: saysClose = true
    case .other: break
    }
  }

  @inlinable
  mutating func takeConnection(_ value: UnsafeRawBufferPointer) {
    if !value.spells("keep-alive") { mayNameFields = true }
    for option in value.listElements {
      if option.spells("close") { saysClose = true }
      if option.spells("keep-alive") { saysKeepAlive = true }
    }
  }

  /// A length by RFC 9110 §8.6. With 19 digits or more, readers may disagree on the value.
  @inlinable
  mutating func takeContentLength(
    name: Range<Int>, value: Range<Int>, in octets: UnsafeRawBufferPointer
  ) throws(ResponseDefect) {
    previous = .contentLength
    guard octets[name.upperBound] == .colon, value.count < 19, let length = octets.octets(value).decimal else {
      throw .malformedHead(.contentLength)
    }
    if isChunked { throw .malformedHead(.bothFramings) }
    if let contentLength, contentLength != length { throw .conflictingLengths }
    contentLength = length
  }

  /// Accepts only `chunked`, the one coding that every HTTP/1.1 client knows.
  @inlinable
  mutating func takeCoding(
    name: Range<Int>, value: Range<Int>, in octets: UnsafeRawBufferPointer
  ) throws(ResponseDefect) {
    previous = .transferEncoding
    guard octets[name.upperBound] == .colon, octets.octets(value).spells("chunked"), !isChunked else {
      throw .refusedTransferEncoding
    }
    if contentLength != nil { throw .malformedHead(.bothFramings) }
    isChunked = true
  }
}
