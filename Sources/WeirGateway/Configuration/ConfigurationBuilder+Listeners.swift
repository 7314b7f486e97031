import WeirIO
import WeirServer

// The entries of `listeners`.

extension ConfigurationBuilder {
  private static let seconds = 0.1...3600.0
  /// The most trusted proxies, as each request may compare all of them with each entry of its field.
  private static let mostProxies = 100

  private static let misplacedInListeners: [String: String] = {
    var hints: [String: String] = [:]
    for key in ["handshake", "header", "body", "idle", "write", "maximumAge"] {
      hints[key] = "it belongs into timeouts"
    }
    for key in ["targetBytes", "headerBytes", "headerFields", "bodyBytes"] { hints[key] = "it belongs into limits" }
    for key in [
      "certificates", "certificate", "key", "strictNames", "minimumVersion", "clientCA", "clientAuth", "forward",
      "ticketKeys",
    ] { hints[key] = "it belongs into tls" }
    for key in ["allow", "deny"] { hints[key] = "it belongs into clients" }
    hints["auth"] = "it belongs into the routes it is meant for"
    for key in ["port", "host"] { hints[key] = "give address, such as 127.0.0.1:8080" }
    return hints
  }()

  mutating func readListeners(_ reader: ConfigurationReader) -> [ListenerSettings] {
    guard let list = reader.elements() else { return [] }
    if !(1...ListenerSettings.maximumCount).contains(list.count) {
      reader.report(
        "holds \(list.count) listeners; give 1 to \(ListenerSettings.maximumCount), or leave the key out")
    }
    var names: [String: Int] = [:], addresses: [SocketAddress: Int] = [:]
    var listeners = list.compactMap { element in
      element.mapping { keys -> ListenerSettings? in
        keys.misplaced = Self.misplacedInListeners
        let name = keys.take("name", required: "it labels the listener's metrics and log lines")
        let address = keys.take("address", required: "such as 127.0.0.1:8080, :8080 or unix:/run/weir.sock")
        let settings = Self.listener(&keys, name: name, address: address)
        if let settings, settings.proxyProtocol, settings.trustedProxies == ClientNetworks() {
          warn(element, "no connection begins with a PROXY header, as trustedProxies is empty")
        }
        if let name, let settings { Self.note(settings.name, in: &names, at: name, "named \(quoted(settings.name))") }
        if let address, let settings {
          warnOfOverlap(of: settings.address, with: addresses, at: address)
          Self.note(settings.address, in: &addresses, at: address, "at this address")
        }
        return settings
      }
    }
    let reserved = Set(listeners.flatMap { $0.tls?.forward.names ?? [] }).sorted()
    for index in listeners.indices { listeners[index].reservedFields = reserved }
    return listeners
  }

  private static func note<Value: Hashable>(
    _ value: Value, in known: inout [Value: Int], at reader: ConfigurationReader, _ what: String
  ) {
    if let line = known[value] {
      reader.report("another listener is \(what) (line \(line))")
    } else {
      known[value] = reader.node.position.line
    }
  }

  /// Warns of an address that can't be listened at beside one of `known`, which differs from it. Activated sockets may
  /// take the place of both.
  private mutating func warnOfOverlap(
    of address: SocketAddress, with known: [SocketAddress: Int], at reader: ConfigurationReader
  ) {
    let others = known.filter { $0.key != address && $0.key.overlaps(address) }
    guard let other = others.min(by: { $0.value < $1.value }) else { return }
    warn(reader, "overlaps with \(other.key) of another listener (line \(other.value))")
  }

  private static func listener(
    _ keys: inout ConfigurationKeys, name: ConfigurationReader?, address: ConfigurationReader?
  ) -> ListenerSettings? {
    let name = name?.read(as: .string, unless: problem(plainName:))
    let address = address.flatMap(Self.address)
    var settings = ListenerSettings(name: name ?? "", address: address ?? .unnamed)
    settings.connections = keys.takeCount("connections", within: 1...ServerLimits.mostConnections)
    if let reader = keys.take("connectionsPerClient"), !reader.isOff {
      settings.limits.connectionsPerClient = reader.count(within: 1...100_000)
    }
    if let proxy = keys.take("proxyProtocol", as: .boolean) { settings.proxyProtocol = proxy }
    if let proxies = keys.take("trustedProxies") { settings.trustedProxies = proxies.networks(atMost: mostProxies) }
    let fields = [ClientAddress.Field.xForwardedFor, .forwarded]
    if let reader = keys.take("clientAddress"), let word = reader.word(among: fields.map(\.name)) {
      if settings.trustedProxies == nil {
        reader.report("only trustedProxies are asked for the client's address; list them")
      }
      settings.clientAddress = fields.first { $0.name == word } ?? .xForwardedFor
    }
    settings.clients = keys.take("clients").flatMap { $0.clientRules() }
    if let timeouts = keys.take("timeouts") { Self.timeouts(timeouts, into: &settings.limits) }
    if let tls = keys.take("tls") { settings.tls = tls.listenerTLS() }
    if let limits = keys.take("limits") { Self.limits(limits, into: &settings.limits) }
    return name == nil || address == nil ? nil : settings
  }

  private static func address(_ reader: ConfigurationReader) -> SocketAddress? {
    guard let text = reader.read(as: .string) else { return nil }
    do {
      return try SocketAddress(parsing: text)
    } catch {
      reader.report("\(error); write an address and a port, such as 127.0.0.1:8080, [::1]:8080 or :8080, or unix:/path")
      return nil
    }
  }

  private static func timeouts(_ reader: ConfigurationReader, into limits: inout ServerLimits) {
    let _: Void? = reader.mapping { keys in
      keys.misplaced["connect"] = "it belongs into an upstream, as connectTimeout"
      if let value = keys.takeSeconds("handshake", within: seconds) { limits.handshakeTimeout = value }
      if let value = keys.takeSeconds("header", within: seconds) { limits.headerTimeout = value }
      if let value = keys.takeSeconds("body", within: seconds) { limits.bodyTimeout = value }
      if let value = keys.takeSeconds("idle", within: seconds) { limits.idleTimeout = value }
      if let value = keys.takeSeconds("write", within: seconds) { limits.writeTimeout = value }
      if let value = keys.takeSecondsOrOff("maximumAge", within: seconds) { limits.maximumAge = value }
      return ()
    }
  }

  private static func limits(_ reader: ConfigurationReader, into limits: inout ServerLimits) {
    let _: Void? = reader.mapping { keys in
      if let value = keys.takeCount("targetBytes", within: 1 << 10...64 << 10) { limits.targetBytes = value }
      if let value = keys.takeCount("headerBytes", within: 4 << 10...256 << 10) { limits.headerBytes = value }
      if let value = keys.takeCount("headerFields", within: 16...1000) { limits.headerFields = value }
      if let reader = keys.take("bodyBytes"), !reader.isOff {
        limits.bodyBytes = reader.count(within: 1...1 << 40).map(Int64.init)
      }
      return ()
    }
  }
}
