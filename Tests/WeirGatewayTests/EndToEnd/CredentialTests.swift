import Foundation
import Testing
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Routes that ask for credentials.
@Suite(.slow, .timeLimit(.minutes(5))) struct CredentialTests {
  /// The hash of "secret", with the least cost.
  static let hash = "$2b$04$nez2y8oHQZ0ziFYCvRkt5eLCVratZm2iDteOQt160/xLozZPhFIQW"

  static func basic(_ name: String, _ password: String) -> String {
    "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()
  }

  private static func rig(
    _ auth: String = "basicUsers: {alice: \"\(hash)\"}, bearerTokens: [t0ken]", to port: Int? = nil, _ more: String = ""
  ) throws -> GatewayRig {
    let action = port.map { "upstream: \"http://127.0.0.1:\($0)\"" } ?? "respond: {status: 200}"
    let text = "routes: [{name: r, \(action), auth: {\(auth)}\(more)}]"
    return try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
  }

  @Test(
    arguments: [
      (nil, 401), (basic("alice", "secret"), 200), (basic("alice", "Secret"), 401), (basic("alice", ""), 401),
      (basic("bob", "secret"), 401), (basic("", ""), 401), ("Bearer t0ken", 200), ("bearer t0ken", 200),
      ("Bearer t0kem", 401), ("Bearer", 401), ("Bearer  ", 401), ("Basic", 401), ("Basic !!!!", 401),
      ("Basic YQ==", 401),
      ("Basic YWxpY2U6c2VjcmV0=", 401), ("Digest username=alice", 401), ("Basic t0ken", 401),
      (basic("alice", String(repeating: "x", count: 20_000)), 401), (basic("alice", "secret\0"), 401),
    ])
  func credentials(authorization: String?, status: Int) throws {
    let rig = try Self.rig()
    let client = try rig.client()
    for _ in 0..<2 { #expect(client.status(authorization) == status) }
    #expect(eventually { rig.count(status == 401 ? "unauthorized" : "answered") == 2 })
    #expect(rig.count(status == 401 ? "answered" : "unauthorized") == 0)
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
  }

  /// Each user has a limit of its own, and a request that several rules refuse counts for the first of them.
  @Test func limitsComeBehindAccess() throws {
    let more = ", clients: {deny: [192.0.2.1]}, rateLimits: [{name: a, rate: 1/h, burst: 2, key: user}]"
    let text = """
      listeners: [{name: l, address: "127.0.0.1:0", trustedProxies: [127.0.0.1], clients: {deny: [192.0.2.9]}}]
      routes: [{name: r, respond: {status: 200},
        auth: {basicUsers: {alice: "\(Self.hash)", bob: "\(Self.hash)"}}\(more)}]
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
    let client = try rig.client()
    let (alice, bob) = (Self.basic("alice", "secret"), Self.basic("bob", "secret"))
    let statuses = [
      ("192.0.2.9", nil), ("192.0.2.1", nil), ("192.0.2.1", alice), ("192.0.2.2", nil), ("192.0.2.2", alice),
      ("192.0.2.3", alice), ("192.0.2.4", alice), ("192.0.2.4", bob), ("192.0.2.1", bob), ("192.0.2.5", bob),
      ("192.0.2.5", bob),
    ].map { address, authorization in
      client.send(
        "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: \(address)\r\n"
          + (authorization.map { "Authorization: \($0)\r\n" } ?? "") + "\r\n")
      return client.response()?.status ?? 0
    }
    #expect(statuses == [403, 403, 403, 401, 200, 200, 429, 200, 403, 200, 429])
    for (outcome, count) in [("forbidden", 3.0), ("unauthorized", 1), ("rate_limited", 2), ("answered", 4)] {
      #expect(eventually { rig.count(outcome) == count }, "\(outcome)")
    }
    #expect(rig.sample("weir_gateway_requests_total{route=\"\",outcome=\"forbidden\"}") == 1)
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
  }

  @Test func challengesNameTheSchemes() throws {
    let basic = "Basic realm=\"r\", charset=\"UTF-8\"", bearer = "Bearer realm=\"r\""
    for (auth, expected) in [
      ("bearerTokens: [t]", [bearer]), ("basicUsers: {a: \"\(Self.hash)\"}", [basic]),
      ("basicUsers: {a: \"\(Self.hash)\"}, bearerTokens: [t]", [basic, bearer]),
      ("bearerTokens: [t], realm: 'o\"o'", ["Bearer realm=\"o\\\"o\""]),
    ] {
      let rig = try Self.rig(auth)
      let client = try rig.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.values("WWW-Authenticate") == expected)
      withExtendedLifetime(rig) {}
    }
  }

  @Test(arguments: [("", []), (", forward: false", []), (", forward: true", ["Bearer t0ken"])])
  func credentialsGoNoFurther(key: String, expected: [String]) throws {
    let server = try ScriptedServer(.answering(okResponse("hi")))
    let rig = try Self.rig("bearerTokens: [t0ken]\(key)", to: server.port)
    let client = try rig.client()
    #expect(client.status("Bearer t0ken") == 200)
    let lines = server.receivedText().split(separator: "\r\n").filter { $0.lowercased().hasPrefix("authorization:") }
    #expect(lines.map { String($0.dropFirst("authorization: ".count)) } == expected)
  }

  @Test func theUpstreamMayGetCredentialsOfItsOwn() throws {
    let server = try ScriptedServer(.answering(okResponse("hi")))
    let rig = try Self.rig("bearerTokens: [t0ken]", to: server.port, ", headers: {set: {Authorization: Bearer own}}")
    let client = try rig.client()
    #expect(client.status("Bearer t0ken") == 200)
    #expect(server.receivedText().contains("\r\nAuthorization: Bearer own\r\n"))
    #expect(!server.receivedText().contains("t0ken"))
  }

  /// Nothing of the body is read before the verdict, and all of it goes to the upstream afterwards.
  @Test func aBodyWaitsForTheVerdict() throws {
    let server = try ScriptedServer(Script(.forever([.request, .send(okResponse("hi"))])))
    let rig = try Self.rig(to: server.port)
    let client = try rig.client()
    let authorization = "Authorization: \(Self.basic("alice", "secret"))\r\n"
    client.send("POST / HTTP/1.1\r\nHost: h\r\n\(authorization)Content-Length: 6\r\nExpect: 100-continue\r\n\r\n")
    var bytes: [UInt8] = []
    #expect(client.read(25, into: &bytes))
    #expect(String(decoding: bytes, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
    client.send("abcdef")
    #expect(client.response()?.status == 200)
    #expect(server.receivedText().hasSuffix("\r\n\r\nabcdef"))
    let large = String(repeating: "x", count: 300_000)
    client.send("POST / HTTP/1.1\r\nHost: h\r\n\(authorization)Content-Length: 300000\r\n\r\n\(large)")
    #expect(client.response()?.status == 200)
    // One without credentials is not asked for its body.
    let other = try rig.client()
    other.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n")
    #expect(other.response()?.head.hasPrefix("HTTP/1.1 401 ") == true)
  }

  /// A cost of 12, of which some may wait.
  private static let slowHash = "$2y$12$CCCCCCCCCCCCCCCCCCCCC.AznMKDrF3UVhFdHxWMKaEfFQjY2htq."

  @Test func aClientMayLeaveMeanwhile() async throws {
    let rig = try Self.rig("basicUsers: {alice: \"\(Self.slowHash)\"}")
    for number in 0..<3 {
      let client = try rig.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: \(Self.basic("alice", "\(number)"))\r\n\r\n")
      let active = "http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"}"
      #expect(eventually { rig.sample(active) == 1 })
      client.reset()
      #expect(eventually { rig.sample(active) == 0 })
    }
    #expect(eventually { rig.count("cancelled") == 3 })
    #expect(rig.count("unauthorized") == 0)
    #expect(try rig.client().status() == 401)
    await rig.gateway.stop(grace: 5)
  }

  /// A drain waits for the verdict, and answers.
  @Test func aDrainWaitsForTheVerdict() async throws {
    let rig = try Self.rig("basicUsers: {alice: \"\(Self.slowHash)\"}")
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: \(Self.basic("alice", "x"))\r\n\r\n")
    #expect(
      eventually { rig.sample("http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"}") == 1 })
    await rig.gateway.stop(grace: 20)
    #expect(client.response()?.status == 401)
  }

  @Test func aGuesserIsBarredAndOthersAreNot() async throws {
    let port = UInt16(LoopbackPort.free())
    func configuration(_ realm: String) throws -> Configuration {
      let text = """
        listeners: [{name: a, address: "127.0.0.1:\(port)", trustedProxies: [127.0.0.1]}]
        routes: [{name: r, respond: {status: 200}, auth: {basicUsers: {alice: "\(Self.hash)"}, realm: \(realm)}}]
        """
      return try Configuration(parsing: Array(text.utf8), file: "f")
    }
    let rig = try GatewayRig(configuration("x"), workers: 2)
    func ask(_ password: String, from client: String) throws -> RawClient.Response? {
      let connection = try RawClient(port: port)
      connection.send(
        "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: \(client)\r\nAuthorization: \(Self.basic("alice", password))\r\n\r\n"
      )
      return connection.response()
    }
    for number in 0..<10 { #expect(try ask("\(number)", from: "2001:db8::\(number)")?.status == 401) }
    let barred = try #require(try ask("secret", from: "2001:db8::ffff"))
    #expect(barred.status == 429)
    let seconds = try #require(barred.values("Retry-After").first.flatMap { Int($0) })
    #expect((1...60).contains(seconds))
    #expect(barred.values("WWW-Authenticate") == [])
    #expect(try ask("secret", from: "192.0.2.1")?.status == 200)
    #expect(eventually { rig.count("unauthorized") == 11 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    // Equal rules keep what is known across a reload, whatever else has changed.
    try await rig.gateway.reload(configuration("y"))
    #expect(try ask("secret", from: "2001:db8::ffff")?.status == 429)
    #expect(try ask("secret", from: "2001:db8:1::1")?.status == 200)
  }

  /// The first rule in the order of docs/limits.md that refuses a request is the one that counts it.
  @Test func theFirstRuleThatRefusesCounts() throws {
    let server = try ScriptedServer(.answering(okResponse("hi")))
    let port = UInt16(LoopbackPort.free())
    let text = """
      listeners: [{name: a, address: "127.0.0.1:\(port)", trustedProxies: [127.0.0.1], clients: {deny: [10.0.0.0/8]}}]
      routes:
        - name: r
          match: {path: /}
          upstream: "http://127.0.0.1:\(server.port)"
          circuitBreaker: {}
          clients: {deny: [10.0.0.0/7]}
          auth: {basicUsers: {alice: "\(Self.hash)"}}
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
    func ask(_ client: String, _ path: String = "/") throws -> Int? {
      let connection = try RawClient(port: port)
      connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: \(client)\r\n\r\n")
      return connection.response()?.status
    }
    func counted(_ expected: [Double]) -> Bool { eventually { counts() == expected } }
    func counts() -> [Double?] {
      [
        rig.count("forbidden", route: ""), rig.count("no_route", route: ""), rig.count("forbidden"),
        rig.count("unauthorized"), rig.count("success"),
      ]
    }
    #expect(counted([0, 0, 0, 0, 0]))
    #expect(try ask("10.1.1.1") == 403)
    #expect(try ask("10.1.1.1", "/x") == 403)
    #expect(counted([2, 0, 0, 0, 0]))
    #expect(try ask("11.1.1.1", "/x") == 404)
    #expect(try ask("11.1.1.1") == 403)
    #expect(counted([2, 1, 1, 0, 0]))
    #expect(try ask("12.1.1.1") == 401)
    #expect(counted([2, 1, 1, 1, 0]))
    #expect(server.connectionCount == 0)
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    // Neither circuit nor budget has heard of them.
    let destination = "server_address=\"127.0.0.1\",server_port=\"\(server.port)\""
    let requests = rig.registry.text().split(separator: "\n").filter {
      $0.hasPrefix("weir_requests_total{") && $0.contains(destination) && !$0.hasSuffix(" 0")
    }
    #expect(requests == [])
  }
}
