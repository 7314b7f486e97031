import Foundation
import Synchronization
import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Credentials with which forwarded requests leave, as upstreams, clients and token services see them.
@Suite(.slow, .serialized, .timeLimit(.minutes(3))) struct OutboundCredentialTests {
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
    let rig = try Self.rig(to: upstream.port, kind)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer mine\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(Self.credentials(upstream) == [value])
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
        CredentialSettings(name: "own", kind: .bearer("own")), CredentialSettings(name: "theirs", kind: .bearer("theirs")),
      ]
      let rig = try GatewayRig(configuration)
      let client = try rig.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.text == "other")
    }
    #expect(Self.credentials(other) == ["Bearer theirs"])
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
    let rig = try Self.rig(to: upstream.port, tokens.kind())
    let clients = try (0..<40).map { _ in try rig.client() }
    for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    for client in clients { #expect(client.response()?.status == 200) }
    #expect(tokens.count == 1)
    #expect(rig.sample("weir_credential_state{credential=\"c\",state=\"good\"}") == 1)
    #expect(rig.sample("weir_auth_refreshes_total{interceptor=\"c\",outcome=\"success\"}") == 1)
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 0 })
    let expires = try #require(rig.sample("weir_credential_expires_timestamp_seconds{credential=\"c\"}"))
    #expect((0...3600).contains(expires - Date().timeIntervalSince1970))
  }

  @Test func withoutATokenNothingIsSent() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    tokens.answer = TokenService.refusal
    let rig = try Self.rig(to: upstream.port, tokens.kind())
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
    let rig = try Self.rig(to: upstream.port, tokens.kind()) { route in
      route.fallback = RouteFallback(action: .respond(RouteResponse(status: 207)), statusCodes: [503])
    }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 207)
  }

  @Test(arguments: [0.2, 30]) func aRequestWaitsForSoLong(timeout: Double) throws {
    let gate = Gate()
    let service = try ScriptedServer(Script(.request, .wait(gate)))
    defer { gate.open() }
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try Self.rig(to: upstream.port, TokenService.kind(port: service.port, wait: 0.3)) { route in
      route.timeout = .seconds(timeout)
    }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 503)
    #expect(response.values("X-Weir-Refused") == ["credential"])
    #expect(response.values("Retry-After") == ["1"])
    #expect(upstream.connectionCount == 0)
  }

  @Test func aClientMayLeaveMeanwhile() throws {
    let gate = Gate()
    let tokens = try TokenService(gate: gate), upstream = try tokens.upstream()
    let rig = try Self.rig(to: upstream.port, tokens.kind())
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
    #expect(Self.credentials(upstream).count == 1)
  }

  // MARK: Refusals by the upstream

  @Test(arguments: ["GET", "POST"]) func arefusalIsRepaired(method: String) throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try Self.rig(to: upstream.port, tokens.kind())
    let client = try rig.client()
    let request = "\(method) / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
    client.send(request)
    #expect(client.response()?.status == 200)
    tokens.revoke()
    client.send(request)
    let response = try #require(client.response())
    #expect(response.status == 200)
    #expect(response.text == "ok")
    #expect(tokens.count == 2)
    #expect(Self.credentials(upstream) == ["Bearer token1", "Bearer token1", "Bearer token2"])
    #expect(Self.requests(upstream).last?.contains("X-Retry-Attempt: 1\r\n") == true)
    #expect(Self.requests(upstream).last?.contains("\r\nContent-Length: 4") == true)
    let labels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(eventually { rig.sample("weir_retries_total{\(labels),reason=\"401\"}") == 1 })
  }

  /// One fetch for all, and no client sees the refusal.
  @Test func allAreRepairedByOneFetch() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try Self.rig(to: upstream.port, tokens.kind())
    let clients = try (0..<20).map { _ in try rig.client() }
    for round in 0..<2 {
      if round == 1 { tokens.revoke() }
      for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
      for client in clients { #expect(client.response()?.status == 200) }
    }
    #expect(tokens.count == 2)
  }

  @Test func whatCantBeSentAgainIsNot() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try Self.rig(to: upstream.port, tokens.kind())
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    tokens.revoke()
    let size = 300_000
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: \(size)\r\n\r\n")
    client.send([UInt8](repeating: 120, count: size))
    #expect(client.response()?.status == 401)
    // The next one finds another token.
    #expect(eventually { tokens.count == 2 })
    let other = try rig.client()
    #expect(
      eventually {
        other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        return other.response()?.status == 200
      })
  }

  @Test func aTokenOfItsOwnIsNotFetchedAgain() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    tokens.areUseless = true
    let rig = try Self.rig(to: upstream.port, tokens.kind(lifetime: 3600))
    let client = try rig.client()
    for _ in 0..<3 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 401)
      #expect(response.text == "who?")
    }
    // Each request that carried a token of another one's gets one fetch.
    #expect((1...4).contains(tokens.count))
  }

  @Test func thereAreFiveInHalfAMinute() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    tokens.areUseless = true
    let rig = try Self.rig(to: upstream.port, tokens.kind(lifetime: 3600))
    let client = try rig.client()
    for _ in 0..<12 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 401)
    }
    #expect(tokens.count <= 6)
    let excessive = rig.sample("weir_auth_refreshes_total{interceptor=\"c\",outcome=\"excessive\"}") ?? 0
    #expect(excessive > 0)
  }

  @Test func aResponseThatBreaksOffMeanwhileIsNoReason() throws {
    let gate = Gate()
    let tokens = try TokenService()
    let upstream = try ScriptedServer(
      Script(.head, .send(okResponse("ok"))),
      Script(.head, .send("HTTP/1.1 401 No\r\nContent-Length: 100\r\n\r\nhalf"), .call { tokens.gate = gate }, .reset),
      .answering(okResponse("there")))
    let rig = try Self.rig(to: upstream.port, tokens.kind(lifetime: 3600))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    gate.open()
    #expect(client.response()?.text == "there")
  }

  /// The response of a refusal goes to the client when there is no other token.
  @Test func aFailedRepairShowsTheRefusal() throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let rig = try Self.rig(to: upstream.port, tokens.kind())
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    tokens.revoke()
    tokens.answer = TokenService.refusal
    for _ in 0..<2 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 401)
      #expect(response.text == "who?")
      #expect(response.isComplete)
    }
  }

  @Test func aFileIsReadAgainOnlyIfItHasChanged() throws {
    let folder = try TemporaryDirectory()
    let path = folder.path + "/token"
    try Data("one".utf8).write(to: URL(fileURLWithPath: path))
    let file = try SecretFile(path)
    let upstream = try ScriptedServer(
      .answering { "HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nwho?" })
    let rig = try Self.rig(to: upstream.port, .bearer(Secret(file)))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 401)
    #expect(Self.credentials(upstream) == ["Bearer one"])
  }

  // MARK: Reloads

  @Test func aReloadKeepsTheToken() async throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    var configuration = try Self.configuration(to: upstream.port, tokens.kind(secret: "first"))
    let rig = try GatewayRig(configuration)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 200)
    try await rig.gateway.reload(configuration)
    #expect(tokens.count == 1)
    // Another secret alone: the token serves until there is a new one.
    let gate = Gate()
    tokens.gate = gate
    configuration.credentials = [CredentialSettings(name: "c", kind: tokens.kind(secret: "second"))]
    async let reloaded: Void = rig.gateway.reload(configuration)
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
    #expect(Self.credentials(upstream).last == "Bearer token3")
  }

  // MARK: Parts

  private static func configuration(
    to port: Int, _ kind: CredentialSettings.Kind, _ change: (inout Route) -> Void = { _ in }
  ) throws -> Configuration {
    var route = try Route(to: port)
    route.credential = "c"
    change(&route)
    var configuration = Configuration(routes: [route])
    configuration.credentials = [CredentialSettings(name: "c", kind: kind)]
    return configuration
  }

  private static func rig(
    to port: Int, _ kind: CredentialSettings.Kind, _ change: (inout Route) -> Void = { _ in }
  ) throws -> GatewayRig {
    try GatewayRig(configuration(to: port, kind, change))
  }

  /// The heads that a server has received, of all connections in their order.
  private static func requests(_ server: ScriptedServer) -> [String] {
    (0..<server.connectionCount).flatMap { index in
      server.receivedText(on: index).components(separatedBy: "\r\n\r\n").filter { $0.contains(" HTTP/1.1\r\n") }
        .map { $0 + "\r\n" }
    }
  }

  private static func credentials(_ server: ScriptedServer) -> [String] {
    requests(server).flatMap { head in
      head.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("authorization:") }
        .map { String($0.dropFirst("authorization: ".count)) }
    }
  }
}

