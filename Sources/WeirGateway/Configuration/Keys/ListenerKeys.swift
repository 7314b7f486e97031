import WeirIO
import WeirServer

// The entries of `listeners`.

extension ListenerSettings {
  /// The most trusted proxies, as each request may compare all of them with each entry of its field.
  private static let mostProxies = 100
  private static let times = 0.1...3600.0

  static let mapping = ConfigurationMapping(
    ListenerSettings(name: "", address: .unnamed), misplaced: misplaced,
    rules: [
      .needs(
        ["clientAddress"], "trustedProxies", "only trustedProxies are asked for the client's address; list them")
    ]
  ) {
    Key(
      "name", .plainName, \.name,
      "1 to 64 letters, digits, hyphens, underscores and dots, unique; a label of metrics and log lines",
      missing: .required("it labels the listener's metrics and log lines"))
    Key(
      "address", address, \.address,
      """
      unique: `127.0.0.1:8080`, `"[::1]:8080"`, `":8080"` (all addresses, so beside no other of this port) or \
      `unix:/path`
      """, missing: .required("such as 127.0.0.1:8080, :8080 or unix:/run/weir.sock"))
    Key(
      "connections", .integer(1...ServerLimits.mostConnections), \.connections,
      """
      open connections per worker; at the limit the one that can best be spared is closed for a new one \
      ([listeners.md](listeners.md#descriptors))
      """, missing: .words("an equal part of the descriptors' share"))
    Key(
      "connectionsPerClient", .off(or: .integer(1...100_000)), \.limits.connectionsPerClient,
      """
      open connections of one address; one more is closed at once. Clients of Unix sockets have no address, and no \
      limit
      """)
    Key(
      "proxyProtocol", .boolean, \.proxyProtocol,
      """
      `true`: connections begin with a PROXY header, version 1 or 2, whose source then stands for the peer; those \
      without are closed. With `trustedProxies` only theirs begin so, and anybody else's header is a bad request
      """)
    Key(
      "trustedProxies", ClientNetworks.form(0...mostProxies), \.trustedProxies,
      "whose word about the client counts ([listeners.md](listeners.md)); `unix` are peers on Unix sockets")
    Key(
      "clientAddress", .word([ClientAddress.Field.xForwardedFor, .forwarded].map { ($0.name, $0) }), \.clientAddress,
      "the field in which trusted proxies tell of the client")
    Key(
      "clients", ClientRules.form, \.clients,
      "which clients may use the listener ([limits.md](limits.md#access)): `clients: { allow: [10.0.0.0/8, unix] }`",
      missing: .words("all clients"))
    Key(
      "forwardProxy", .boolean, \.isForwardProxy,
      """
      `true`: programs may use the listener as their proxy ([listeners.md](listeners.md#a-proxy-for-programs)), as \
      far as routes with `requested` or `connect` let them. Credentials of `auth` are `Proxy-Authorization` here
      """)
    Key("timeouts", timeouts, in: \.limits, "how long is waited for a client")
    Key("tls", ListenerTLS.form, \.tls, "clients speak TLS here ([listeners.md](listeners.md#tls))")
    Key("limits", sizes, in: \.limits, "sizes in bytes")
  }

  private static let timeouts = ConfigurationMapping(
    ServerLimits.gateway,
    misplaced: ["connect": "it belongs into an upstream, as connectTimeout"]
  ) {
    Key(
      "handshake", .seconds(times), \.handshakeTimeout,
      "for the PROXY header and the TLS handshake, from the connection's begin; then the connection closes")
    Key(
      "header", .seconds(times), \.headerTimeout,
      "for a request's head, from its first byte; then 408. A connection that sends none closes after as long")
    Key(
      "body", .seconds(times), \.bodyTimeout,
      """
      without a byte of a body that is awaited; then 408. Also without a byte of one that is discarded, as it was \
      answered early
      """)
    Key("idle", .seconds(times), \.idleTimeout, "between two requests of a connection")
    Key(
      "write", .seconds(times), \.writeTimeout,
      "while a client takes none of its response; then the connection is reset")
    Key(
      "maximumAge", .secondsOrOff(times), \.maximumAge,
      """
      the age of a connection: the next response after that is its last, with `Connection: close`. One that waits for a \
      request closes by `idle`, so that no request is lost
      """)
  }

