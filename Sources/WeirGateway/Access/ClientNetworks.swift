import WeirIO

/// Clients by the networks of their addresses.
struct ClientNetworks: Hashable, Sendable {
  let networks: [IPNetwork]
  /// Whether clients on Unix sockets are among them.
  let unix: Bool

  init(_ networks: [IPNetwork] = [], unix: Bool = false) {
    self.networks = networks
    self.unix = unix
  }

  /// Reads networks and addresses as ``IPNetwork`` does, and the word `unix`. Clients behind a NAT64 are not the owners
  /// of the IPv4 addresses, and are compared as they are.
  static func parse(_ texts: some Sequence<String>) throws(IPNetworkError) -> ClientNetworks {
    var networks: [IPNetwork] = []
    var unix = false
    for text in texts {
      if text == "unix" { unix = true } else { networks.append(try IPNetwork(parsing: text, knowsNAT64: true)) }
    }
    return ClientNetworks(networks, unix: unix)
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

  /// Whether all clients of `other` are among these, as far as single networks show it.
  func contains(_ other: ClientNetworks) -> Bool {
    (unix || !other.unix)
      && other.networks.allSatisfy { inner in
        networks.contains { $0.prefixLength <= inner.prefixLength && $0.contains(inner.address) }
      }
  }

  /// The same clients, each network once and in an order that does not depend on that of the file.
  var sorted: ClientNetworks {
    let texts = Dictionary(networks.map { ("\($0)", $0) }) { first, _ in first }
    return ClientNetworks(texts.sorted { $0.key < $1.key }.map(\.value), unix: unix)
  }
}

/// The clients that may use a listener or a route.
struct ClientRules: Hashable, Sendable {
  /// The clients that are allowed; nil for all.
  var allow: ClientNetworks?
  /// The clients that are refused, even if they are allowed.
  var deny = ClientNetworks()

  func admit(_ client: ClientAddress) -> Bool {
    if deny.contains(client) { return false }
    return allow?.contains(client) ?? true
  }
}
