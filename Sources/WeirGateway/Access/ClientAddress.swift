import WeirHTTP
import WeirIO

/// The address of a request's client: that of the connection's peer, or one that trusted proxies report.
enum ClientAddress: Hashable, Sendable {
  case ip(IPAddress)
  /// A client on a Unix socket, which has no address.
  case unix

  /// The field in which proxies report the address of their peer.
  enum Field: Hashable, Sendable {
    /// `X-Forwarded-For`: a list of addresses, each of which may have a port.
    case xForwardedFor
    /// `Forwarded` (RFC 7239 §4).
    case forwarded

    var name: String {
      switch self {
      case .xForwardedFor: "X-Forwarded-For"
      case .forwarded: "Forwarded"
      }
    }
  }

  /// The number of entries, counted from the end, that are looked at. If all of them are trusted, the first of them is
  /// the client.
  static let longestChain = 100

  /// The peer of a connection. An IPv4-mapped IPv6 address is the IPv4 address.
  init(peer: SocketAddress) {
    self = IPAddress(peer).map { .ip($0.unmapped) } ?? .unix
  }

  /// Finds the client of one request.
  ///
  /// A peer that is no trusted proxy is the client. Otherwise every entry was written by the hop that the next entry
  /// names, and the last by the peer. So the client is the last entry that is no trusted proxy, or the first entry if
  /// all are trusted. An entry without a readable address ends the chain: the client is then searched among those that
  /// follow it, and is the peer if none do.
  ///
  /// - Parameters:
  ///   - peer: The connection's peer, or the source that the connection's PROXY header names.
  ///   - forEachValue: Calls its argument with each value of the field, in order. It is called twice at most, since the
  ///     entries are counted first. The octets have to be valid during the call.
  init(
    peer: ClientAddress, field: Field, trusting proxies: ClientNetworks,
    forEachValue: ((_ value: UnsafeRawBufferPointer) -> Void) -> Void
  ) {
    guard proxies.contains(peer) else {
      self = peer
      return
    }
    var count = 0
    forEachValue { value in field.forEachEntry(in: value) { _ in count += 1 } }
    var toSkip = max(0, count - Self.longestChain)
    // The client as of the latest entry; nil if that is not readable. The rule is one for a walk from the end. Quoted
    // strings can't be split from their end, so it is followed forwards.
    var client: IPAddress?
    forEachValue { value in
      field.forEachEntry(in: value) { entry in
        if toSkip > 0 { return toSkip -= 1 }
        let address = field.address(in: entry)
        // A trusted proxy passes on the client before it, if there is one that was readable.
        if let address, client != nil, proxies.contains(address) { return }
        client = address
      }
    }
    self = client.map { .ip($0) } ?? peer
  }
}

extension ClientAddress.Field {
  /// Calls `body` with each entry of a value, without the blanks around it. Empty entries are skipped (RFC 9110 §5.6.1).
  fileprivate func forEachEntry(in value: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    // A client's quotation mark without an end must not hide the entries that proxies append to its line.
    let respectsQuotes = self == .forwarded && value.hasWholeQuotations
    let entries = respectsQuotes ? value.quotedListElements : value.listElements
    for entry in entries where !entry.isEmpty { body(entry) }
  }

  /// The address in an entry; nil if it has none.
  fileprivate func address(in entry: UnsafeRawBufferPointer) -> IPAddress? {
    switch self {
    case .xForwardedFor: entry.node(allowsBareIPv6: true)
    case .forwarded: entry.forwardedNode
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The address in the `for` of an element of Forwarded (RFC 7239 §4); nil also if the element is malformed. Blanks
  /// around semicolons, which the grammar lacks, are common and accepted.
  fileprivate var forwardedNode: IPAddress? {
    var node: UnsafeRawBufferPointer?
    for pair in parameterParts where !pair.isEmpty {
      guard let sign = pair.firstIndex(of: .equalsSign, in: 0..<pair.count) else { return nil }
      let (name, value) = (pair.octets(0..<sign), pair.octets(sign + 1..<pair.count))
      guard FieldSyntax.isToken(name), value.isQuotedString || FieldSyntax.isToken(value) else { return nil }
      guard name.spells("for") else { continue }
      // Each parameter occurs once at most.
      guard node == nil else { return nil }
      node = value
    }
    guard let node else { return nil }
    guard node.first == .quotationMark else { return node.node(allowsBareIPv6: false) }
    // Only a backslash makes the text differ from what stands between the quotation marks.
    guard node.contains(.backslash) else { return node.octets(1..<node.count - 1).node(allowsBareIPv6: false) }
    return node.unquoted?.withUnsafeBytes { $0.node(allowsBareIPv6: false) }
  }

  /// Whether the octets are exactly one quoted string (RFC 9110 §5.6.4).
  private var isQuotedString: Bool {
    guard count >= 2, first == .quotationMark else { return false }
    var index = 1
    while index < count - 1 {
      if self[index] == .quotationMark || !self[index].isFieldContent { return false }
      index += self[index] == .backslash ? 2 : 1
    }
    return index == count - 1 && self[index] == .quotationMark
  }

  /// The address of a node with or without a port (RFC 7239 §6): `192.0.2.1:80`, `[2001:db8::1]:80`. IPv4-mapped IPv6
  /// is IPv4.
  ///
  /// - Parameter allowsBareIPv6: whether IPv6 without brackets, and so without a port, is read as well.
  fileprivate func node(allowsBareIPv6: Bool) -> IPAddress? {
    if first == UInt8(ascii: "[") {
      guard let end = firstIndex(of: UInt8(ascii: "]"), in: 1..<count), hasPort(from: end + 1) else { return nil }
      guard case .v6? = IPAddress(octets: octets(1..<end)) else { return nil }
      return IPAddress(octets: octets(1..<end))?.unmapped
    }
    guard let colon = firstIndex(of: .colon, in: 0..<count) else { return IPAddress(octets: self) }
    if case .v4(let number)? = IPAddress(octets: octets(0..<colon)) { return hasPort(from: colon) ? .v4(number) : nil }
    return allowsBareIPv6 ? IPAddress(octets: self)?.unmapped : nil
  }

  /// Whether nothing follows from `start` on, or a colon and a port: a number, or an obfuscated one (RFC 7239 §6.3).
  private func hasPort(from start: Int) -> Bool {
    if start == count { return true }
    guard self[start] == .colon else { return false }
    let port = octets(start + 1..<count)
    if port.first == UInt8(ascii: "_") { return port.count > 1 && port.dropFirst().allSatisfy(\.isObfuscation) }
    return port.count <= 5 && port.decimal.map { $0 <= 65_535 } ?? false
  }
}

extension UInt8 {
  /// A character of an obfuscated identifier: a letter, a digit, `.`, `_` or `-`.
  fileprivate var isObfuscation: Bool { OctetSet.unreserved.contains(self) && self != UInt8(ascii: "~") }
}
