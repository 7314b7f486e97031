import WeirHTTP

/// Names and values of a query in the form that browsers send (WHATWG URL, `application/x-www-form-urlencoded`).
package struct QueryItems: Sendable {
  /// Thrown for a pair whose percent-encoding is broken, or whose bytes aren't UTF-8.
  package struct Malformed: Error, Hashable {}

  private let query: Substring

  package init(_ query: String) {
    self.query = Substring(query)
  }

  /// The values of `name`, in their order.
  /// - Throws: ``Malformed`` if one of them can't be decoded. Other pairs may be broken.
  package func values(of name: String) throws(Malformed) -> [String] {
    var values: [String] = []
    for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
      let key = pair.prefix { $0 != UInt8(ascii: "=") }
      guard Self.decoded(key) == name else { continue }
      guard let value = Self.decoded(pair[key.endIndex...].dropFirst()) else { throw Malformed() }
      values.append(value)
    }
    return values
  }

  private static func decoded(_ text: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else {
          return nil
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
