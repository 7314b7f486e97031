/// The header fields of a response, rendered as they are added.
///
/// `Content-Length`, `Transfer-Encoding`, `Connection` and `Keep-Alive` are the server's own and are left out. NUL, CR
/// and LF in values become spaces (RFC 9110 §5.5); a field whose name isn't a token is left out.
package struct ResponseFields: Sendable, ExpressibleByDictionaryLiteral {
  package private(set) var bytes: [UInt8] = []
  /// Whether a Date was added; the server adds none then.
  package private(set) var hasDate = false

  package init() {}

  package init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }

  /// - Returns: false when the field was left out.
  @discardableResult
  package mutating func add(_ name: String, _ value: String) -> Bool { true }

  @discardableResult
  package mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool { true }
}
