import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Which clients listeners and routes let in.
@Suite(.timeLimit(.minutes(5))) struct AccessTests {
  /// A gateway whose listener `a` and whose route `r` have these further keys, with its port.
  private static func rig(
    listener: String = "", route: String = "respond: {status: 200}", address: String? = nil, more: String = ""
  ) throws -> (rig: GatewayRig, port: UInt16) {
    let port = UInt16(LoopbackPort.free())
    let text = """
      listeners: [{name: a, address: "\(address ?? "127.0.0.1:\(port)")"\(listener)}]
      routes: [{name: r, \(route)}\(more)]
      """
    return (try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f")), port)
  }

  private static func status(_ port: UInt16, _ fields: String = "", before: String = "") throws -> Int? {
    let client = try RawClient(port: port)
    client.send("\(before)GET / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
    return client.response()?.status
  }

  private static let closed = "weir_listener_connections_closed_total{listener=\"a\",reason=\"refused\"}"

  // MARK: Clients

  @Test func aListenerClosesAtAccept() throws {
    let (rig, port) = try Self.rig(listener: ", clients: {deny: [127.0.0.0/8]}")
    let client = try RawClient(port: port)
    #expect(client.rest().isEmpty)
    #expect(eventually { rig.sample(Self.closed) == 1 })
    #expect(rig.sample("weir_listener_connections_accepted_total{listener=\"a\"}") == 1)
    #expect(rig.sample("weir_listener_connections{listener=\"a\",state=\"idle\"}") == 0)
    #expect(rig.count("forbidden", route: "") == nil, "no request was read")
    let (other, otherPort) = try Self.rig(listener: ", trustedProxies: [], clients: {allow: [10.0.0.0/8]}")
    #expect(try RawClient(port: otherPort).rest().isEmpty)
    #expect(eventually { other.sample(Self.closed) == 1 })
  }

  @Test func aListenerOfAUnixSocketJudgesByTheWord() throws {
    for (rules, expected) in [("allow: [unix]", 200), ("deny: [127.0.0.1]", 200), ("deny: [unix]", nil)]
      as [(String, Int?)]
    {
      let path = FileManager.default.temporaryDirectory.appending(path: "access-\(UUID().uuidString.prefix(8)).sock")
        .path
      let (rig, _) = try Self.rig(listener: ", clients: {\(rules)}", address: "unix:\(path)")
      let client = try RawClient(path: path)
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == expected, "\(rules)")
      withExtendedLifetime(rig) {}
    }
  }

  /// The rules, the client as the proxy reports it, and the status.
  @Test(
    arguments: [
      ("allow: [192.0.2.0/24]", "192.0.2.7", 200), ("allow: [192.0.2.0/24]", "::ffff:192.0.2.7", 200),
      ("allow: [192.0.2.0/24]", "198.51.100.1", 403), ("allow: [192.0.2.0/24]", nil, 403),
      ("deny: [192.0.2.0/24]", "192.0.2.7", 403), ("deny: [192.0.2.0/24]", "::ffff:192.0.2.7", 403),
      ("deny: [192.0.2.0/24]", nil, 200), ("deny: [2001:db8::/32]", "2001:db8::9", 403),
      ("deny: [2001:db8::/32]", "2001:db9::9", 200), ("deny: [127.0.0.1]", "192.0.2.7", 200),
      ("deny: [127.0.0.1]", nil, 403), ("allow: [unix]", "192.0.2.7", 403),
      ("allow: [192.0.0.0/16], deny: [192.0.2.7]", "192.0.2.7", 403),
      ("allow: [192.0.0.0/16], deny: [192.0.2.7]", "192.0.2.8", 200),
    ] as [(String, String?, Int)])
  func behindAProxyTheReportedClientCounts(rules: String, client: String?, status: Int) throws {
    let field = client.map { "X-Forwarded-For: \($0)\r\n" } ?? ""
    let quoted = rules.replacing("2001:db8::/32", with: "\"2001:db8::/32\"")
    let (rig, port) = try Self.rig(listener: ", trustedProxies: [127.0.0.1], clients: {\(quoted)}")
    #expect(try Self.status(port, field) == status)
    #expect(eventually { rig.count("forbidden", route: "") == (status == 403 ? 1 : 0) })
    let (other, otherPort) = try Self.rig(
      listener: ", trustedProxies: [127.0.0.1]", route: "respond: {status: 200}, clients: {\(quoted)}")
    #expect(try Self.status(otherPort, field) == status)
    #expect(eventually { other.count("forbidden") == (status == 403 ? 1 : 0) })
    #expect(other.count("forbidden", route: "") == nil)
  }

  @Test func aPROXYHeaderTellsTheClient() throws {
    let (rig, port) = try Self.rig(listener: ", proxyProtocol: true, clients: {allow: [192.0.2.0/24]}")
    #expect(try Self.status(port, before: "PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n") == 200)
    #expect(try Self.status(port, before: "PROXY TCP4 192.0.3.7 127.0.0.1 4711 80\r\n") == 403)
    #expect(eventually { rig.count("forbidden", route: "") == 1 })
  }

  @Test func aRouteRefusesAndOthersDont() throws {
    let (rig, port) = try Self.rig(
      route: "match: {path: /}, respond: {status: 200}, clients: {deny: [127.0.0.1]}",
      more: ", {name: open, respond: {status: 201}}")
    let client = try RawClient(port: port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = client.response()
    #expect(response?.status == 403)
    #expect(response?.text == "this client is not allowed here\n")
    client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 201, "the connection stays")
    #expect(eventually { rig.count("forbidden") == 1 })
    #expect(rig.count("forbidden", route: "open") == nil, "only routes with rules have the series")
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
  }

  @Test func aReloadChangesTheRules() async throws {
    let port = UInt16(LoopbackPort.free())
    func configuration(_ listener: String, _ route: String) throws -> Configuration {
      let text = """
        listeners: [{name: a, address: "127.0.0.1:\(port)"\(listener)}]
        routes: [{name: r, respond: {status: 200}\(route)}]
        """
      return try Configuration(parsing: Array(text.utf8), file: "f")
    }
    let rig = try GatewayRig(configuration("", ""))
    #expect(try Self.status(port) == 200)
    try await rig.gateway.reload(configuration(", clients: {deny: [127.0.0.1]}", ""))
    #expect(try RawClient(port: port).rest().isEmpty)
    try await rig.gateway.reload(configuration("", ", clients: {deny: [127.0.0.1]}"))
    #expect(try Self.status(port) == 403)
    try await rig.gateway.reload(configuration("", ""))
    #expect(try Self.status(port) == 200)
  }

  // MARK: Conditions

  @Test func conditionsOnTheSenderChooseTheRoute() throws {
    let ports = (0..<2).map { _ in UInt16(LoopbackPort.free()) }
    let text = """
      listeners:
        - {name: a, address: "127.0.0.1:\(ports[0])", trustedProxies: [127.0.0.1]}
        - {name: b, address: "127.0.0.1:\(ports[1])", trustedProxies: [127.0.0.1]}
      routes:
        - {name: any, respond: {status: 200}}
        - {name: b, match: {listener: b}, respond: {status: 201}}
        - {name: net, match: {clients: [192.0.2.0/24]}, respond: {status: 202}}
        - {name: both, match: {clients: [192.0.2.0/24], listener: [b]}, respond: {status: 203}}
        - {name: none, match: {path: /x, clients: [198.51.100.1]}, respond: {status: 204}}
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
    #expect(try Self.status(ports[0]) == 200)
    #expect(try Self.status(ports[1]) == 201)
    #expect(try Self.status(ports[0], "X-Forwarded-For: 192.0.2.1\r\n") == 202)
    #expect(try Self.status(ports[1], "X-Forwarded-For: 192.0.2.1\r\n") == 203)
    let client = try RawClient(port: ports[0])
    client.send("GET /x HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 198.51.100.1\r\n\r\n")
    #expect(client.response()?.status == 204)
    withExtendedLifetime(rig) {}
  }
}

extension RawClient {
  /// The status of a response to one request, with a field that has credentials.
  func status(_ authorization: String? = nil, path: String = "/") -> Int? {
    send("GET \(path) HTTP/1.1\r\nHost: h\r\n\(authorization.map { "Authorization: \($0)\r\n" } ?? "")\r\n")
    return response()?.status
  }
}
