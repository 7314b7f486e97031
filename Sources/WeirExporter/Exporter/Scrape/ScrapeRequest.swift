import WeirHTTP
package import WeirMetrics

/// A request to `/metrics`: the page that it asks for, and its timeout.
package struct ScrapeRequest: Hashable, Sendable {
  /// The properties that determine the page. Requests with equal ones can be answered with the same bytes.
  package struct Variant: Hashable, Sendable {
    package let format: Exposition.Format
    package let coding: PageCoding
    /// The names of the metrics to show; nil shows all.
    package let names: Set<String>?
  }

  /// The response to a request that gets no page.
  package struct Refusal: Error, Hashable {
    let status: Int
    let text: String

    static let malformedFilter = Self(status: 400, text: "a name[] in the query is not percent-encoded UTF-8\n")
    static let noAcceptableCoding = Self(
      status: 406, text: "Accept-Encoding refuses both gzip and identity, the only codings there are\n")
  }

  package let variant: Variant
  /// Seconds within which the request must be answered.
  package let timeout: Double

  /// - Parameters: The values of the header fields with these names; nil if the request has none.
  package init(
    query: String?, accept: String?, acceptEncoding: String?, announcedTimeout: String?, timeoutLimit: Double
  ) throws(Refusal) {
    guard let coding = PageCoding(acceptEncoding: acceptEncoding) else { throw .noAcceptableCoding }
    let names: [String]
    do throws(QueryItems.Malformed) {
      names = try QueryItems(query ?? "").values(of: "name[]")
    } catch {
      throw .malformedFilter
    }
    let format = Exposition.Format(accept: accept)
    variant = Variant(format: format, coding: coding, names: names.isEmpty ? nil : Set(names))
    timeout = ScrapeTimeout.seconds(announcedTimeout, limit: timeoutLimit)
  }
}

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
        guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
