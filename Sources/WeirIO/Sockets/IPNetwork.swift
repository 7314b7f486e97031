/// The addresses that begin with the same bits, as `192.0.2.0/24` writes them (RFC 4632 §3.1, RFC 4291 §2.3).
package struct IPNetwork: Hashable, Sendable {
  /// The first address of the network.
  package let address: IPAddress
  /// The number of bits that all addresses of the network share.
  package let prefixLength: Int

  /// Bits of `address` behind the prefix are cleared, and a length beyond the address's own is reduced to it.
  package init(_ address: IPAddress, prefixLength: Int) {
    self.prefixLength = max(0, min(prefixLength, address.bitCount))
    self.address = address.masked(self.prefixLength)
  }

  /// Reads `192.0.2.0/24`, `2001:db8::/32`, and a single address as the network that holds only that address.
  ///
  /// - Parameter knowsNAT64: Whether addresses behind a NAT64 are told apart from those of IPv4 for which they stand.
  ///   If they aren't, as for destinations, a network of theirs is refused, as one of IPv4-mapped addresses always is.
  package init(parsing text: String, knowsNAT64: Bool = false) throws(IPNetworkError) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = parts.first.flatMap({ IPAddress($0) }) else { throw IPNetworkError(text, .badAddress) }
    guard (knowsNAT64 ? address.unmapped : address.unwrapped) == address else {
      // The IPv4 address is in the last 32 bits of 128.
      let bits = parts.count == 2 ? Self.length(parts[1]).map { $0 - 96 } : 32
      let network = bits.flatMap { (0...32).contains($0) ? IPNetwork(address.unwrapped, prefixLength: $0) : nil }
      throw IPNetworkError(text, .standsForIPv4(network))
    }
    var length = address.bitCount
    if parts.count == 2 {
      guard let given = Self.length(parts[1]), given <= length else { throw IPNetworkError(text, .badLength(length)) }
      length = given
    }
    self.init(address, prefixLength: length)
    guard self.address == address else { throw IPNetworkError(text, .hasHostBits(self)) }
  }

  /// Whether the network holds `address`. An IPv4 address is in no IPv6 network, nor the other way round.
  package func contains(_ address: IPAddress) -> Bool {
    address.bitCount == self.address.bitCount && address.masked(prefixLength) == self.address
  }

  private static func length(_ text: Substring) -> Int? {
    guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      text == "0" || text.first != "0"
    else { return nil }
    return Int(text)
  }
}

extension IPNetwork: CustomStringConvertible {
  package var description: String { "\(address)/\(prefixLength)" }
}

/// The reason why a text is not a network.
package struct IPNetworkError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Problem: Hashable, Sendable {
    case badAddress
    /// The associated value is the longest length that is valid.
    case badLength(Int)
    case hasHostBits(IPNetwork)
    /// The associated value is the network of IPv4 that is meant, if it is one.
    case standsForIPv4(IPNetwork?)
  }

  package let text: String
  package let problem: Problem

  init(_ text: String, _ problem: Problem) {
    self.text = text
    self.problem = problem
  }

  package var description: String {
    switch problem {
    case .badAddress: "'\(text)' is not a network; write 192.0.2.0/24, 2001:db8::/32 or an address"
    case .badLength(let longest): "'\(text)' has no valid length; behind the slash stands a number from 0 to \(longest)"
    case .hasHostBits(let network): "'\(text)' has bits set behind its length; the network is \(network)"
    case .standsForIPv4(let network?): "'\(text)' stands for addresses of IPv4; write \(network)"
    case .standsForIPv4(nil): "'\(text)' stands for addresses of IPv4, and for others; write networks of IPv4 and IPv6"
    }
  }
}

extension IPAddress {
  fileprivate var bitCount: Int {
    switch self {
    case .v4: 32
    case .v6: 128
    }
  }

  /// The address with its first `count` bits; the others are zeros.
  fileprivate func masked(_ count: Int) -> IPAddress {
    switch self {
    // In Swift, a shift by all bits or more gives zero.
    case .v4(let number): .v4(number & (UInt32.max << (32 - count)))
    case .v6(let high, let low):
      .v6(high: high & (UInt64.max << max(0, 64 - count)), low: low & (UInt64.max << min(64, 128 - count)))
    }
  }
}
