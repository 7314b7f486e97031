import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Entries of `upstreams` with written endpoints, as clients and upstreams see them.
@Suite(.timeLimit(.minutes(5))) struct UpstreamRoutingTests {
  private func rig(_ text: String, log: Logger = Logger(level: .error)) throws -> GatewayRig {
    try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"), log: log)
  }

  private func server(_ name: String) throws -> ScriptedServer {
    try ScriptedServer(Script(.forever([.head, .send(okResponse(name))])))
  }

  private func get(_ rig: GatewayRig, _ path: String = "/", _ fields: String = "") throws -> RawClient.Response? {
    let client = try rig.client()
    client.send("GET \(path) HTTP/1.1\r\nHost: h.example\r\n\(fields)Connection: close\r\n\r\n")
    return client.response()
  }

  /// A port at which nothing listens.
  private func closedPort() throws -> Int {
    let server = try server("x")
    defer { withExtendedLifetime(server) {} }
    return server.port
  }

  // MARK: Endpoints

  @Test func requestsGoToAllEndpointsWithTheirOwnHost() throws {
    let one = try server("one"), two = try server("two")
    let rig = try rig(
      """
      upstreams:
        - name: both
          endpoints: ["127.0.0.1:\(one.port)", {address: "127.1:\(two.port)", weight: 2}]
          balance: roundRobin
          basePath: /base
      routes: [{name: r, match: {pathPrefix: /v1}, upstream: both, stripPrefix: true}]
      """)
    var texts: [String] = []
    for _ in 0..<6 { texts.append(try get(rig, "/v1/a?b")?.text ?? "") }
    #expect(texts.count { $0 == "one" } == 2)
    #expect(texts.count { $0 == "two" } == 4)
    for (server, count) in [(one, 2), (two, 4)] {
      let heads = server.requests
      #expect(heads.count == count)
      #expect(heads.allSatisfy { $0.hasPrefix("GET /base/a?b HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n") })
    }
    let labels = "server_address=\"both\",server_port=\"80\""
    #expect(eventually { rig.sample("weir_request_attempts_count{\(labels)}") == 6 })
  }

  @Test(arguments: [
    ("host: other.example:81", "Host: other.example:81"), ("host: client", "Host: h.example"),
    ("slowStart: off", "Host: 127.0.0.1:PORT"),
  ])
  func hostIsWhatTheEntrySays(key: String, line: String) throws {
    let server = try server("x")
    let rig = try rig(
      """
      upstreams: [{name: u, endpoints: ["127.0.0.1:\(server.port)"], \(key)}]
      routes: [{name: r, upstream: u}]
      """)
    #expect(try get(rig)?.status == 200)
    let head = server.requests.first
    let expected = line.replacing("PORT", with: "\(server.port)")
    #expect(head?.split(separator: "\r\n").dropFirst().first.map(String.init) == expected)
  }

  /// A refused connection is no reason to fail a POST, as nothing was sent: it goes to the other endpoint.
  @Test func whatCouldNotConnectGoesElsewhere() throws {
    let closed = try closedPort()
    let server = try server("x")
    let rig = try rig(
      """
      upstreams: [{name: u, endpoints: ["127.0.0.1:\(closed)", "127.0.0.1:\(server.port)"], outlier: off}]
      routes: [{name: r, upstream: u}]
      """)
    for _ in 0..<20 {
      let client = try rig.client()
      client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
      #expect(client.response()?.status == 200)
    }
    #expect(server.requests.count == 20)
  }

  @Test func whatCouldNotConnectGoesToTheNextPriority() throws {
    let closed = try closedPort()
    let server = try server("x")
    let backup = "{address: \"127.0.0.1:\(server.port)\", priority: 1}"
    let rig = try rig(
      """
      upstreams: [{name: u, endpoints: ["127.0.0.1:\(closed)", \(backup)]}]
      routes: [{name: r, upstream: u}]
      """)
    for _ in 0..<5 { #expect(try get(rig)?.status == 200) }
    #expect(server.requests.count == 5)
  }

  @Test func withoutConnectRetriesAFailureIsOne() throws {
    let closed = try closedPort()
    let rig = try rig(
      """
      upstreams: [{name: u, endpoints: ["127.0.0.1:\(closed)"], connectRetries: 0}]
      routes: [{name: r, upstream: u}]
      """)
    #expect(try get(rig)?.status == 502)
  }

  // MARK: Several upstreams

  @Test func weightsSplitRequests() throws {
    let one = try server("one"), two = try server("two"), none = try server("none")
    let rig = try rig(
      """
      upstreams:
        - {name: a, endpoints: ["127.0.0.1:\(one.port)"], basePath: /a}
        - {name: b, endpoints: ["127.0.0.1:\(two.port)"]}
        - {name: c, endpoints: ["127.0.0.1:\(none.port)"]}
      routes:
        - name: r
          upstream: [{name: a, weight: 3}, {name: b, weight: 1}, {name: c, weight: 0}]
        - name: k
          match: {pathPrefix: /k}
          stripPrefix: true
          upstream: [{name: a}, {name: b}]
          splitBy: header X-Account
      """)
    let client = try rig.client()
    var counts: [String: Int] = [:]
    for _ in 0..<400 {
      client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
      counts[client.response()?.text ?? "", default: 0] += 1
    }
    #expect((260...340).contains(counts["one"] ?? 0))
    #expect(counts["one", default: 0] + counts["two", default: 0] == 400)
    #expect(one.requests.first?.hasPrefix("GET /a/x HTTP") == true)
    #expect(two.requests.first?.hasPrefix("GET /x HTTP") == true)
    // An account stays with its upstream.
    var places: [String: Set<String>] = [:]
    for index in 0..<200 {
      let account = "\(index % 20)"
      client.send("GET /k HTTP/1.1\r\nHost: h\r\nX-Account: \(account)\r\n\r\n")
      places[account, default: []].insert(client.response()?.text ?? "")
    }
    #expect(places.values.allSatisfy { $0.count == 1 })
    #expect(Set(places.values.flatMap(\.self)) == ["one", "two"])
    #expect(two.requests.contains { $0.hasPrefix("GET / HTTP") })
  }

  // MARK: Fallback

  @Test func aFallbackAnswersForADeadUpstream() throws {
    let closed = try closedPort()
    let server = try server("spare")
    let lines = LoggedLines()
    let rig = try rig(
      """
      upstreams:
        - {name: dead, endpoints: ["127.0.0.1:\(closed)"]}
        - {name: spare, endpoints: ["127.0.0.1:\(server.port)"], basePath: /s}
      routes:
        - {name: r, upstream: dead, fallback: {upstream: spare}}
        - {name: t, match: {pathPrefix: /t}, upstream: dead, fallback: {respond: {status: 200, body: stale}}}
        - {name: o, match: {pathPrefix: /o}, upstream: dead, fallback: {respond: {status: 200}, statusCodes: [504]}}
        - {name: u, match: {pathPrefix: /u}, upstream: "http://127.0.0.1:\(closed)", fallback: {upstream: spare}}
      """, log: lines.log)
    let response = try get(rig, "/a")
    #expect(response?.status == 200)
    #expect(response?.text == "spare")
    #expect(server.requests.first?.hasPrefix("GET /s/a HTTP") == true)
    #expect(server.requests.first?.hasSuffix("\r\nX-Retry-Attempt: 1") == true, "it is a retry of the request")
    #expect(try get(rig, "/u", "X-Retry-Attempt: 2\r\n")?.text == "spare")
    #expect(server.requests.last?.hasSuffix("\r\nX-Retry-Attempt: 3") == true)
    #expect(try get(rig, "/t")?.text == "stale")
    // What a fallback hides is logged as what it was.
    let hidden = lines.saying("request failed")
    #expect(hidden.count == 3)
    #expect(hidden.allSatisfy { $0.contains(" status=502 outcome=transport_error ") }, "\(hidden)")
    #expect(try get(rig, "/o")?.status == 502)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na")
    #expect(client.response()?.status == 502)
    #expect(eventually { rig.count("success", route: "r") == 1 && rig.count("transport_error", route: "r") == 1 })
    #expect(eventually { rig.count("answered", route: "t") == 1 })
    let labels = "server_address=\"dead\",server_port=\"\(closed)\""
    #expect(eventually { rig.sample("weir_request_attempts_count{\(labels)}") == 4 })
  }

  /// The upstream takes one large body at a time, and has one. The other request's body fills the buffer exactly, so
  /// that it is refused as a large one and yet can be sent elsewhere.
  @Test func aFallbackFromARefusedUploadHasTheRoutesTime() throws {
    let busy = try ScriptedServer(Script(.head, .swallow(1_000_000)))
    let silent = try BlackHole()
    let rig = try rig(
      """
      upstreams:
        - {name: busy, endpoints: ["127.0.0.1:\(busy.port)"], uploads: 1}
        - {name: silent, endpoints: ["127.0.0.1:\(silent.port)"]}
      routes:
        - {name: r, upstream: busy, timeout: 500ms, fallback: {upstream: silent}}
        - {name: large, match: {pathPrefix: /large}, upstream: busy}
      """)
    let large = try rig.client()
    large.send(
      "PUT /large HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + String(repeating: "x", count: 70_000))
    #expect(eventually { busy.connectionCount == 1 })
    let client = try rig.client()
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 65536\r\n\r\n" + String(repeating: "x", count: 65_536))
    #expect(client.response()?.status == 504)
    #expect(silent.connectionCount == 1)
    #expect(eventually { rig.count("timeout") == 1 })
    withExtendedLifetime(large) {}
  }

  // MARK: Reloads

  @Test func aReloadChangesEndpointsAndKeepsRequestsGoing() async throws {
    let one = try server("one"), two = try server("two")
    func configuration(_ port: Int) throws -> Configuration {
      let text = """
        upstreams: [{name: u, endpoints: ["127.0.0.1:\(port)"]}]
        routes: [{name: r, upstream: u}]
        """
      return try Configuration(parsing: Array(text.utf8), file: "f")
    }
    let rig = try GatewayRig(configuration(one.port))
    #expect(try get(rig)?.text == "one")
    try await rig.gateway.reload(try configuration(two.port))
    #expect(try get(rig)?.text == "two")
    try await rig.gateway.reload(try configuration(one.port))
    #expect(try get(rig)?.text == "one")
  }
}

extension ScriptedServer {
  /// The heads of all requests, each with the body of the one before it in front of it.
  fileprivate var requests: [String] {
    (0..<connectionCount).flatMap { receivedText(on: $0).components(separatedBy: "\r\n\r\n").dropLast() }
  }
}
