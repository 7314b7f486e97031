package import WeirIO

/// The rules by which a name is looked up again and again. Times are in seconds.
package struct ResolveRules: Hashable, Sendable {
  /// The least time between two lookups, and the first wait after a failure.
  package let minimum: Double
  /// The longest time between two lookups.
  package let maximum: Double
  /// The limit of one lookup, all its tries together.
  package let timeout: Double
  package let servers: ResolverServers

  package init(
    minimum: Double = 1, maximum: Double = 30, timeout: Double = 2, servers: ResolverServers = .system
  ) {
    self.minimum = minimum
    self.maximum = maximum
    self.timeout = timeout
    self.servers = servers
  }
}

/// Name servers that are asked in place of those of resolv.conf, in this order. Empty for those of resolv.conf.
package struct ResolverServers: Hashable, Sendable {
  /// The most servers of one list.
  package static let maximum = 4
  /// The port of DNS (RFC 1035 §4.2), used where none is written.
  package static let standardPort: UInt16 = 53

  package struct Server: Hashable, Sendable {
    package let address: IPAddress
    package let port: UInt16

    package init(address: IPAddress, port: UInt16 = ResolverServers.standardPort) {
      self.address = address
      self.port = port
    }
  }

  package let list: [Server]

  /// The servers of resolv.conf.
  package static let system = ResolverServers(list: [])

  private init(list: [Server]) {
    self.list = list
  }

  /// Reads `10.0.0.53`, `10.0.0.53:5353`, `::1`, `[::1]` and `[::1]:53`.
  package init(parsing texts: [String]) throws(ResolverServersError) {
    guard texts.count <= Self.maximum else { throw .tooMany(texts.count) }
    var list: [Server] = []
    for text in texts { list.append(try Server(parsing: text)) }
    self.list = list
  }

  /// The form that `ares_set_servers_ports_csv` reads.
  var commaSeparated: String { list.map(\.description).joined(separator: ",") }
}

extension ResolverServers.Server {
  package init(parsing text: String) throws(ResolverServersError) {
    // An IPv6 address needs no brackets where no port follows.
    if let address = IPAddress(text) {
      self.init(address: address)
      return
    }
    var host = text[...]
    var port: Substring?
    if let bracket = text.lastIndex(of: "]") {
      let rest = text[text.index(after: bracket)...]
      guard text.first == "[", rest.isEmpty || rest.first == ":" else { throw .badAddress(text) }
      host = text[text.index(after: text.startIndex)..<bracket]
      port = rest.isEmpty ? nil : rest.dropFirst()
      guard case .v6 = IPAddress(host) else { throw .badAddress(text) }
    } else if let colon = text.lastIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
      guard case .v4 = IPAddress(host) else { throw .badAddress(text) }
    }
    guard let address = IPAddress(host) else { throw .badAddress(text) }
    guard let port else {
      self.init(address: address)
      return
    }
    // `UInt16` would read a sign.
    guard port.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let number = UInt16(port), number > 0 else { throw .badPort(text) }
    self.init(address: address, port: number)
  }
}

extension ResolverServers.Server: CustomStringConvertible {
  package var description: String {
    switch address {
    case .v4: "\(address):\(port)"
    case .v6: "[\(address)]:\(port)"
    }
  }
}

/// The reason why texts are not a list of name servers.
package enum ResolverServersError: Error, Hashable, Sendable, CustomStringConvertible {
  case badAddress(String)
  case badPort(String)
  case tooMany(Int)

  package var description: String {
    switch self {
    case .badAddress(let text): "'\(text)' is not a name server's address; write 10.0.0.53:53 or [::1]:53"
    case .badPort(let text): "'\(text)' has no valid port; write a number from 1 to 65535, or no port for 53"
    case .tooMany(let count): "\(count) name servers are too many; write at most \(ResolverServers.maximum)"
    }
  }
}