  private static let sizes = ConfigurationMapping(ServerLimits.gateway) {
    Key(
      "targetBytes", .integer(1 << 10...64 << 10), \.targetBytes,
      "the size of the request target; a longer one is answered 414")
    Key(
      "headerBytes", .integer(4 << 10...256 << 10), \.headerBytes,
      "the size of all fields with the empty line behind them; more are answered 431")
    Key("headerFields", .integer(16...1000), \.headerFields, "fields; more are answered 431")
    Key("bodyBytes", .off(or: .bytes), \.bodyBytes, "a larger body is answered 413")
  }

  private static let misplaced: [String: String] = {
    var hints: [String: String] = [:]
    for key in timeouts.keys { hints[key.name] = "it belongs into timeouts" }
    for key in sizes.keys { hints[key.name] = "it belongs into limits" }
    for key in ListenerTLS.mapping.keys.map(\.name) + ["certificate", "key"] { hints[key] = "it belongs into tls" }
    for key in ["allow", "deny"] { hints[key] = "it belongs into clients" }
    hints["auth"] = "it belongs into the routes it is meant for"
    for key in ["requested", "connect"] { hints[key] = "it belongs into routes, which name the listener in match" }
    for key in ["port", "host"] { hints[key] = "give address, such as 127.0.0.1:8080" }
    return hints
  }()

  private static let address = ConfigurationForm<SocketAddress>(.named("address", .text(nil))) {
    $0.parse(SocketAddress.init(parsing:)) {
      "\($0); write an address and a port, such as 127.0.0.1:8080, [::1]:8080 or :8080, or unix:/path"
    }
  }

  // MARK: The list

  /// All listeners, whose names and addresses differ.
  static let list = ConfigurationForm<[ListenerSettings]>(.list(of: mapping.shape, 1...maximumCount)) { reader in
    let elements = reader.elements(1...maximumCount, "listeners", orElse: ", or leave the key out")
    var names: [String: Int] = [:], addresses: [SocketAddress: Int] = [:]
    guard var listeners = elements?.compactMap({ element($0, &names, &addresses) }) else { return nil }
    let reserved = Set(listeners.flatMap { $0.tls?.forward.names ?? [] }).sorted()
    for index in listeners.indices { listeners[index].reservedFields = reserved }
    return listeners
  }

  /// - Parameters:
  ///   - names: The lines of the names of the listeners before.
  ///   - addresses: Those of their addresses.
  private static func element(
    _ reader: ConfigurationReader, _ names: inout [String: Int], _ addresses: inout [SocketAddress: Int]
  ) -> ListenerSettings? {
    guard let entries = reader.mappingEntries() else { return nil }
    let (settings, given) = mapping.read(reader, entries)
    guard let name = given.fitting("name"), let address = given.fitting("address") else { return nil }
    if settings.proxyProtocol, settings.trustedProxies == ClientNetworks() {
      reader.warn("no connection begins with a PROXY header, as trustedProxies is empty")
    }
    note(settings.name, in: &names, at: name, "named \(quoted(settings.name))")
    warnOfOverlap(of: settings.address, with: addresses, at: address)
    note(settings.address, in: &addresses, at: address, "at this address")
    return settings
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
  private static func warnOfOverlap(
    of address: SocketAddress, with known: [SocketAddress: Int], at reader: ConfigurationReader
  ) {
    let others = known.filter { $0.key != address && $0.key.overlaps(address) }
    guard let other = others.min(by: { $0.value < $1.value }) else { return }
    reader.warn("overlaps with \(other.key) of another listener (line \(other.value))")
  }
}