/// A token service whose tokens are `token1`, `token2` and so on, of which only the last is good.
private final class TokenService: Sendable {
  private struct State {
    var count = 0
    var valid = 0
    var answer: String?
    var gate: Gate?
    var areUseless = false
  }

  private let state = Mutex(State())
  private let server = Mutex<ScriptedServer?>(nil)

  static let refusal = """
    HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n{"error":"invalid_client"}
    """

  /// - Parameter gate: Holds the answers back until it is open.
  init(gate: Gate? = nil) throws {
    state.withLock { $0.gate = gate }
    let server = try ScriptedServer(.answering { [weak self] in self?.next() })
    self.server.withLock { $0 = server }
  }

  var port: Int { server.withLock { $0?.port ?? 0 } }
  /// Requests for tokens that were answered.
  var count: Int { state.withLock { $0.count } }
  /// In place of a token.
  var answer: String? {
    get { state.withLock { $0.answer } }
    set { state.withLock { $0.answer = newValue } }
  }
  var gate: Gate? {
    get { state.withLock { $0.gate } }
    set { state.withLock { $0.gate = newValue } }
  }
  /// Whether the upstream takes no token.
  var areUseless: Bool {
    get { state.withLock { $0.areUseless } }
    set { state.withLock { $0.areUseless = newValue } }
  }

