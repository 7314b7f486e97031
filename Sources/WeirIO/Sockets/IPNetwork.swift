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

/// Addresses that no host on the public internet has. They are those that IANA's special-purpose registries (RFC 6890)
/// list as not globally reachable, multicast, and those reserved for later use.
package enum SpecialNetworks {
  /// The purpose of an address; nil for a public one. An IPv6 address that stands for an IPv4 one must be `unwrapped`
  /// first.
  package static func purpose(of address: IPAddress) -> String? {
    switch address {
    case .v4: return v4.first { $0.network.contains(address) }.map { "\($0.purpose), \($0.network)" }
    case .v6:
      if let known = v6.first(where: { $0.network.contains(address) }) { return "\(known.purpose), \(known.network)" }
      // IANA keeps all other addresses for later (RFC 4291 §2.4 and its registry).
      return globalUnicast.contains(address) ? nil : "not among the addresses in use, \(globalUnicast)"
    }
  }

  private typealias Entry = (network: IPNetwork, purpose: String)

  /// IANA IPv4 Special-Purpose Address Registry, with multicast (RFC 5771).
  private static let v4: [Entry] = [
    (four(0, 0, 0, 0, 8), "this network"),  // RFC 791; 0.0.0.0 is this host
    (four(10, 0, 0, 0, 8), "private"),  // RFC 1918
    (four(100, 64, 0, 0, 10), "shared by a carrier's customers"),  // RFC 6598
    (four(127, 0, 0, 0, 8), "loopback"),  // RFC 1122
    (four(169, 254, 0, 0, 16), "link-local, as metadata services are"),  // RFC 3927
    (four(172, 16, 0, 0, 12), "private"),  // RFC 1918
    (four(192, 0, 0, 0, 24), "protocol assignments"),  // RFC 6890
    (four(192, 0, 2, 0, 24), "documentation"),  // RFC 5737
    (four(192, 88, 99, 0, 24), "6to4 relays"),  // RFC 7526
    (four(192, 168, 0, 0, 16), "private"),  // RFC 1918
    (four(198, 18, 0, 0, 15), "benchmarking"),  // RFC 2544
    (four(198, 51, 100, 0, 24), "documentation"),  // RFC 5737
    (four(203, 0, 113, 0, 24), "documentation"),  // RFC 5737
    (four(224, 0, 0, 0, 4), "multicast"),  // RFC 5771
    (four(255, 255, 255, 255, 32), "broadcast"),  // RFC 919
    (four(240, 0, 0, 0, 4), "reserved"),  // RFC 1112
  ]

  /// The only block that was ever given out (RFC 4291 §2.4).
  private static let globalUnicast = six(0x2000, 0, 3)

  /// IANA IPv6 Special-Purpose Address Registry. Some addresses in 2001::/23 are public, for protocols that are not
  /// HTTP.
  private static let v6: [Entry] = [
    (six(0, 0, 128), "unspecified"),  // RFC 4291
    (IPNetwork(.v6(high: 0, low: 1), prefixLength: 128), "loopback"),  // RFC 4291
    (six(0, 0, 96), "IPv4-compatible"),  // RFC 4291, deprecated
    (IPNetwork(.v6(high: 0x0064_ff9b_0001_0000, low: 0), prefixLength: 48), "NAT64 of one network"),  // RFC 8215
    (six(0x0100, 0, 64), "discard-only"),  // RFC 6666
    (six(0x2001, 0, 32), "Teredo"),  // RFC 4380: an IPv4 address of anybody's choice is embedded
    (six(0x2001, 0, 23), "protocol assignments"),  // RFC 2928; RFC 5180 and 7343 among them
    (six(0x2001, 0x0db8, 32), "documentation"),  // RFC 3849
    (six(0x2002, 0, 16), "6to4"),  // RFC 3056: embeds an IPv4 address as Teredo does
    (six(0x3fff, 0, 20), "documentation"),  // RFC 9637
    (six(0x5f00, 0, 16), "segment routing"),  // RFC 9602
    (six(0xfc00, 0, 7), "unique local"),  // RFC 4193, metadata services among them
    (six(0xfe80, 0, 10), "link-local"),  // RFC 4291
    (six(0xfec0, 0, 10), "site-local"),  // RFC 3879, deprecated
    (six(0xff00, 0, 8), "multicast"),  // RFC 4291
  ]

  private static func four(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ length: Int) -> IPNetwork {
    IPNetwork(.v4(a << 24 | b << 16 | c << 8 | d), prefixLength: length)
  }

  private static func six(_ first: UInt64, _ second: UInt64, _ length: Int) -> IPNetwork {
    IPNetwork(.v6(high: first << 48 | second << 32, low: 0), prefixLength: length)
  }
}
