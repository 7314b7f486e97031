import Foundation
import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Requests of clients for which the gateway is a proxy, in absolute form.
@Suite(.slow, .timeLimit(.minutes(5))) struct RequestedUpstreamTests {
  private static func get(_ url: String, host: String = "h") -> String {
    "GET \(url) HTTP/1.1\r\nHost: \(host)\r\n\r\n"
  }

  @Test func eachAuthorityIsADestination() throws {
    let servers = try ["a", "b"].map { try ScriptedServer(.answering(okResponse($0))) }
    let rig = try GatewayRig.proxy(.requested(servers[0].port, servers[1].port))
    let client = try rig.client()
    for round in 1...2 {
      for (server, text) in zip(servers, ["a", "b"]) {
        client.send(Self.get("http://127.0.0.1:\(server.port)/x?\(round)"))
        let response = client.response()
        #expect(response?.status == 200)
        #expect(response?.text == text)
      }
    }
    for server in servers {
      let received = server.receivedText()
      #expect(received.hasPrefix("GET /x?1 HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
      #expect(server.connectionCount == 1)
      #expect(eventually { rig.sample("weir_request_attempts_count", at: server.port) == 2 })
    }
    #expect(rig.count("success") == 4)
  }

  @Test func aCircuitIsOfOneAuthority() throws {
    let good = try ScriptedServer(.answering(okResponse("in")))
    let bad = try ScriptedServer(.answering("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"))
    var route = Route.requested(good.port, bad.port)
    route.circuitBreaker = CircuitBreaker(failureRatio: 0.5, minimumRequests: 5, window: 10)
    let rig = try GatewayRig.proxy(route)
    let client = try rig.client()
    func status(of server: ScriptedServer) -> Int? {
      client.send(Self.get(server.url))
      return client.response()?.status
    }
    #expect(eventually { status(of: bad) == 503 })
    for _ in 0..<5 { #expect(status(of: good) == 200) }
  }

  @Test(.enabled(if: Tool.openssl.isInstalled)) func httpIsSentOutByTLS() async throws {
    let (certificates, port) = (try await TestCertificates(), LoopbackPort.free())
    let pair = certificates.server
    let server = try Peer(
      Tool.openssl, ["s_server", "-accept", "\(port)", "-cert", pair.certificate, "-key", pair.key, "-www"])
    try await server.waitForPort(port)
    var route = Route.requested(port, scheme: .https)
    route.tls = UpstreamTLS(
      authority: Array(try Data(contentsOf: URL(fileURLWithPath: certificates.authority.certificate))))
    let rig = try GatewayRig.proxy(route)
    let client = try rig.client()
    client.send(Self.get("http://localhost:\(port)/"))
    let response = client.response()
    #expect(response?.status == 200)
    #expect(response?.text.contains("TLSv1.3") == true)
  }

  @Test func aDeniedAddressIsForbidden() throws {
    let server = try ScriptedServer(.answering(okResponse("in")))
    var route = Route.requested(server.port, policy: .publicOnly)
    route.retry.limit = 3
    let rig = try GatewayRig.proxy(route)
    #expect(rig.count("forbidden") == 0)
    let client = try rig.client()
    for host in ["localhost", "127.0.0.1"] {
      client.send(Self.get("http://\(host):\(server.port)/"))
      let response = client.response()
      #expect(response?.status == 403)
      #expect(response?.text.hasPrefix("\(host):\(server.port) can't be reached through this gateway: ") == true)
      #expect(response?.text.contains("not public (loopback") == true)
      #expect(response?.values("X-Weir-Refused") == [])
    }
    #expect(server.connectionCount == 0)
    #expect(eventually { rig.count("forbidden") == 2 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    // A client that asks for what it must not get is no failure of the server.
    #expect(eventually { rig.sample("weir_request_attempts_sum", at: server.port, host: "localhost") == 1 })
    #expect(rig.sample("weir_requests_failed_total", at: server.port, host: "localhost") == 0)
  }

  @Test func theGatewaysOwnListenersAreForbidden() async throws {
    let metrics = try ScriptedServer(.answering(okResponse("metrics")))
    let port = LoopbackPort.free(), next = LoopbackPort.free()
    let route = Route.requested(port, next, metrics.port)
    let rig = try GatewayRig(Configuration.proxy([route], at: .loopback(port: UInt16(port))))
    rig.gateway.listens(at: .loopback(port: UInt16(metrics.port)), as: "metrics")
    func answer(_ url: String, at port: Int) throws -> String? {
      let client = try RawClient(port: UInt16(port))
      client.send(Self.get(url))
      return client.response()?.text
    }
    for own in [port, metrics.port] {
      let text = try answer("http://127.0.0.1:\(own)/", at: port)
      #expect(text?.hasSuffix(": this gateway itself listens on port \(own) of 127.0.0.1\n") == true)
    }
    #expect(metrics.connectionCount == 0)
    // All addresses of the machine, from a reload on.
    try await rig.gateway.reload(.proxy([route], at: .any(port: UInt16(next))))
    for host in ["127.0.0.1", "127.8.8.8", "0.0.0.0"] {
      #expect(try answer("http://\(host):\(next)/", at: next)?.contains("itself listens on port \(next)") == true)
    }
    #expect(try answer("http://127.0.0.1:\(port)/", at: next) == "the upstream can't be reached or broke off\n")
  }

  @Test func eachAuthorityGetsTheRoutesSecrets() throws {
    let servers = try (0..<2).map { _ in try ScriptedServer(.answering(okResponse("in"))) }
    let secret = try TemporaryFile("s3cret")
    let text = """
      listeners: [{name: egress, address: "127.0.0.1:\(LoopbackPort.free())", forwardProxy: true}]
      credentials: [{name: key, field: {name: X-API-Key, value: {file: "\(secret.path)"}}}]
      routes:
        - name: r
          match: {host: 127.0.0.1}
          upstream: {requested: {ports: [\(servers[0].port), \(servers[1].port)]}}
          destinationPolicy: {otherwise: any}
          credential: key
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "weir.yml"))
    let client = try rig.client()
    for server in servers + servers {
      client.send(Self.get(server.url))
      #expect(client.response()?.status == 200)
    }
    for server in servers {
      #expect(server.receivedText().components(separatedBy: "\r\nX-API-Key: s3cret\r\n").count == 3)
    }
  }

  @Test func aReloadKeepsWhatIsKnownOfAnAuthority() async throws {
    let bad = try ScriptedServer(.answering("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"))
    var route = Route.requested(bad.port)
    route.circuitBreaker = CircuitBreaker(failureRatio: 0.5, minimumRequests: 5, window: 60)
    let port = UInt16(LoopbackPort.free())
    let rig = try GatewayRig(Configuration.proxy([route], at: .loopback(port: port)))
    let client = try rig.client()
    func status() -> Int? {
      client.send(Self.get(bad.url))
      return client.response()?.status
    }
    #expect(eventually { status() == 503 })
    #expect(rig.sample("weir_circuit_state", at: bad.port, "state=\"closed\"") == 0)
    try await rig.gateway.reload(.proxy([route], at: .loopback(port: port)))
    #expect(rig.sample("weir_circuit_state", at: bad.port, "state=\"closed\"") == 0)
    // Without the breaker nothing tells of it.
    route.circuitBreaker = nil
    try await rig.gateway.reload(.proxy([route], at: .loopback(port: port)))
    #expect(status() == 500)
    #expect(rig.sample("weir_circuit_state", at: bad.port, "state=\"closed\"") == nil)
  }

  @Test func theAccessLogNamesTheAuthority() throws {
    let server = try ScriptedServer(.answering(okResponse("in")))
    let directory = try TemporaryDirectory()
    let rig = try GatewayRig.proxy(.requested(server.port)) {
      $0.accessLog = AccessLogSettings(to: .file("\(directory.path)/log"))
    }
    let client = try rig.client()
    client.send(Self.get("http://127.0.0.1:\(server.port)/x", host: "other"))
    #expect(client.response()?.status == 200)
    func log() -> String { (try? String(contentsOfFile: "\(directory.path)/log", encoding: .utf8)) ?? "" }
    #expect(eventually { log().hasSuffix("\n") })
    #expect(log().contains("\"upstream\":\"127.0.0.1:\(server.port)\""))
    #expect(log().contains("\"host\":\"127.0.0.1:\(server.port)\""))
  }
}