  func revoke() { state.withLock { $0.valid = 0 } }

  private func next() -> String {
    state.withLock { $0.gate }?.wait()
    return state.withLock { state in
      state.count += 1
      if let answer = state.answer { return answer }
      state.valid = state.count
      let body = "{\"access_token\":\"token\(state.count)\",\"token_type\":\"bearer\",\"expires_in\":3600}"
      return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
  }

  /// An upstream that wants the last token.
  func upstream() throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { [weak self] head in
            let isGood =
              self?.state.withLock { state in
                !state.areUseless && head.contains("\r\nAuthorization: Bearer token\(state.valid)\r\n")
              } ?? false
            return [.send(isGood ? okResponse("ok") : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nwho?")]
          }
        ])))
  }

  func kind(secret: String = "secret", scopes: [String] = [], lifetime: Double = 300) -> CredentialSettings.Kind {
    Self.kind(port: port, secret: secret, scopes: scopes, lifetime: lifetime)
  }

  static func kind(
    port: Int, secret: String = "secret", scopes: [String] = [], lifetime: Double = 300, wait: Double = 20
  ) -> CredentialSettings.Kind {
    var settings = OAuth2Settings(
      tokenURL: URL(string: "http://127.0.0.1:\(port)/token") ?? URL(fileURLWithPath: "/"), clientID: "shop",
      authentication: .basic(Secret(secret)), scopes: scopes)
    settings.lifetime = lifetime
    settings.timeout = 20
    return .oauth2(settings, tls: nil, wait: wait)
  }
}
