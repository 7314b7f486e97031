import Foundation
import Testing
import WeirTestSupport

@testable import WeirGateway

/// `/status` and `/status.json` of the program.
@Suite(.serialized, .timeLimit(.minutes(5))) struct StatusTests {
  private static let anyWeb = "--web.listen-address=127.0.0.1:0"
  private static let anyPort = "--gateway.listen-address=127.0.0.1:0"

  private func get(_ path: String, at port: UInt16?) throws -> RawClient.Response {
    let client = try RawClient(port: port ?? 0)
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return try #require(client.response())
  }

  private func status(_ weir: WeirProcess) throws -> [String: Any] {
    let response = try get("/status.json", at: weir.metricsPort)
    #expect(response.status == 200 && response.values("Content-Type") == ["application/json"])
    return try #require(try JSONSerialization.jsonObject(with: Data(response.text.utf8)) as? [String: Any])
  }

  private func list(_ name: String, _ weir: WeirProcess) throws -> [[String: Any]] {
    try #require(try status(weir)[name] as? [[String: Any]])
  }

  private func problems(_ weir: WeirProcess) throws -> [String] {
    try list("problems", weir).map { "\($0["kind"] ?? "") \($0["subject"] ?? ""): \($0["text"] ?? "")" }
  }

  @Test func theSlowOperationOfThreeIsNamed() throws {
    let answer = Array(okResponse("ok").utf8)
    let server = try ScriptedServer(
      Script(.forever([.dispatch { $0.contains("/slow/") ? [.sleep(1.2), .send(answer)] : [.send(answer)] }])))
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "weir.yml",
      """
      routes: [{ name: r, upstream: "http://127.0.0.1:\(server.port)", operations: ["/slow/{id}", "/quick/{id}", "GET /x/**"] }]

      """)
    let weir = try WeirProcess("serve", "--config.file=\(file)", Self.anyPort, Self.anyWeb)
    #expect(eventually { weir.metricsPort != nil })
    let port = try #require(weir.port(of: "forwarding"))
    let clients = try (0..<6).map { _ in try RawClient(port: port) }
    for client in clients { client.send("GET /slow/1 HTTP/1.1\r\nHost: h\r\n\r\n") }
    for path in ["/quick/1", "/x/y", "/x/z", "/other"] {
      for _ in 0..<5 { #expect(try get(path, at: port).status == 200) }
    }
    for client in clients { #expect(client.response()?.status == 200) }
    let named = "the slowest of its 3 operations is /slow/{id}"
    #expect(eventually { (try? problems(weir).contains { $0.contains(named) }) == true })
    let operations = try #require(try list("upstreams", weir).first?["operations"] as? [[String: Any]])
    // The slowest comes first. The order of the others is that of what the machine gave them.
    #expect(operations.first?["name"] as? String == "/slow/{id}")
    #expect(Set(operations.compactMap { $0["name"] as? String }) == ["/slow/{id}", "/quick/{id}", "GET /x/**"])
    let window = operations[0]["last_5m"] as? [String: Any]
    #expect(window?["requests"] as? Int == 6 && window?["failed"] as? Int == 0)
    #expect((window?["p99_seconds"] as? Double ?? 0) > 1)
    #expect(try get("/status", at: weir.metricsPort).text.contains("/slow/{id}"))
  }

  @Test func requestsShowByRouteUpstreamAndEndpoint() throws {
    let good = try ScriptedServer(.answering(okResponse("good")))
    let bad = try ScriptedServer(.answering("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"))
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "weir.yml",
      """
      upstreams: [{name: pair, endpoints: ["127.0.0.1:\(good.port)"]}]
      routes:
        - {name: "<script>", match: {pathPrefix: /bad}, upstream: "http://127.0.0.1:\(bad.port)"}
        - {name: pair, match: {pathPrefix: /pair}, upstream: pair}
        - {name: fixed, match: {path: /fixed}, respond: {status: 204}}

      """)
    let weir = try WeirProcess("serve", "--config.file=\(file)", Self.anyPort, Self.anyWeb)
    #expect(eventually { weir.metricsPort != nil })
    let port = try #require(weir.port(of: "forwarding"))
    #expect(try problems(weir).isEmpty)
    for _ in 0..<10 {
      #expect(try get("/bad/path?token=secret", at: port).status == 503)
      #expect(try get("/pair", at: port).status == 200)
    }
    #expect(try get("/fixed", at: port).status == 204)
    // A page is kept for a second.
    #expect(eventually { (try? problems(weir).count) == 1 })
    let problem = try problems(weir)
    #expect(problem == ["destination 127.0.0.1:\(bad.port): all of its requests fail, all with status 503"])

    let routes = try list("routes", weir)
    #expect(routes.map { $0["name"] as? String } == ["<script>", "pair", "fixed"])
    #expect(routes.map { $0["upstream"] as? String } == ["127.0.0.1:\(bad.port)", "pair", nil])
    let windows = routes.map { $0["last_10s"] as? [String: Any] }
    #expect(windows.map { $0?["requests"] as? Int } == [10, 10, 1])
    #expect(windows.map { $0?["failed"] as? Int } == [10, 0, 0])
    let upstreams = try list("upstreams", weir)
    let pair = try #require(upstreams.first { $0["name"] as? String == "pair" })
    let endpoint = try #require((pair["endpoints"] as? [[String: Any]])?.first)
    #expect(endpoint["address"] as? String == "127.0.0.1:\(good.port)" && endpoint["state"] as? String == "available")
    #expect(endpoint["share_10s"] as? Double == 1 && endpoint["failed_10s"] as? Int == 0)

    let failures = try list("failures", weir)
    #expect(failures.count == 10)
    let last = try #require(failures.first)
    #expect(last["route"] as? String == "<script>" && last["path"] as? String == "/bad/path")
    #expect(last["method"] as? String == "GET" && last["status"] as? Int == 503 && last["attempts"] as? Int == 1)
    #expect(last["upstream"] as? String == "127.0.0.1:\(bad.port)" && last["outcome"] as? String == "http_error")
    #expect(try list("slowest", weir).count == 21)
    #expect(try list("listeners", weir).first?["name"] as? String == "gateway")
    let configuration = try #require(try status(weir)["config"] as? [String: Any])
    #expect(configuration["file"] as? String == file && configuration["last_load_succeeded"] as? Bool == true)

    let page = try get("/status", at: weir.metricsPort)
    #expect(page.status == 200 && page.values("Content-Type") == ["text/html; charset=utf-8"])
    #expect(page.values("Content-Security-Policy").first?.hasPrefix("default-src 'none'") == true)
    #expect(page.text.contains("&lt;script&gt;") && !page.text.contains("token=secret"))
    #expect(page.text.utf8.count < 100_000)
  }

  @Test func aReloadShows() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.file("weir.yml", "routes: [{name: a, respond: {status: 204}}]\n")
    let weir = try WeirProcess(
      "serve", "--config.file=\(file)", Self.anyPort, Self.anyWeb, "--web.enable-lifecycle")
    #expect(eventually { weir.metricsPort != nil })
    func reload(_ text: String) throws {
      _ = try directory.file("weir.yml", text)
      let client = try RawClient(port: weir.metricsPort ?? 0)
      client.send("POST /-/reload HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      #expect(client.response() != nil)
    }
    try reload("routes: 1\n")
    #expect(
      eventually {
        (try? problems(weir).first?.hasPrefix("configuration \(file): the last reload was refused")) == true
      })
    try reload("routes: [{name: b, match: {path: /b}, respond: {status: 204}}, {name: c, respond: {status: 204}}]\n")
    #expect(eventually { (try? problems(weir).isEmpty) == true })
    #expect(try list("routes", weir).map { $0["name"] as? String } == ["b", "c"])
  }

  /// Behind the same door as the metrics.
  @Test func accessHoldsForThePageToo() throws {
    let directory = try TemporaryDirectory()
    let web = try directory.file("web.yml", "bearer_tokens: [abc]\n")
    let weir = try WeirProcess("serve", Self.anyPort, Self.anyWeb, "--web.config.file=\(web)")
    #expect(eventually { weir.metricsPort != nil })
    for path in ["/status", "/status.json"] { #expect(try get(path, at: weir.metricsPort).status == 401) }
  }

  @Test func otherMethodsAreRefused() throws {
    let weir = try WeirProcess("serve", Self.anyPort, Self.anyWeb)
    #expect(eventually { weir.metricsPort != nil })
    let client = try RawClient(port: weir.metricsPort ?? 0)
    client.send("POST /status HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    #expect(client.response()?.status == 405)
    #expect(try get("/", at: weir.metricsPort).text.contains("href=\"status\""))
  }
}
