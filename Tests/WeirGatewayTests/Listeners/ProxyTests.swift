import Foundation
import Testing
import WeirIO
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Clients whose addresses proxies tell: in a PROXY header, or in a field.
@Suite(.timeLimit(.minutes(5))) struct ProxyTests {
  private static let get = "GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n"

  /// A gateway with one listener, in front of an upstream.
  private func rig(
    _ upstream: ScriptedServer, _ change: (inout ListenerSettings) throws -> Void
  ) throws -> (rig: GatewayRig, port: UInt16) {
    let address = SocketAddress.loopback(port: UInt16(LoopbackPort.free()))
    var settings = ListenerSettings(name: "a", address: address)
    try change(&settings)
    var configuration = Configuration(routes: [try Route(to: upstream.port)])
    configuration.listeners = [settings]
    return (try GatewayRig(configuration), address.port ?? 0)
  }

  private static func proxies(_ texts: String...) throws -> ClientNetworks { try ClientNetworks.parse(texts) }

  private static func version2(_ family: UInt8, _ block: [UInt8]) -> String {
    let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
    let rest = [0x21, family, UInt8(block.count >> 8), UInt8(block.count & 0xff)] + block
    return String(decoding: signature + rest, as: UTF8.self)
  }

  /// 10.1.2.3:80 to 127.0.0.1:80, as octets that are text.
  private static let v4: [UInt8] = [10, 1, 2, 3, 127, 0, 0, 1, 0, 80, 0, 80]

  // MARK: PROXY

  @Test(arguments: [
    ("PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n", "192.0.2.7"),
    ("PROXY TCP6 2001:db8::7 ::1 4711 80\r\n", "2001:db8::7"), ("PROXY UNKNOWN\r\n", "127.0.0.1"),
    (version2(0x11, v4), "10.1.2.3"), (version2(0x12, v4), "127.0.0.1"),
    (version2(0x31, [UInt8](repeating: 0, count: 256)), "127.0.0.1"),
    (version2(0x11, v4 + [UInt8](repeating: 0, count: 0x7f7f - 12)), "10.1.2.3"),
  ])
  func theSourceStandsForThePeer(_ header: String, _ client: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let (rig, port) = try rig(upstream) { $0.proxyProtocol = true }
    let client1 = try RawClient(port: port)
    // In pieces, of which the last begins the request.
    for piece in [header.prefix(5), header.dropFirst(5).prefix(4), header.dropFirst(9) + Self.get.prefix(3)] {
      client1.send(String(piece))
    }
    client1.send(String(Self.get.dropFirst(3)))
    #expect(client1.response()?.text == "hi")
    #expect(upstream.receivedText().contains("\r\nX-Forwarded-For: \(client)\r\n"))
    withExtendedLifetime(rig) {}
  }

  @Test(arguments: [get, "PROXY TCP4 x\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 1\n\(get)", "\0"])
  func withoutAHeaderNothingIsAnswered(_ input: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let (rig, port) = try rig(upstream) { $0.proxyProtocol = true }
    let client = try RawClient(port: port)
    client.send(input)
    #expect(client.rest().isEmpty)
    #expect(
      eventually {
        rig.sample("weir_listener_connections_closed_total{listener=\"a\",reason=\"proxy_protocol\"}") == 1
      })
  }

  @Test func aHeaderThatDoesNotComeInTimeEndsTheConnection() throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let (rig, port) = try rig(upstream) {
      $0.proxyProtocol = true
      $0.limits.handshakeTimeout = 0.2
    }
    let silent = try RawClient(port: port), slow = try RawClient(port: port)
    slow.send("PROXY TCP4 192.0.2.7 ")
    #expect(silent.rest().isEmpty && slow.rest().isEmpty)
    #expect(
      eventually {
        rig.sample("weir_listener_connections_closed_total{listener=\"a\",reason=\"proxy_protocol\"}") == 2
      })
  }

  @Test func onlyTrustedProxiesBeginWithAHeader() throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let (rig, port) = try rig(upstream) {
      $0.proxyProtocol = true
      $0.trustedProxies = try Self.proxies("192.0.2.0/24")
    }
    let client = try RawClient(port: port)
    client.send(Self.get)
    #expect(client.response()?.text == "hi")
    withExtendedLifetime(rig) {}
  }

  @Test func aClientsConnectionsCountByTheSource() throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let (rig, port) = try rig(upstream) {
      $0.proxyProtocol = true
      $0.limits.connectionsPerClient = 1
    }
    func client(_ source: String) throws -> RawClient {
      let client = try RawClient(port: port)
      client.send("PROXY TCP4 \(source) 127.0.0.1 4711 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
      return client
    }
    var first: RawClient? = try client("192.0.2.1")
    #expect(first?.response()?.status == 200)
    let second = try client("192.0.2.2")
    #expect(second.response()?.status == 200)
    #expect(try client("192.0.2.1").rest().isEmpty)
    first = nil
    #expect(eventually { (try? client("192.0.2.1").response()?.status) == 200 })
    withExtendedLifetime(rig) {}
  }

  // MARK: Fields

  private static let fields =
    "X-Forwarded-For: 192.0.2.9, 198.51.100.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: outer.example\r\n"
    + "X.Forwarded.For: 6.6.6.6\r\nX~Forwarded~Host: evil.example\r\nX-Forwarded*Proto: https\r\n"
    + "Forwarded: for=192.0.2.9\r\nX-Forwarded-Port: 444\r\nX_Forwarded_Prefix: /p\r\n"

  /// The lines of the fields above that go upstream.
  @Test(
    arguments: [
      (
        nil,
        [
          "Forwarded: for=192.0.2.9, for=127.0.0.1;host=shop.example;proto=http",
          "X-Forwarded-For: 192.0.2.9, 198.51.100.1, 127.0.0.1", "X-Forwarded-Host: shop.example",
          "X-Forwarded-Port: 444", "X-Forwarded-Proto: http", "X_Forwarded_Prefix: /p",
        ]
      ),
      ([], ["X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: shop.example", "X-Forwarded-Proto: http"]),
      (
        ["127.0.0.0/8"],
        [
          "Forwarded: for=192.0.2.9, for=127.0.0.1;host=shop.example;proto=http",
          "X-Forwarded-For: 192.0.2.9, 198.51.100.1, 127.0.0.1", "X-Forwarded-Host: outer.example",
          "X-Forwarded-Port: 444", "X-Forwarded-Proto: https",
        ]
      ),
    ] as [([String]?, [String])])
  func whatGoesUpstream(_ proxies: [String]?, _ expected: [String]) throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let (rig, port) = try rig(upstream) { $0.trustedProxies = try proxies.map { try ClientNetworks.parse($0) } }
    let client = try RawClient(port: port)
    client.send("GET / HTTP/1.1\r\nHost: shop.example\r\n\(Self.fields)\r\n")
    #expect(client.response()?.text == "hi")
    let lines = upstream.receivedText().split(separator: "\r\n").map(String.init)
    #expect(lines.filter { $0.lowercased().contains("forwarded") }.sorted() == expected)
    withExtendedLifetime(rig) {}
  }

  /// The reported client decides where requests go that are split by it, and is in the log.
  @Test func theReportedClientIsTheKey() throws {
    let hosts = try (0..<2).map { try ScriptedServer(.answering(okResponse("\($0)"))) }
    let address = SocketAddress.loopback(port: UInt16(LoopbackPort.free()))
    let text = """
      listeners: [{name: a, address: "\(address)", trustedProxies: [127.0.0.1], clientAddress: Forwarded}]
      upstreams: [{name: u, endpoints: ["127.0.0.1:\(hosts[0].port)"]}, {name: v, endpoints: ["127.0.0.1:\(hosts[1].port)"]}]
      routes: [{name: r, upstream: [{name: u}, {name: v}], splitBy: client}]
      """
    let lines = LoggedLines()
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"), log: lines.log(.debug))
    let client = try RawClient(port: address.port ?? 0)
    func answer(_ source: Int) -> String? {
      client.send("GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=192.0.2.\(source)\r\n\r\n")
      return client.response()?.text
    }
    let answers = (1...40).map(answer)
    #expect(Set(answers) == ["0", "1"])
    #expect((1...40).map(answer) == answers)
    #expect(lines.all.contains { $0.contains("client=192.0.2.40") })
    withExtendedLifetime(rig) {}
  }
}
