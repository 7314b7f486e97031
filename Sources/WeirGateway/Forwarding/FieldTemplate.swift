import WeirHTTP

/// A header field of a route's rules. Its value may have places that are filled for each request: `{client}`, `{host}`,
/// `{listener}` and `{scheme}`. `{route}` is the same for all requests of a route. All other text is sent as written.
struct FieldTemplate: Sendable {
  /// The facts about a request that values may name. The bytes are valid during the call.
  struct Facts {
    /// The client's IP address without brackets; empty if there is none (a Unix socket).
    let address: UnsafeRawBufferPointer
    /// The host and port that the client asked for; empty if it named none.
    let authority: UnsafeRawBufferPointer
    /// The name of the listener to which the request came.
    let listener: [UInt8]
    /// Whether the client speaks TLS.
    let isSecure: Bool
  }

  private enum Piece {
    case text([UInt8])
    case client
    case host
    case listener
    case scheme
  }

  let name: [UInt8]
  private let pieces: [Piece]

  /// - Parameter route: The name of the route.
  init(_ rule: HeaderRule, route: String) {
    name = Array(rule.name.utf8)
    var pieces: [Piece] = []
    var text: [UInt8] = []
    var rest = rule.value[...]
    while let next = rest.first {
      guard let (place, length) = Self.place(rest, route: route) else {
        text += String(next).utf8
        rest.removeFirst()
        continue
      }
      rest.removeFirst(length)
      if case .text(let fixed) = place {
        text += fixed
      } else {
        pieces += [.text(text), place]
        text = []
      }
    }
    self.pieces = pieces + [.text(text)]
  }

  private static func place(_ rest: Substring, route: String) -> (Piece, length: Int)? {
    guard rest.first == "{" else { return nil }
    if rest.hasPrefix("{client}") { return (.client, 8) }
    if rest.hasPrefix("{host}") { return (.host, 6) }
    if rest.hasPrefix("{listener}") { return (.listener, 10) }
    if rest.hasPrefix("{scheme}") { return (.scheme, 8) }
    return rest.hasPrefix("{route}") ? (.text(Array(route.utf8)), 7) : nil
  }

  /// The value, if it is the same for all requests.
  var fixedValue: [UInt8]? {
    if pieces.count == 1, case .text(let text)? = pieces.first { text } else { nil }
  }

  /// The value for a request. It has no octet that a field's value may not have, whatever the request brings.
  func value(_ facts: Facts) -> [UInt8] {
    var value: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .text(let text): value += text
      case .listener: value += facts.listener
      case .scheme: value += (facts.isSecure ? "https" : "http").utf8
      case .client: value += facts.address.lazy.filter(\.isFieldContent)
      case .host:
        let authority = facts.authority.bindMemory(to: UInt8.self).span
        let host = facts.authority.prefix(RequestAuthority.hostLength(authority))
        value += host.lazy.filter(\.isFieldContent)
      }
    }
    return value
  }
}
