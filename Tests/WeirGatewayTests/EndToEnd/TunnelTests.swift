import Foundation
import Testing
import Weir
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Requests that ask for another protocol, before upstreams that send exact bytes.
@Suite(.slow, .timeLimit(.minutes(5)), .enabled(if: isOwnEngine)) struct TunnelTests {
  private static let request = asking("Connection: keep-alive, Upgrade", "Upgrade: h2c, WebSocket")
  private static let switching = "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Accept: a\r\n\r\n"
  private static let head =
    "HTTP/1.1 101 Switching Protocols\r\nX-Accept: a\r\nVia: 1.1 weir\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"

  private static func asking(_ lines: String..., by line: String = "GET /chat HTTP/1.1") -> String {
    "\(line)\r\nHost: h\r\n\(lines.map { $0 + "\r\n" }.joined())Sec-WebSocket-Key: k\r\n\r\n"
  }

  private static func route(
    to port: Int, _ change: (inout TunnelRule) -> Void = { _ in }
  ) throws -> Route {
    var route = try Route(to: port)
    var rule = TunnelRule(protocols: ["websocket", "other"])
    change(&rule)
    route.upgrade = rule
    return route
  }

  private static func open(_ rig: GatewayRig) throws -> RawClient {
    let client = try rig.client()
    client.send(request)
    #expect(head(of: client) == head)
    return client
  }

  private static func head(of client: RawClient) -> String {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8), client.read(1, into: &bytes) {}
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func text(_ count: Int, of client: RawClient) -> String {
    var bytes: [UInt8] = []
    return client.read(count, into: &bytes) ? String(decoding: bytes, as: UTF8.self) : "the connection has ended"
  }

  private static func rest(of client: RawClient) -> String { String(decoding: client.rest(), as: UTF8.self) }

  private static func ended(_ rig: GatewayRig, _ outcome: TunnelOutcome) -> Bool {
    eventually {
      rig.sample("weir_gateway_tunnels_total{route=\"r\",outcome=\"\(outcome.rawValue)\"}") == 1
        && rig.sample("weir_gateway_open_tunnels{route=\"r\"}") == 0
    }
  }

  @Test func bytesPassBothWays() throws {
    let server = try ScriptedServer(
      Script(.head, .send(Self.switching + "hi "), .bytes(5), .send("again"), .awaitEnd, .send(" bye")))
    let rig = try GatewayRig(Self.route(to: server.port))
    #expect(rig.sample("weir_gateway_open_tunnels{route=\"r\"}") == 0)
    let client = try rig.client()
    client.send(Self.request + "early")
    #expect(Self.head(of: client) == Self.head)
    #expect(Self.text(8, of: client) == "hi again")
    #expect(eventually { rig.sample("weir_gateway_open_tunnels{route=\"r\"}") == 1 })
    // For all other metrics the request is over.
    #expect(eventually { rig.count("success") == 1 })
    #expect(
      eventually { rig.sample("http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"}") == 0 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    client.halfClose()
    #expect(Self.rest(of: client) == " bye")
    #expect(!client.wasReset)
    #expect(Self.ended(rig, .success))
    #expect(rig.sample("weir_gateway_tunnel_bytes_total{route=\"r\",direction=\"to_upstream\"}") == 5)
    #expect(rig.sample("weir_gateway_tunnel_bytes_total{route=\"r\",direction=\"to_client\"}") == 12)
    let received = server.receivedText()
    #expect(received.contains("\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n"))
    #expect(received.contains("\r\nSec-WebSocket-Key: k\r\n"))
    #expect(received.hasSuffix("\r\n\r\nearly"))
  }

  @Test func theUpstreamMayEndItsSideFirst() throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching + "all"), .halfClose, .awaitEnd))
    let rig = try GatewayRig(Self.route(to: server.port))
    let client = try Self.open(rig)
    #expect(Self.rest(of: client) == "all")
    client.send("late")
    client.halfClose()
    #expect(Self.ended(rig, .success))
    #expect(eventually { server.receivedText().hasSuffix("\r\n\r\nlate") })
  }

  @Test func anotherResponseIsAResponse() throws {
    let server = try ScriptedServer(
      .answering("HTTP/1.1 426 No\r\nUpgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 4\r\n\r\nbody"))
    let rig = try GatewayRig(Self.route(to: server.port) { $0.limit = 1 })
    let client = try rig.client()
    for _ in 0..<3 {
      client.send(Self.request)
      let response = client.response()
      #expect(response?.status == 426)
      #expect(response?.text == "body")
      #expect(response?.values("Upgrade") == ["websocket"])
    }
  }

  @Test(arguments: [
    asking("Upgrade: websocket"), asking("Connection: upgrade", "Upgrade: h2c"), asking("Connection: upgrade"),
    asking("Connection: upgrade", "Upgrade: websocket", by: "OPTIONS / HTTP/1.1"),
    asking("Connection: upgrade", "Upgrade: websocket", by: "GET / HTTP/1.0"),
    asking("Connection: upgrade", "Upgrade: websocket", "Content-Length: 0", by: "POST / HTTP/1.1"),
  ])
  func otherRequestsAskForNothing(request: String) throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    let rig = try GatewayRig(Self.route(to: server.port))
    let client = try rig.client()
    client.send(request)
    #expect(client.response()?.status == 200)
    #expect(!server.receivedText().contains("pgrade"))
  }

  @Test func aRouteWithoutTheKeyAsksForNothing() throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    let rig = try GatewayRig(Route(to: server.port))
    let client = try rig.client()
    client.send(Self.request)
    #expect(client.response()?.status == 200)
    #expect(!server.receivedText().contains("pgrade"))
    #expect(!rig.registry.text().contains("weir_gateway_open_tunnels{"))
  }

  @Test(arguments: ["Upgrade: other, x", "Upgrade: x", "X: y"])
  func aProtocolThatWasNotAskedForIsABadGateway(field: String) throws {
    let server = try ScriptedServer(Script(.head, .send("HTTP/1.1 101 Go\r\n\(field)\r\n\r\nabc"), .awaitClose))
    let rig = try GatewayRig(Self.route(to: server.port))
    let client = try rig.client()
    client.send(Self.request)
    #expect(client.response()?.status == 502)
    #expect(eventually { rig.count("transport_error") == 1 })
  }

  @Test func overTheLimitIsBusy() throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching), .awaitEnd))
    let rig = try GatewayRig(Self.route(to: server.port) { $0.limit = 1 })
    #expect(rig.count("busy") == 0)
    let client = try Self.open(rig)
    let other = try rig.client()
    other.send(Self.request)
    let response = other.response()
    #expect(response?.status == 503)
    #expect(response?.values("Retry-After") == ["1"])
    #expect(eventually { rig.count("busy") == 1 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    client.halfClose()
    #expect(Self.rest(of: client) == "")
    #expect(Self.ended(rig, .success))
    _ = try Self.open(rig)
  }

  @Test func silenceBothWaysCloses() throws {
    let server = try ScriptedServer(
      Script(.head, .send(Self.switching), .sleep(0.8), .send("1"), .sleep(0.8), .send("2"), .awaitClose))
    let rig = try GatewayRig(Self.route(to: server.port) { $0.idleTimeout = 1.5 })
    let client = try Self.open(rig)
    #expect(Self.rest(of: client) == "12")
    #expect(!client.wasReset)
    #expect(Self.ended(rig, .idle))
    #expect(eventually { server.closedByClientCount == 1 })
  }

  @Test func aClientThatIsGoneEndsTheUpstreamsSide() throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching), .bytes(1), .awaitClose))
    let rig = try GatewayRig(Self.route(to: server.port))
    let client = try Self.open(rig)
    client.send("x")
    #expect(eventually { server.receivedText().hasSuffix("x") })
    client.reset()
    #expect(eventually { server.closedByClientCount == 1 })
    #expect(Self.ended(rig, .clientLeft))
  }

  @Test func anUpstreamThatIsGoneEndsTheClientsSide() throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching), .bytes(1), .reset))
    let rig = try GatewayRig(Self.route(to: server.port))
    let client = try Self.open(rig)
    client.send("x")
    #expect(Self.rest(of: client) == "")
    #expect(client.wasReset)
    #expect(Self.ended(rig, .upstreamFailed))
  }

  @Test func timeoutAndRetriesEndWithTheHead() throws {
    let server = try ScriptedServer(
      .once("HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
      Script(.head, .send(Self.switching), .sleep(3), .send("late"), .awaitEnd))
    var route = try Self.route(to: server.port)
    route.timeout = .seconds(2)
    route.retry.limit = 1
    let rig = try GatewayRig(route)
    let client = try Self.open(rig)
    #expect(Self.text(4, of: client) == "late")
    #expect(eventually { rig.count("success") == 1 })
    let destination = "server_address=\"127.0.0.1\",server_port=\"\(server.port)\""
    let active = rig.registry.text().split(separator: "\n").first {
      $0.hasPrefix("http_client_active_requests{") && $0.contains(destination)
    }
    #expect(active?.hasSuffix(" 0") == true)
    client.halfClose()
    #expect(Self.ended(rig, .success))
  }

  @Test func aStopWaitsAndThenCloses() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching), .bytes(1), .send("y"), .awaitClose))
    let rig = try GatewayRig(Self.route(to: server.port))
    let client = try Self.open(rig)
    async let stopped: Void = rig.gateway.stop(grace: 1)
    client.send("x")
    #expect(Self.text(1, of: client) == "y")
    #expect(Self.rest(of: client) == "")
    await stopped
    #expect(Self.ended(rig, .closed))
  }

  @Test func aReloadKeepsTunnelsAndTheirCount() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching), .bytes(1), .send("y"), .awaitEnd))
    let rig = try GatewayRig(Self.route(to: server.port) { $0.limit = 1 })
    let client = try Self.open(rig)
    try await rig.gateway.reload(Configuration(routes: [Self.route(to: server.port) { $0.limit = 1 }]))
    client.send("x")
    #expect(Self.text(1, of: client) == "y")
    let other = try rig.client()
    other.send(Self.request)
    #expect(other.response()?.status == 503)
  }

  @Test(arguments: ["CONNECT h:1", "connect /", "Connect /chat"])
  func connectMakesNoTunnel(line: String) throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    let rig = try GatewayRig(Self.route(to: server.port))
    let client = try rig.client()
    client.send(Self.asking("Connection: upgrade", "Upgrade: websocket", by: "\(line) HTTP/1.1"))
    #expect(client.response()?.status == 501)
    #expect(server.connectionCount == 0)
  }

  /// Switches, sends many bytes and ends, with close_notify or without.
  private static let sender = """
    import socket, ssl, sys
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("127.0.0.1", int(sys.argv[3])))
    while True:
        try:
            c = context.wrap_socket(listener.accept()[0], server_side=True)
            while not c.recv(65536).endswith(b"\\r\\n\\r\\n"): pass
            c.sendall(b"HTTP/1.1 101 Go\\r\\nUpgrade: websocket\\r\\n\\r\\n" + b"x" * int(sys.argv[4]))
            if sys.argv[5] == "whole": c.unwrap()
            c.close()
        except OSError: pass
    """

  /// More than the sockets hold comes before the end, so much of it still waits for the client then.
  @Test(.enabled(if: Tool.openssl.isInstalled && Tool(named: "python3").isInstalled), arguments: ["whole", "cut"])
  func allThatCameByTLSIsPassedOn(end: String) async throws {
    let (certificates, port, count) = (try await TestCertificates(), LoopbackPort.free(), 16_000_000)
    let pair = certificates.server
    let server = try Peer(
      Tool(named: "python3"), ["-c", Self.sender, pair.certificate, pair.key, "\(port)", "\(count)", end])
    try await server.waitForPort(port)
    let text = """
      routes:
        - name: r
          upstream: {url: "https://127.0.0.1:\(port)", tls: {ca: \(certificates.authority.certificate)}}
          upgrade: [websocket]
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "weir.yml"))
    let client = try rig.client()
    client.send(Self.request)
    #expect(Self.head(of: client).hasPrefix("HTTP/1.1 101 "))
    if end == "whole" { client.halfClose() }
    #expect(client.discard(count + 1) == count)
    #expect(!client.wasReset)
    #expect(Self.ended(rig, end == "whole" ? .success : .upstreamFailed))
  }
}
