import WeirHTTP
import WeirTransport

/// The part of a request by which equal requests are recognized: they go to one endpoint, or to one upstream.
package enum RequestKey: Sendable, Hashable {
  case client
  case header(String)
  case cookie(String)

  /// Reads `client`, `header NAME` or `cookie NAME`.
  package init?(parsing text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    switch (words.first, words.count) {
    case ("client", 1): self = .client
    case ("header", 2) where FieldSyntax.isToken(words[1].utf8): self = .header(String(words[1]))
    case ("cookie", 2) where FieldSyntax.isToken(words[1].utf8): self = .cookie(String(words[1]))
    default: return nil
    }
  }

  /// The hash of a request's part; nil if the request has none.
  ///
  /// - Parameter client: The address of the request's sender; empty if it has none.
  func hash(_ fields: some FieldSource, client: @autoclosure () -> [UInt8]) -> UInt64? {
    switch self {
    case .client: Self.hash(client())
    case .header(let name): Self.first(name, in: fields) { EndpointKey.hash($0) }
    case .cookie(let name): Self.first("cookie", in: fields) { Self.cookie(name, in: $0).map { EndpointKey.hash($0) } }
    }
  }

  private static func hash(_ client: [UInt8]) -> UInt64? { client.isEmpty ? nil : EndpointKey.hash(client) }

  /// The first result that `body` makes of a field of this name.
  private static func first(
    _ name: String, in fields: some FieldSource, _ body: (UnsafeRawBufferPointer) -> UInt64?
  ) -> UInt64? {
    var found: UInt64?
    name.withOctets { name in
      fields.forEach { if found == nil, $0.equalsIgnoringCase(name) { found = body($1) } }
    }
    return found
  }

  /// The value of a cookie (RFC 6265 §4.2.1), whose name is compared octet by octet.
  private static func cookie(_ name: String, in value: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
    for pair in value.split(separator: UInt8(ascii: ";")) {
      let pair = pair.drop { $0 == 0x20 || $0 == 0x09 }
      guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), pair[..<equals].elementsEqual(name.utf8) else {
        continue
      }
      return pair[pair.index(after: equals)...]
    }
    return nil
  }
}
