import Foundation
import Testing
import WeirTestSupport

/// The program itself, steered by signals.
@Suite(.slow, .serialized) struct SignalTests {
  private static let anyPort = ["--gateway.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0"]

  @Test func itServesWithoutConfigurationAndEndsOnSIGTERM() throws {
    let weir = try WeirProcess("serve", Self.anyPort[0], Self.anyPort[1])
    #expect(eventually { weir.port(of: "forwarding") != nil })
    let client = try RawClient(port: weir.port(of: "forwarding") ?? 0)
    client.send("GET /flaky HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    #expect(client.response()?.text == "third time lucky\n")
    weir.send(SIGTERM)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 0)
  }

  /// For load balancers: not ready, but taking requests, until the delay or a second signal ends it.
  @Test func theShutdownDelayGoesOnAccepting() throws {
    let weir = try WeirProcess("serve", Self.anyPort[0], Self.anyPort[1], "--gateway.shutdown-delay=1h")
    #expect(eventually { weir.port(of: "forwarding") != nil })
    #expect(eventually { (try? Self.status(of: "/-/ready", weir)) == 200 })
    weir.send(SIGTERM)
    #expect(eventually { (try? Self.status(of: "/-/ready", weir)) == 503 })
    let client = try RawClient(port: weir.port(of: "forwarding") ?? 0)
    for _ in 0..<2 {
      client.send("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = client.response()
      #expect(response?.status == 200 && response?.values("Connection") == [])
    }
    weir.send(SIGTERM)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 0)
    #expect(client.rest().isEmpty && !client.wasReset)
  }

  @Test func aSecondSIGTERMDoesNotWait() throws {
    let weir = try WeirProcess("serve", Self.anyPort[0], Self.anyPort[1], "--gateway.drain-timeout=1h")
    #expect(eventually { weir.port(of: "forwarding") != nil })
    let client = try RawClient(port: weir.port(of: "forwarding") ?? 0)
    client.send("GET /delay/60s HTTP/1.1\r\nHost: h\r\n\r\n")
    // Not before the request is under way: there would be nothing to wait for.
    let active = "http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"} 1\n"
    #expect(eventually { (try? Self.page(weir).contains(active)) == true })
    weir.send(SIGTERM)
    #expect(eventually { weir.text.contains("draining") })
    #expect(weir.exitStatus == nil)
    weir.send(SIGTERM)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 1)
  }

  @Test func aBadFileKeepsTheOldConfiguration() throws {
    let one = try ScriptedServer(.answering(okResponse("one"))), two = try ScriptedServer(.answering(okResponse("two")))
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString).yml")
    defer { try? FileManager.default.removeItem(at: file) }
    func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
    try write("routes: [{name: a, upstream: 'http://127.0.0.1:\(one.port)'}]\n")
    let weir = try WeirProcess("serve", "--config.file=\(file.path)", Self.anyPort[0], Self.anyPort[1])
    #expect(eventually { weir.port(of: "forwarding") != nil })
    let port = weir.port(of: "forwarding") ?? 0

    try write("routes: [{nam: a}, {name: b, upstream: ftp://x}]\n")
    weir.send(SIGHUP)
    #expect(eventually { weir.text.contains("the configuration stays as it was") })
    // Every problem, not the first one alone.
    #expect(
      eventually { weir.text.contains("unknown key") && weir.text.contains("the scheme must be http or https") })
    #expect(try Self.answer(port) == "one")
    #expect(try Self.page(weir).contains("weir_config_last_reload_successful 0\n"))

    try write("routes: [{name: a, upstream: 'http://127.0.0.1:\(two.port)'}]\n")
    weir.send(SIGHUP)
    #expect(eventually { weir.text.contains("configuration reloaded") })
    #expect(try Self.answer(port) == "two")
    #expect(try Self.page(weir).contains("weir_config_last_reload_successful 1\n"))
  }

  @Test func aBadFileAtTheStartEndsIt() throws {
    let weir = try WeirProcess("serve", "--config.file=/nonexistent/weir.yml", Self.anyPort[0], Self.anyPort[1])
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 1)
    #expect(eventually { weir.text.contains("can't be read") })
  }

  @Test func probeTellsByItsStatusWhetherAResponseCame() throws {
    let upstream = try ScriptedServer(.answering("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"))
    let answered = try WeirProcess("probe", upstream.url)
    #expect(eventually { answered.exitStatus != nil })
    #expect(answered.exitStatus == 0)
    #expect(eventually { answered.text.contains("total") })
    #expect(answered.text.hasPrefix("500 over HTTP/1.1\n"))
    upstream.stop()
    let refused = try WeirProcess("probe", "http://127.0.0.1:1/")
    #expect(eventually { refused.exitStatus != nil })
    #expect(refused.exitStatus == 1)
    #expect(eventually { refused.text.hasPrefix("no response: ") })
  }

  @Test func probeTellsABrokenBodyFromAWholeOne() throws {
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12"), .close))
    let probe = try WeirProcess("probe", upstream.url)
    #expect(eventually { probe.exitStatus != nil })
    #expect(probe.exitStatus == 1)
    #expect(eventually { probe.text.contains("total") })
    #expect(probe.text.hasPrefix("200 over HTTP/1.1, then it broke off: "), "\(probe.text)")
    #expect(probe.text.contains("2 bytes, incomplete"), "\(probe.text)")
  }

  private static func answer(_ port: UInt16) throws -> String? {
    let client = try RawClient(port: port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return client.response()?.text
  }

  private static func status(of path: String, _ weir: WeirProcess) throws -> Int? {
    let client = try RawClient(port: weir.metricsPort ?? 0)
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return client.response()?.status
  }

  private static func page(_ weir: WeirProcess) throws -> String {
    let client = try RawClient(port: weir.metricsPort ?? 0)
    client.send("GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return client.response()?.text ?? ""
  }
}
