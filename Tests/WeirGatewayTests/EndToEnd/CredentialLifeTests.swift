import Foundation
import Synchronization
import Testing
import Weir
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// Tokens that age, races of attempts, and checks with credentials.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct CredentialLifeTests {
  private static func credential(_ tokens: TokenService) throws -> (OutboundCredential, Session) {
    let session = Session(configuration: OAuth2Authenticator.sessionConfiguration(tls: nil))
    let settings = CredentialSettings(name: "c", kind: tokens.kind())
    guard case .oauth2(let oauth2, _, _, _) = settings.kind else { throw PeerError("no tokens are fetched") }
    let source = OutboundCredential.TokenSource(authenticator: OAuth2Authenticator(oauth2), session: session)
    let events = CredentialEvents(monitor: nil, log: Logger(level: .error))
    return (OutboundCredential(settings, source, events), session)
  }

  private static func isReady(_ answer: OutboundCredential.Answer) -> Bool {
    if case .ready = answer { true } else { false }
  }

  @Test func nobodyWaitsWhileATokenIsGood() throws {
    let tokens = try TokenService()
    let (credential, session) = try Self.credential(tokens)
    let loop = try EventLoop(name: "test")
    let waiter = OutboundCredential.Waiter(loop: loop) { _ in }
    credential.fetch()
    #expect(eventually { credential.value().version == 1 })
    let gate = Gate()
    tokens.gate = gate
    let (young, old) = (MonotonicTime.now.advanced(bySeconds: 60), MonotonicTime.now.advanced(bySeconds: 3400))
    for _ in 0..<3 { #expect(Self.isReady(credential.adapt(at: young, waiter))) }
    #expect(credential.report().state == .good)
    for _ in 0..<3 { #expect(Self.isReady(credential.adapt(at: old, waiter))) }
    // It is of no use any more, so there is a wait for the fetch that has begun.
    let late = MonotonicTime.now.advanced(bySeconds: 3601)
    guard case .wait = credential.adapt(at: late, waiter) else {
      Issue.record("a token that has expired was used")
      return
    }
    #expect(credential.report().waiting == 1)
    gate.open()
    #expect(eventually { credential.value().version == 2 })
    #expect(tokens.count == 2)
    withExtendedLifetime(session) {}
  }

  @Test func theOldTokenServesWhileTheNextCantBeHad() throws {
    let tokens = try TokenService()
    let (credential, session) = try Self.credential(tokens)
    let waiter = OutboundCredential.Waiter(loop: try EventLoop(name: "test")) { _ in }
    credential.fetch()
    #expect(eventually { credential.value().version == 1 })
    tokens.answer = TokenService.refusal
    let old = MonotonicTime.now.advanced(bySeconds: 3400)
    #expect(Self.isReady(credential.adapt(at: old, waiter)))
    #expect(eventually { credential.report().state == .failing })
    #expect(credential.report().failure?.contains("invalid_client") == true)
    #expect(credential.value().version == 1)
    tokens.answer = nil
    #expect(eventually { Self.isReady(credential.adapt(at: old, waiter)) && credential.report().state == .good })
    #expect(credential.report().failure == nil)
    withExtendedLifetime(session) {}
  }

  @Test func aSecretThatChangesEndsTheSilence() throws {
    let tokens = try TokenService()
    tokens.answer = "HTTP/1.1 401 No\r\nRetry-After: 60\r\nContent-Length: 26\r\n\r\n{\"error\":\"invalid_client\"}"
    let upstream = try tokens.upstream()
    let folder = try TemporaryDirectory()
    let path = try folder.file("secret", "first")
    var settings = OAuth2Settings(tokenURL: tokens.url, clientID: "shop")
    settings.authentication = .basic(Secret(try SecretFile(path)))
    let rig = try GatewayRig(to: upstream.port, credential: .oauth2(settings, tls: nil, wait: 20))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let refusal = try #require(client.response())
    #expect(refusal.values("Retry-After").first.flatMap { Int($0) }.map { (50...60).contains($0) } == true)
    tokens.answer = nil
    try Data("second".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    #expect(
      eventually {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        return client.response()?.status == 200
      })
  }

  /// A route's credential comes before that of its upstream.
  @Test func anUpstreamHasACredential() throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let text = """
      credentials: [{name: route, bearer: of-the-route}, {name: entry, bearer: of-the-entry}]
      upstreams: [{name: u, endpoints: ["127.0.0.1:\(upstream.port)"], credential: entry}]
      routes:
        - {name: a, match: {pathPrefix: /a}, upstream: u}
        - {name: b, match: {pathPrefix: /b}, upstream: u, credential: route}
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
    let client = try rig.client()
    for path in ["/a", "/b"] {
      client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 200)
    }
    #expect(upstream.authorizations == ["Bearer of-the-entry", "Bearer of-the-route"])
  }

  /// In a race a 401 to a token that is refused gives no answer, as long as another attempt runs.
  @Test func aRefusalDropsOutOfARace() throws {
    let tokens = try TokenService()
    let gate = Gate(), began = Gate()
    // The first attempt is refused once the second one has begun, which is answered after that.
    let upstream = try ScriptedServer(
      Script(.head, .wait(began), .send("HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nwho?"), .call { gate.open() }),
      Script(.head, .call { began.open() }, .wait(gate), .send(okResponse("second"))), .answering(okResponse("third")))
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { route in
      route.hedge = HedgePlan(delay: .seconds(0.05), limit: 1)
    }
    // The start's token is there, so that it is not this request's own.
    #expect(eventually { rig.sample("weir_credential_state{credential=\"c\",state=\"good\"}") == 1 })
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "second")
    #expect(eventually { tokens.count == 2 })
  }

  @Test func checksCarryTheCredential() async throws {
    let tokens = try TokenService(), upstream = try tokens.upstream()
    let others = try (0..<2).map { _ in try tokens.upstream() }
    tokens.answer = TokenService.refusal
    let lines = Mutex<[String]>([])
    let log = Logger(level: .info, format: .logfmt) { line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    let text = """
      credentials:
        - name: c
          oauth2: {tokenURL: "\(tokens.url)", clientID: shop, clientSecret: s3cret-of-shop, timeout: 20s, wait: 20s}
      upstreams:
        - name: u
          endpoints: [\(([upstream] + others).map { "\"127.0.0.1:\($0.port)\"" }.joined(separator: ", "))]
          credential: c
          check: {path: /healthz, interval: 0.5s, unhealthyAfter: 1}
      routes: [{name: r, upstream: u}]
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"), log: log)
    let client = try rig.client()
    // Without a token no check is made.
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 503)
    #expect(upstream.connectionCount == 0)
    tokens.answer = nil
    #expect(
      eventually {
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        return client.response()?.status == 200
      })
    let all = [upstream] + others
    #expect(eventually { all.allSatisfy { $0.requestHeads.contains { $0.hasPrefix("GET /healthz") } } })
    // A check that is refused has the token fetched, and leaves the endpoint in.
    let before = tokens.count
    tokens.revoke()
    #expect(eventually { tokens.count > before })
    #expect(eventually { all.allSatisfy { $0.authorizations.last == "Bearer token\(tokens.count)" } })
    #expect(lines.withLock { $0.allSatisfy { !$0.contains("endpoint fails its checks") && !$0.contains("s3cret") } })
  }

  /// A path that answers 401 to every token holds up the others for a second at most, while the token service hangs.
  @Test func oneBadPathHoldsNobodyUp() throws {
    let tokens = try TokenService()
    let upstream = try Self.upstream(refusing: "/bad")
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind())
    let bad = try rig.client(), good = try rig.client()
    good.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(good.response()?.status == 200)
    let gate = Gate()
    tokens.gate = gate
    bad.send("GET /bad HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { rig.sample("weir_auth_refresh_waiters{interceptor=\"c\"}") == 1 })
    for _ in 0..<2 {
      good.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(good.response()?.status == 200)
    }
    #expect(tokens.count == 1, "the token service has not answered")
    gate.open()
    #expect(bad.response()?.status == 401)
  }

  /// The token that a refused check had fetched is refused too: the endpoint is to blame.
  @Test func aCheckThatIsAlwaysRefusedFails() throws {
    let tokens = try TokenService(), upstream = try Self.upstream(refusing: "/healthz")
    let text = """
      credentials:
        - {name: c, oauth2: {tokenURL: "\(tokens.url)", clientID: shop, clientSecret: s3cret-of-shop}}
      upstreams:
        - name: u
          endpoints: ["127.0.0.1:\(upstream.port)"]
          credential: c
          check: {path: /healthz, interval: 0.5s, unhealthyAfter: 2}
      routes: [{name: r, upstream: u}]
      """
    let failed = Atomic(false)
    let log = Logger(level: .info, format: .logfmt) { line in
      if String(decoding: line, as: UTF8.self).contains("endpoint fails its checks") {
        failed.store(true, ordering: .relaxed)
      }
    }
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"), log: log)
    #expect(eventually { failed.load(ordering: .relaxed) })
    #expect(tokens.count <= 2)
    withExtendedLifetime(rig) {}
  }

  private static func upstream(refusing path: String) throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            let isBad = head.hasPrefix("GET \(path) ")
            return [.send(isBad ? "HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nwho?" : okResponse("ok"))]
          }
        ])))
  }
}
