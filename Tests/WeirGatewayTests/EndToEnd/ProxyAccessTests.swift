import Testing
import WeirTestSupport

@testable import WeirGateway

/// Credentials of a forward proxy's clients, and the requests that such a listener refuses.
@Suite(.timeLimit(.minutes(5))) struct ProxyAccessTests {
  /// A gateway with a forward proxy, whose port is given, and another listener.
  private static func rig(_ routes: String...) throws -> (rig: GatewayRig, port: UInt16, other: UInt16) {
    let ports = (0..<2).map { _ in UInt16(LoopbackPort.free()) }
    let text = """
      listeners:
        - {name: egress, address: "127.0.0.1:\(ports[0])", forwardProxy: true}
        - {name: web, address: "127.0.0.1:\(ports[1])"}
      routes:
      \(routes.map { "  - {\($0)}" }.joined(separator: "\n"))
      """
    return (try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f")), ports[0], ports[1])
  }

  private static func response(
    _ port: UInt16, _ line: String, _ fields: String...
  ) throws -> RawClient.Response? {
    let client = try RawClient(port: port)
    client.send("\(line) HTTP/1.1\r\nHost: h\r\n\(fields.map { "\($0)\r\n" }.joined())\r\n")
    return client.response()
  }

  private static let auth = "auth: {bearerTokens: [token], realm: proxy}"

  @Test(arguments: ["GET http://h/", "GET /", "OPTIONS *"])
  func credentialsAreTheProxys(line: String) throws {
    let (rig, port, other) = try Self.rig("name: r, respond: {status: 200}, \(Self.auth)")
    let refused = try #require(try Self.response(port, line, "Authorization: Bearer token"))
    #expect(refused.status == 407)
    #expect(refused.head.hasPrefix("HTTP/1.1 407 Proxy Authentication Required\r\n"))
    #expect(refused.values("Proxy-Authenticate") == ["Bearer realm=\"proxy\""])
    #expect(refused.values("WWW-Authenticate") == [])
    #expect(refused.text == "valid credentials are needed\n")
    #expect(try Self.response(port, line, "Proxy-Authorization: Bearer token")?.status == 200)
    #expect(eventually { rig.count("unauthorized") == 1 })
    // Elsewhere they are the server's, as before.
    #expect(try Self.response(other, line, "Proxy-Authorization: Bearer token")?.status == 401)
    #expect(try Self.response(other, line, "Authorization: Bearer token")?.status == 200)
  }

  @Test func theUpstreamGetsItsOwnCredentialsAlone() throws {
    let upstream = try ScriptedServer(.answering(okResponse("hi")))
    let (rig, port, _) = try Self.rig(
      "name: r, match: {listener: egress}, upstream: \"http://127.0.0.1:\(upstream.port)\", \(Self.auth)")
    let response = try Self.response(
      port, "GET http://h/", "Proxy-Authorization: Bearer token", "Authorization: Bearer its", "Proxy-Connection: close"
    )
    #expect(response?.status == 200)
    let received = upstream.receivedText()
    #expect(received.contains("\r\nAuthorization: Bearer its\r\n"))
    #expect(!received.contains("Proxy-"))
    withExtendedLifetime(rig) {}
  }

  @Test(arguments: [
    ("CONNECT", 400), ("CONNECT h", 400), ("CONNECT u@h:443", 400), ("CONNECT http://h:443", 400), ("GET http:/x", 400),
    ("GET http://u:p@h/", 400), ("GET ftp://h/", 400), ("GET h:80", 400), ("GET http://h:x/", 400),
    ("CONNECT other:443", 404), ("GET http://other/", 404), ("GET /", 404), ("connect /", 501),
  ])
  func hostileTargetsAreRefused(line: String, status: Int) throws {
    let (rig, port, _) = try Self.rig(
      "name: a, match: {host: h}, upstream: {requested: {}}", "name: b, match: {host: h}, connect: {}")
    #expect(try Self.response(port, line)?.status == status)
    withExtendedLifetime(rig) {}
  }

  @Test func otherListenersMakeNoTunnels() throws {
    let (rig, _, other) = try Self.rig("name: r, match: {host: h}, connect: {}")
    let response = try Self.response(other, "CONNECT h:443")
    #expect(response?.status == 501)
    #expect(response?.text == "this gateway makes no tunnels\n")
    #expect(eventually { rig.count("refused", route: "") == 1 })
  }

  /// Bytes that a client has sent for a tunnel are no request.
  @Test func aRefusedTunnelEndsTheConnection() throws {
    let (rig, port, _) = try Self.rig("name: r, match: {host: h}, connect: {}, \(Self.auth)")
    let client = try RawClient(port: port)
    client.send("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = client.response()
    #expect(response?.status == 407)
    #expect(response?.values("Connection") == ["close"])
    #expect(client.rest().isEmpty)
    withExtendedLifetime(rig) {}
  }
}
