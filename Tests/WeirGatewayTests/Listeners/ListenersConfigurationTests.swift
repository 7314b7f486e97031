import Testing
import WeirIO
import WeirServer

@testable import WeirGateway

/// The keys of `listeners`: each with a wrong type, with values out of range, and in a wrong place.
@Suite struct ListenersConfigurationTests {
  private func problems(_ line: String) -> [String] {
    Configuration.problems(
      of: "listeners:\n  - name: a\n    address: \":1\"\n    \(line)\nroutes: [{name: r, respond: {status: 200}}]\n")
  }

  @Test func readsEveryKey() throws {
    let text = """
      listeners:
        - name: public
          address: "0.0.0.0:8080"
          connections: 100
          connectionsPerClient: 20
          proxyProtocol: true
          trustedProxies: [10.0.0.0/8, "2001:db8::1", unix]
          clientAddress: Forwarded
          timeouts: {handshake: 500ms, header: 1s, body: 2s, idle: 3s, write: 4s, maximumAge: 1h}
          limits: {targetBytes: 2048, headerBytes: 8192, headerFields: 50, bodyBytes: 1048576}
        - {name: local, address: "unix:/run/weir.sock", connectionsPerClient: off,
           timeouts: {maximumAge: off}, limits: {bodyBytes: off}}
      routes: [{name: r, respond: {status: 200}}]
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    #expect(configuration.warnings.isEmpty)
    var first = ListenerSettings(name: "public", address: .any(port: 8080))
    first.address = try SocketAddress(parsing: "0.0.0.0:8080")
    first.connections = 100
    first.limits.connectionsPerClient = 20
    first.proxyProtocol = true
    first.trustedProxies = try ClientNetworks.parse(["10.0.0.0/8", "2001:db8::1", "unix"])
    first.clientAddress = .forwarded
    first.limits.handshakeTimeout = 0.5
    first.limits.headerTimeout = 1
    first.limits.bodyTimeout = 2
    first.limits.idleTimeout = 3
    first.limits.writeTimeout = 4
    first.limits.maximumAge = 3600
    first.limits.targetBytes = 2048
    first.limits.headerBytes = 8192
    first.limits.headerFields = 50
    first.limits.bodyBytes = 1_048_576
    let second = ListenerSettings(name: "local", address: .unix(path: "/run/weir.sock"))
    #expect(configuration.listeners == [first, second])
    #expect(first.limits(share: 7).connections == 100)
    #expect(second.limits(share: 7).connections == 7)
    #expect(second.limits(share: 0).connections == 1)
    #expect(second.limits(share: 100_000).connections == 8192)
  }

  /// A value below and above the range of each key, and one of a wrong type.
  @Test(arguments: [
    ("connections", ["0", "8193", "x", "[1]"]), ("connectionsPerClient", ["0", "100001", "x", "{}"]),
    ("proxyProtocol", ["yes please", "1", "[]"]), ("trustedProxies", ["10.0.0.0/8", "[10.0.0.1/8]", "[h]", "[{}]"]),
    ("clientAddress", ["X-Real-IP", "true"]), ("timeouts: {handshake", ["50ms}", "61m}", "x}"]),
    ("timeouts", ["3s", "[]"]), ("timeouts: {header", ["50ms}", "61m}", "x}", "off}"]),
    ("timeouts: {body", ["50ms}", "61m}", "x}"]), ("timeouts: {idle", ["50ms}", "61m}", "true}"]),
    ("timeouts: {write", ["50ms}", "61m}", "{}}"]), ("timeouts: {maximumAge", ["50ms}", "61m}", "x}"]),
    ("limits", ["3", "off"]), ("limits: {targetBytes", ["1023}", "65537}", "8KiB}"]),
    ("limits: {headerBytes", ["4095}", "262145}", "x}"]), ("limits: {headerFields", ["15}", "1001}", "x}"]),
    ("limits: {bodyBytes", ["0}", "1099511627777}", "x}"]),
  ])
  func rangesAndTypes(_ key: String, _ values: [String]) {
    for value in values {
      let found = problems("\(key): \(value)")
      #expect(found.count == 1 && found[0].hasPrefix("4:"), "\(key): \(value) \(found)")
    }
  }

  @Test(arguments: [
    ("idle: 3s", "4:5: listeners[0].idle: unknown key; it belongs into timeouts"),
    ("bodyBytes: 3", "4:5: listeners[0].bodyBytes: unknown key; it belongs into limits"),
    (
      "clientAddress: Forwarded",
      "4:20: listeners[0].clientAddress: only trustedProxies are asked for the client's address; list them"
    ),
    (
      "trustedProxies: [10.0.0.1/8]",
      "4:22: listeners[0].trustedProxies[0]: '10.0.0.1/8' has bits set behind its length; the network is 10.0.0.0/8"
    ),
    ("port: 3", "4:5: listeners[0].port: unknown key; give address, such as 127.0.0.1:8080"),
    ("limits: {targetBytes: 1}", "4:27: listeners[0].limits.targetBytes: must be 1024 to 65536"),
    ("timeouts: {idle: 0s}", "4:22: listeners[0].timeouts.idle: must be 100ms to 1h"),
  ])
  func problemsSayWhatToWrite(_ line: String, _ problem: String) {
    #expect(problems(line) == [problem])
  }

  @Test(arguments: [
    ("[]", "1:12: listeners: holds 0 listeners; give 1 to 16, or leave the key out"),
    ("{}", "1:12: listeners: expected a list (- item), found a mapping"),
    ("[{address: \":1\"}]", "1:13: listeners[0].name: is missing; it labels the listener's metrics and log lines"),
    ("[{name: a}]", "1:13: listeners[0].address: is missing; such as 127.0.0.1:8080, :8080 or unix:/run/weir.sock"),
    (
      "[{name: a, address: \":1\"}, {name: a, address: \":2\"}]",
      "1:46: listeners[1].name: another listener is named \"a\" (line 1)"
    ),
    (
      "[{name: a, address: \":1\"}, {name: b, address: \":1\"}]",
      "1:58: listeners[1].address: another listener is at this address (line 1)"
    ),
  ])
  func listsAreChecked(_ list: String, _ problem: String) {
    let found = Configuration.problems(of: "listeners: \(list)\nroutes: [{name: r, respond: {status: 200}}]\n")
    #expect(found == [problem])
  }

  @Test(
    arguments: [
      (":1", "127.0.0.1:1", "1:58: listeners[1].address: overlaps with [::]:1 of another listener (line 1)"),
      ("[::1]:1", ":1", "1:63: listeners[1].address: overlaps with [::1]:1 of another listener (line 1)"),
      (":1", "127.0.0.1:2", nil),
    ] as [(String, String, String?)])
  func overlapsAreWarnings(_ one: String, _ other: String, _ warning: String?) throws {
    let text = """
      listeners: [{name: a, address: "\(one)"}, {name: b, address: "\(other)"}]
      routes: [{name: r, respond: {status: 200}}]
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    #expect(configuration.warnings.map { $0.description(file: "f") } == warning.map { ["f:\($0)"] } ?? [])
  }

  @Test(arguments: ["8080", "h:1", "\":\"", "unix:", "\"[::1]\""]) func addressesAreChecked(_ address: String) {
    let found = Configuration.problems(
      of: "listeners: [{name: a, address: \(address)}]\nroutes: [{name: r, respond: {status: 200}}]\n")
    #expect(found.count == 1 && found[0].hasPrefix("1:"), "\(found)")
  }

  @Test(arguments: ["\"\"", "a b", "ä", String(repeating: "a", count: 65)]) func namesAreChecked(_ name: String) {
    let found = Configuration.problems(
      of: "listeners: [{name: \(name), address: \":1\"}]\nroutes: [{name: r, respond: {status: 200}}]\n")
    #expect(found == ["1:20: listeners[0].name: must be 1 to 64 letters, digits, hyphens, underscores and dots"])
  }
}
