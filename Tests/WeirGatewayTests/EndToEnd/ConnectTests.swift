import Foundation
import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// CONNECT, before servers that send exact bytes.
@Suite(.slow, .timeLimit(.minutes(5)), .enabled(if: isOwnEngine)) struct ConnectTests {
  private static func place(_ port: Int) -> String { "127.0.0.1:\(port)" }

  private static func open(_ rig: GatewayRig, to port: Int) throws -> RawClient {
    let client = try rig.client()
    client.askTunnel(to: place(port))
    #expect(client.head().hasPrefix("HTTP/1.1 200 "))
    return client
  }

  private static func rest(of client: RawClient) -> String { String(decoding: client.rest(), as: UTF8.self) }

  private static func ended(_ rig: GatewayRig, _ outcome: TunnelOutcome) -> Bool {
    eventually {
      rig.sample("weir_gateway_tunnels_total{route=\"r\",outcome=\"\(outcome.rawValue)\"}") == 1
        && rig.sample("weir_gateway_open_tunnels{route=\"r\"}") == 0
    }
  }

  @Test(arguments: ["1.1", "1.0"]) func bytesPassBothWays(version: String) throws {
    let server = try ScriptedServer(Script(.bytes(5), .send("hello"), .awaitEnd, .send(" bye")))
    let rig = try GatewayRig.proxy(.connect(server.port))
    #expect(rig.sample("weir_gateway_open_tunnels{route=\"r\"}") == 0)
    let client = try rig.client()
    client.askTunnel(to: Self.place(server.port), "early", version: version)
    let head = client.head()
    #expect(head.contains(" 200 "))
    for field in ["content-length", "transfer-encoding", "connection: upgrade", "via"] {
      #expect(!head.lowercased().contains("\r\n\(field)"))
    }
    #expect(client.text(5) == "hello")
    #expect(eventually { rig.sample("weir_gateway_open_tunnels{route=\"r\"}") == 1 })
    // For all other metrics the request is over.
    #expect(eventually { rig.count("success") == 1 })
    #expect(
      eventually { rig.sample("http_server_active_requests{http_request_method=\"CONNECT\",url_scheme=\"http\"}") == 0 }
    )
    let labels = "http_request_method=\"CONNECT\",outcome=\"success\""
    #expect(eventually { rig.sample("weir_requests_total", at: server.port, labels) == 1 })
    #expect(eventually { rig.sample("http_client_active_requests", at: server.port) == 0 })
    client.halfClose()
    #expect(Self.rest(of: client) == " bye")
    #expect(!client.wasReset)
    #expect(Self.ended(rig, .success))
    #expect(rig.sample("weir_gateway_tunnel_bytes_total{route=\"r\",direction=\"to_upstream\"}") == 5)
    #expect(rig.sample("weir_gateway_tunnel_bytes_total{route=\"r\",direction=\"to_client\"}") == 9)
    // Nothing of the request went there.
    #expect(server.receivedText() == "early")
  }

  @Test func theServerMayEndItsSideFirst() throws {
    let server = try ScriptedServer(Script(.send("all"), .halfClose, .awaitEnd))
    let rig = try GatewayRig.proxy(.connect(server.port))
    let client = try Self.open(rig, to: server.port)
    #expect(Self.rest(of: client) == "all")
    client.send("late")
    client.halfClose()
    #expect(Self.ended(rig, .success))
    #expect(eventually { server.receivedText() == "late" })
  }

  @Test func phasesOfTheDialAreMeasured() throws {
    let server = try ScriptedServer(Script(.send("x"), .awaitClose))
    let rig = try GatewayRig.proxy(.connect(server.port))
    let client = try Self.open(rig, to: server.port)
    #expect(client.text(1) == "x")
    for phase in ["queue", "connect"] {
      #expect(
        eventually { rig.sample("weir_phase_duration_seconds_count", at: server.port, "phase=\"\(phase)\"") == 1 },
        "\(phase)")
    }
  }

  @Test func aDeniedAddressIsForbidden() throws {
    let server = try ScriptedServer(Script(.awaitClose))
    var route = Route.connect(server.port, policy: .publicOnly)
    route.retry.limit = 3
    let rig = try GatewayRig.proxy(route)
    for host in ["localhost", "127.0.0.1", "127.1", "[::ffff:127.0.0.1]"] {
      let client = try rig.client()
      client.askTunnel(to: "\(host):\(server.port)")
      let response = client.response()
      #expect(response?.status == 403)
      #expect(response?.text.contains("not public (loopback") == true, "\(response?.text ?? "")")
    }
    #expect(server.connectionCount == 0)
    #expect(eventually { rig.count("forbidden") == 4 })
    #expect(rig.sample("weir_gateway_tunnels_total{route=\"r\",outcome=\"success\"}") == 0)
  }

  @Test func theGatewayItselfIsForbidden() throws {
    let port = LoopbackPort.free()
    let rig = try GatewayRig(Configuration.proxy([.connect(port)], at: .loopback(port: UInt16(port))))
    let client = try rig.client()
    client.askTunnel(to: Self.place(port))
    let response = client.response()
    #expect(response?.status == 403)
    #expect(response?.text.contains("itself listens on port \(port)") == true)
  }

  @Test func aPortWithoutAListenerIsABadGateway() throws {
    let dead = LoopbackPort.free()
    var route = Route.connect(dead)
    route.retry.limit = 2
    route.retry.budget = nil
    route.retry.backoff = RouteBackoff(base: 0.001, maximum: 0.001)
    let rig = try GatewayRig.proxy(route)
    let client = try rig.client()
    client.askTunnel(to: Self.place(dead))
    let response = client.response()
    #expect(response?.status == 502)
    #expect(response?.text.hasPrefix("no tunnel to 127.0.0.1:\(dead): ") == true)
    #expect(response?.text.contains("Connection refused") == true, "\(response?.text ?? "")")
    #expect(eventually { rig.count("transport_error") == 1 })
    // Nothing was sent, so that it could be tried again.
    #expect(rig.sample("weir_retries_total", at: dead, "reason=\"cannot_connect_to_host\"") == 2)
  }

  @Test(arguments: [0.3, 30]) func aSlowDialTimesOut(connectTimeout: Double) throws {
    let full = try FullListener()
    var route = Route.connect(full.port) { $0.connectTimeout = connectTimeout }
    if connectTimeout > 1 { route.timeout = .milliseconds(300) }
    let rig = try GatewayRig.proxy(route)
    let client = try rig.client()
    client.askTunnel(to: Self.place(full.port))
    let response = client.response()
    #expect(response?.status == 504)
    #expect(response?.text == "no tunnel to 127.0.0.1:\(full.port) in time\n")
    #expect(eventually { rig.count("timeout") == 1 })
  }

  @Test func failuresOpenTheCircuit() throws {
    let dead = LoopbackPort.free()
    var route = Route.connect(dead)
    route.circuitBreaker = CircuitBreaker(failureRatio: 0.5, minimumRequests: 5, window: 10)
    let rig = try GatewayRig.proxy(route)
    func status() -> Int? {
      let client = try? rig.client()
      client?.askTunnel(to: Self.place(dead))
      return client?.response()?.status
    }
    #expect(eventually { status() == 503 })
  }

  @Test func overTheLimitIsBusy() throws {
    let server = try ScriptedServer(Script(.send("x"), .awaitEnd))
    let rig = try GatewayRig.proxy(.connect(server.port) { $0.limit = 1 })
    #expect(rig.count("busy") == 0)
    let client = try Self.open(rig, to: server.port)
    let other = try rig.client()
    other.askTunnel(to: Self.place(server.port))
    let response = other.response()
    #expect(response?.status == 503)
    #expect(response?.values("Retry-After") == ["1"])
    #expect(eventually { rig.count("busy") == 1 })
    client.halfClose()
    #expect(Self.rest(of: client) == "x")
    #expect(Self.ended(rig, .success))
    _ = try Self.open(rig, to: server.port)
  }

  @Test func aClientThatLeavesInTheDialGivesItsPlaceBack() throws {
    let full = try FullListener()
    let server = try ScriptedServer(Script(.send("x"), .awaitEnd))
    let rig = try GatewayRig.proxy(.connect(full.port, server.port) { $0.limit = 1 })
    let client = try rig.client()
    client.askTunnel(to: Self.place(full.port))
    #expect(eventually { rig.sample("weir_attempts_started_total", at: full.port) == 1 })
    client.reset()
    #expect(eventually { rig.count("cancelled") == 1 })
    #expect(try Self.open(rig, to: server.port).text(1) == "x")
  }

  @Test func silenceBothWaysCloses() throws {
    let server = try ScriptedServer(Script(.send("1"), .sleep(0.8), .send("2"), .awaitClose))
    let rig = try GatewayRig.proxy(.connect(server.port) { $0.idleTimeout = 1.5 })
    let client = try Self.open(rig, to: server.port)
    #expect(Self.rest(of: client) == "12")
    #expect(!client.wasReset)
    #expect(Self.ended(rig, .idle))
  }

  @Test func aStopWaitsAndThenCloses() async throws {
    let server = try ScriptedServer(Script(.bytes(1), .send("y"), .awaitClose))
    let rig = try GatewayRig.proxy(.connect(server.port))
    let client = try Self.open(rig, to: server.port)
    async let stopped: Void = rig.gateway.stop(grace: 1)
    client.send("x")
    #expect(client.text(1) == "y")
    #expect(Self.rest(of: client) == "")
    await stopped
    #expect(Self.ended(rig, .closed))
  }

  @Test func aReloadKeepsTunnelsAndTheirCount() async throws {
    let server = try ScriptedServer(Script(.bytes(1), .send("y"), .awaitEnd))
    let port = UInt16(LoopbackPort.free())
    let configuration = Configuration.proxy([.connect(server.port) { $0.limit = 1 }], at: .loopback(port: port))
    let rig = try GatewayRig(configuration)
    let client = try Self.open(rig, to: server.port)
    try await rig.gateway.reload(configuration)
    client.send("x")
    #expect(client.text(1) == "y")
    let other = try rig.client()
    other.askTunnel(to: Self.place(server.port))
    #expect(other.response()?.status == 503)
  }

  @Test func aLineOfTheAccessLogAtItsEnd() throws {
    let server = try ScriptedServer(Script(.send("hi"), .bytes(5), .awaitEnd)), dead = LoopbackPort.free()
    let directory = try TemporaryDirectory()
    let rig = try GatewayRig.proxy(.connect(server.port, dead)) {
      $0.accessLog = AccessLogSettings(to: .file("\(directory.path)/log"))
    }
    func lines() throws -> [[String: Any]] {
      let text = (try? String(contentsOfFile: "\(directory.path)/log", encoding: .utf8)) ?? ""
      return try text.split(separator: "\n").map { line in
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      }
    }
    let client = try Self.open(rig, to: server.port)
    #expect(client.text(2) == "hi")
    // Another line comes first, so that none of the tunnel is there yet.
    let other = try rig.client()
    other.askTunnel(to: Self.place(dead))
    #expect(other.response()?.status == 502)
    #expect(eventually { (try? lines().count) == 1 })
    client.send("early")
    client.halfClose()
    _ = client.rest()
    #expect(eventually { (try? lines().count) == 2 })
    let (failed, tunnel) = (try lines()[0], try lines()[1])
    #expect(failed["status"] as? Int == 502)
    #expect(failed["path"] as? String == Self.place(dead))
    #expect(failed["error"] as? String == "cannot_connect_to_host")
    #expect(tunnel["method"] as? String == "CONNECT")
    #expect(tunnel["path"] as? String == Self.place(server.port))
    #expect(tunnel["upstream"] as? String == Self.place(server.port))
    #expect(tunnel["status"] as? Int == 200)
    #expect(tunnel["outcome"] as? String == "success")
    #expect(tunnel["bytes_in"] as? Int == 5)
    #expect(tunnel["bytes_out"] as? Int == 2)
  }
}
