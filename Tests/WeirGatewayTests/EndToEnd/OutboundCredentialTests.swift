import Foundation
import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Credentials with which forwarded requests leave, as upstreams, clients and token services see them.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct OutboundCredentialTests {
  // MARK: Values that are there

  @Test func theFieldIsTheCredentialsAlone() throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    var route = try Route(to: upstream.port)
    route.credential = "maps"
    route.headers.set = [HeaderRule(name: "X-API-Key", value: "of the route"), HeaderRule(name: "X-Other", value: "o")]
    var configuration = Configuration(routes: [route])
    configuration.credentials = [CredentialSettings(name: "maps", kind: .field(name: "X-API-Key", "k3y"))]
    let rig = try GatewayRig(configuration)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nx-api-key: mine\r\nX_API_Key: disguised\r\nX.Api.Key: too\r\n\r\n")
    #expect(client.response()?.status == 200)
    let lines = upstream.receivedText().split(separator: "\r\n").map { $0.lowercased() }
    #expect(lines.filter { $0.contains("api") } == ["x-api-key: k3y"])
    #expect(lines.last == "x-api-key: k3y", "it comes last")
    #expect(lines.contains("x-other: o"))
  }

  @Test(arguments: [
    (CredentialSettings.Kind.basic(user: "shop", password: "pass:word"), "Basic c2hvcDpwYXNzOndvcmQ="),
    (.bearer("t0ken"), "Bearer t0ken"), (.field(name: "Authorization", "ApiKey k"), "ApiKey k"),
  ])
  func authorization(kind: CredentialSettings.Kind, value: String) throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(to: upstream.port, credential: kind)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer mine\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(upstream.authorizations == [value])
  }

  @Test func aFallbackHasItsOwn() throws {
    let down = try ScriptedServer(.once("")), other = try ScriptedServer(.answering(okResponse("other")))
    for named in [false, true] {
      var route = try Route(to: down.port)
      route.credential = "own"
      let name = "u"
      var entry = NamedUpstream(
        Upstream(named: name, scheme: .http), .listed([try EndpointSpec(parsing: "127.0.0.1:\(other.port)")]))
      entry.credential = named ? "theirs" : nil
      route.fallback = RouteFallback(action: .upstream(entry.target), statusCodes: [502, 503, 504])
      var configuration = Configuration(routes: [route], upstreams: [entry])
      configuration.credentials = [
        CredentialSettings(name: "own", kind: .bearer("own")),
        CredentialSettings(name: "theirs", kind: .bearer("theirs")),
      ]
      let rig = try GatewayRig(configuration)
      let client = try rig.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.text == "other")
    }
    #expect(other.authorizations == ["Bearer theirs"])
  }

  @Test func aSecretOfAFileIsFollowed() throws {
    let folder = try TemporaryDirectory()
    let path = folder.path + "/key"
    try Data("one\n".utf8).write(to: URL(fileURLWithPath: path))
    let file = try SecretFile(path)
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    var route = try Route(to: upstream.port)
    route.headers.set = [HeaderRule(name: "X-Key", value: "", secret: Secret(file, prefix: "k-", suffix: "-z"))]
    route.headers.add = [HeaderRule(name: "X-More", value: "", secret: Secret(file))]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    func key() throws -> [String] {
      client.send("GET / HTTP/1.1\r\nHost: h\r\nX-Key: mine\r\nX-More: mine\r\n\r\n")
      _ = try #require(client.response())
      let head = upstream.receivedText().components(separatedBy: "\r\n\r\n").dropLast().last ?? ""
      return head.components(separatedBy: "\r\n").filter { $0.hasPrefix("X-Key") || $0.hasPrefix("X-More") }.sorted()
    }
    #expect(try key() == ["X-Key: k-one-z", "X-More: mine", "X-More: one"])
    try Data("two".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    #expect(eventually { (try? key()) == ["X-Key: k-two-z", "X-More: mine", "X-More: two"] })
  }

  // MARK: Tokens

  @Test func oneTokenServesAll() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let clients = try (0..<40).map { _ in try rig.client() }
    for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    for client in clients { #expect(client.response()?.status == 200) }
    #expect(tokens.count == 1)
    #expect(eventually { rig.sample("weir_credential_state{credential=\"c\",state=\"good\"}") == 1 })
    #expect(eventually { rig.sample("weir_auth_refreshes_total{interceptor=\"c\",outcome=\"success\"}") == 1 })
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 0 })
    let expires = try #require(rig.sample("weir_credential_expires_timestamp_seconds{credential=\"c\"}"))
    #expect((0...3600).contains(expires - Date().timeIntervalSince1970))
  }

  @Test func withoutATokenNothingIsSent() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    tokens.answer = TokenService.refusal
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let client = try rig.client()
    // The first one may wait for the fetch that the start has begun.
    for _ in 0..<3 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 503)
      #expect(response.values("X-Weir-Refused") == ["credential"])
      #expect(response.values("X-No-Retry") == ["credential"])
      #expect(["1", "2"].contains(response.values("Retry-After").first))
      #expect(!response.text.contains("secret"))
    }
    #expect(upstream.connectionCount == 0)
    #expect(eventually { rig.count("adaptation_failed") == 3 })
    let labels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\",adapter=\"c\""
    #expect(rig.sample("weir_adaptation_failures_total{\(labels),reason=\"invalid_client\"}") == 3)
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 3)
    #expect(rig.sample("weir_credential_state{credential=\"c\",state=\"missing\"}") == 1)
    // Invalid clients are not asked again at once, nor by each request.
    #expect(tokens.count <= 2)
    tokens.answer = nil
    #expect(
      eventually {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        return client.response()?.status == 200
      })
  }

  @Test func aFallbackTakesThePlaceOfARefusal() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    tokens.answer = TokenService.refusal
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { route in
      route.fallback = RouteFallback(action: .respond(RouteResponse(status: 207)), statusCodes: [503])
    }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 207)
  }

  @Test(arguments: [0.2, 30]) func aRequestWaitsForSoLong(timeout: Double) throws {
    let gate = Gate()
    let service = try ScriptedServer(Script(.request, .wait(gate)))
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(to: upstream.port, credential: TokenService.kind(port: service.port, wait: 0.3)) { route in
      route.timeout = .seconds(timeout)
    }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 503)
    #expect(response.values("X-Weir-Refused") == ["credential"])
    #expect(response.values("Retry-After") == ["1"])
    #expect(upstream.connectionCount == 0)
    gate.open()
    withExtendedLifetime(service) {}
  }

  @Test func aClientMayLeaveMeanwhile() throws {
    let gate = Gate()
    let tokens = try TokenService(gate: gate), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    var client: RawClient? = try rig.client()
    client?.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 1 })
    client = nil
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 0 })
    #expect(eventually { rig.count("cancelled") == 1 })
    gate.open()
    let other = try rig.client()
    other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(other.response()?.status == 200)
    #expect(upstream.authorizations.count == 1)
  }

  // MARK: Reloads

  @Test func aReloadKeepsTheToken() async throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    var configuration = try Configuration(to: upstream.port, credential: tokens.kind(secret: "first"))
    let rig = try GatewayRig(configuration)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    try await rig.gateway.reload(configuration)
    #expect(tokens.count == 1)
    // Another secret alone: the token serves until there is a new one.
    let gate = Gate()
    tokens.gate = gate
    async let reloaded: Void = rig.gateway.reload(
      Configuration(to: upstream.port, credential: tokens.kind(secret: "second")))
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    gate.open()
    try await reloaded
    #expect(eventually { tokens.count == 2 })
    // Any other change waits for the new one.
    configuration.credentials = [CredentialSettings(name: "c", kind: tokens.kind(secret: "second", scopes: ["more"]))]
    try await rig.gateway.reload(configuration)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(upstream.authorizations.last == "Bearer token3")
  }
}
