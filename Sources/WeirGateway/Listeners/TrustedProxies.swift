import WeirIO

/// The proxies that are believed when they say whose requests they pass on.
struct TrustedProxies: Hashable, Sendable {
  /// The most networks, as each request may compare all of them with each entry of its field.
  static let maximumCount = 100

  let networks: [IPNetwork]
  /// Whether all peers on Unix sockets are trusted.
  let unix: Bool

  init(_ networks: [IPNetwork] = [], unix: Bool = false) {
    self.networks = networks
    self.unix = unix
  }

  /// Reads networks and addresses as ``IPNetwork`` does, and the word `unix`.
  static func parse(_ texts: some Sequence<String>) throws(IPNetworkError) -> TrustedProxies {
    var networks: [IPNetwork] = []
    var unix = false
    for text in texts {
      if text == "unix" { unix = true } else { networks.append(try IPNetwork(parsing: text)) }
    }
    return TrustedProxies(networks, unix: unix)
  }

  func contains(_ address: ClientAddress) -> Bool {
    switch address {
    case .ip(let address): contains(address)
    case .unix: unix
    }
  }

  /// An IPv4-mapped IPv6 address counts as the IPv4 address.
  func contains(_ address: IPAddress) -> Bool {
    let address = address.unmapped
    return networks.contains { $0.contains(address) }
  }
}
