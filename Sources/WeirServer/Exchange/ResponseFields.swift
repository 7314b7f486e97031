import WeirHTTP

/// The header fields of a response, rendered as they are added.
///
/// `Content-Length`, `Transfer-Encoding`, `Connection` and `Keep-Alive` are the server's own and are left out. Control
/// characters in values, other than the tab, become spaces (RFC 9110 §5.5): some clients refuse a whole response for
/// one of them. A field whose name isn't a token is left out.
package struct ResponseFields: Sendable, ExpressibleByDictionaryLiteral {
  package private(set) var bytes: [UInt8] = []
  /// Whether a Date field was added; the server then adds none.
  package private(set) var hasDate = false
  /// Whether there is an Upgrade field, which needs an option in Connection (RFC 9110 §7.8).
  private(set) var hasUpgrade = false
  /// Whether there were control characters in a value.
  package private(set) var isRepaired = false

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

  /// Adds a field of which the line is known to be as it is written here: a token, a colon, a space, a value without control
  /// characters, CR LF.
  package mutating func add(name: UnsafeRawBufferPointer, inLine line: UnsafeRawBufferPointer) {
    if !isReserved(name) { bytes.append(contentsOf: line) }
  }

  /// - Returns: false when the field was left out.
  @discardableResult
  package mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
    guard FieldSyntax.isToken(name), !isReserved(name) else { return false }
    let start = bytes.count + name.count + 2
    bytes.append(field: name, ": ", value, "\r\n")
    if value.hasControl(in: 0..<value.count) {
      isRepaired = true
      for index in start..<start + value.count where !bytes[index].isFieldContent { bytes[index] = .space }
    }
    return true
  }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    (hasDate, hasUpgrade, isRepaired) = (false, false, false)
  }

  private mutating func isReserved(_ name: UnsafeRawBufferPointer) -> Bool {
    switch name.count {
    case 4 where name.spells("date"):
      hasDate = true
      return false
    case 7 where name.spells("upgrade"):
      hasUpgrade = true
      return false
    case 10: return name.spells("connection") || name.spells("keep-alive")
    case 14: return name.spells("content-length")
    case 17: return name.spells("transfer-encoding")
    default: return false
    }
  }
}
