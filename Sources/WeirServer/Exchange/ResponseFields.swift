import WeirHTTP

/// The header fields of a response, rendered as they are added.
///
/// `Content-Length`, `Transfer-Encoding`, `Connection` and `Keep-Alive` are the server's own and are left out. NUL, CR
/// and LF in values become spaces (RFC 9110 §5.5); a field whose name isn't a token is left out.
package struct ResponseFields: Sendable, ExpressibleByDictionaryLiteral {
  package private(set) var bytes: [UInt8] = []
  /// Whether a Date field was added; the server then adds none.
  package private(set) var hasDate = false

  package init() {}

  package init(reservingBytes count: Int) {
    bytes.reserveCapacity(count)
  }

  package init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }

  /// - Returns: false when the field was left out.
  @discardableResult
  package mutating func add(_ name: String, _ value: String) -> Bool {
    name.withOctets { name in value.withOctets { value in add(name: name, value: value) } }
  }

  /// - Returns: false when the field was left out.
  @discardableResult
  package mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
    guard FieldSyntax.isToken(name), !isReserved(name) else { return false }
    let start = bytes.count + name.count + 2
    bytes.append(field: name, ": ", value, "\r\n")
    if value.hasBreak(in: 0..<value.count) {
      for index in start..<start + value.count where isForbidden(bytes[index]) { bytes[index] = .space }
    }
    return true
  }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    hasDate = false
  }

  private func isForbidden(_ octet: UInt8) -> Bool {
    octet == .carriageReturn || octet == .lineFeed || octet == 0
  }

  private mutating func isReserved(_ name: UnsafeRawBufferPointer) -> Bool {
    switch name.count {
    case 4 where name.spells("date"):
      hasDate = true
      return false
    case 10: return name.spells("connection") || name.spells("keep-alive")
    case 14: return name.spells("content-length")
    case 17: return name.spells("transfer-encoding")
    default: return false
    }
  }
}
