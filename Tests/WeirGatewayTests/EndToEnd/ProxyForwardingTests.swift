import Foundation
import Synchronization
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Requests through proxies that scripts play.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct ProxyForwardingTests {
  private func get(_ rig: GatewayRig, _ path: String = "/", _ fields: String = "") throws -> RawClient.Response {
    let client = try rig.client()
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
    return try #require(client.response())
  }

  private func rig(_ text: String, log: Logger = Logger(level: .error)) throws -> GatewayRig {
    try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"), log: log)
  }

  private static func lines(_ head: String?, _ name: String) -> [String] {
    (head ?? "").components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
  }

  // MARK: The way

  @Test func oneConnectionTakesTheRequestsForAllOrigins() throws {
    let proxy = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try rig(
      """
      credentials: [{name: gate, basic: {user: shop, password: s3cret00}}]
      proxy: {url: "http://127.0.0.1:\(proxy.port)", credential: gate}
      routes:
        - {name: r, upstream: "http://one.example"}
        - {name: s, match: {pathPrefix: /two}, upstream: "http://two.example:8080/base"}
      """)
    #expect(try get(rig, "/", "Proxy-Authorization: Basic mine\r\n").status == 200)
    #expect(try get(rig, "/two/x?y").status == 200)
    let heads = proxy.requestHeads
    try #require(heads.count == 2)
    #expect(heads[0].hasPrefix("GET http://one.example/ HTTP/1.1\r\nHost: one.example\r\n"))
    #expect(heads[1].hasPrefix("GET http://two.example:8080/base/two/x?y HTTP/1.1\r\nHost: two.example:8080\r\n"))
    for head in heads {
      #expect(Self.lines(head, "Proxy-Authorization") == ["Proxy-Authorization: Basic c2hvcDpzM2NyZXQwMA=="])
    }
    if isOwnEngine { #expect(proxy.connectionCount == 1) }
  }

  /// The name of an endpoint is the proxy's to look up.
  @Test(arguments: ["http", "socks5h"]) func endpointsGoByName(kind: String) throws {
    let answers = Script.Step.forever([.head, .send(okResponse("ok"))])
    let proxy = try ScriptedServer(kind == "http" ? Script(answers) : Script(.socks5, answers))
    let rig = try rig(
      """
      upstreams: [{name: u, endpoints: ["nowhere.invalid:81"], proxy: "\(kind)://127.0.0.1:\(proxy.port)"}]
      routes: [{name: r, upstream: u}]
      """)
    #expect(try get(rig).status == 200)
    let text = proxy.receivedText()
    #expect(text.contains("Host: nowhere.invalid:81\r\n"))
    #expect(text.contains(kind == "http" ? "GET http://nowhere.invalid:81/ " : "nowhere.invalid\u{0}Q"))
    #expect(rig.gateway.state.endpoints.first?.set.endpoints.map(\.name) == ["nowhere.invalid:81"])
  }

  @Test func aTokenServiceMayBeBehindAProxy() throws {
    let proxy = try ScriptedServer(.answering(TokenService.grant("t")))
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    guard case .oauth2(let settings, _, _, let wait) = TokenService.kind(port: 9) else { return }
    let way = ProxySettings.proxy(try .init(parsing: "http://127.0.0.1:\(proxy.port)"))
    let rig = try GatewayRig(
      to: upstream.port, credential: .oauth2(settings, tls: nil, proxy: way, wait: wait))
    #expect(try get(rig).status == 200)
    #expect(upstream.authorizations == ["Bearer t"])
    #expect(proxy.requestHeads.first?.hasPrefix("POST http://127.0.0.1:9/token HTTP/1.1\r\n") == true)
  }

  // MARK: Failures

  private static let refused = "the proxy on the way to the upstream has refused the connection\n"
  private static let unauthorized = "the proxy on the way to the upstream wants another credential\n"
  private static let broken = "the proxy on the way to the upstream can't be reached or broke off\n"
  private static let unreached = "the proxy on the way could not reach the upstream\n"

  private static func answer(_ status: String) -> String { "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n" }

  /// Only what a proxy says of the server counts for its endpoint.
  @Test(arguments: [
    ("https", answer("403 Forbidden"), refused, "proxy_refused", "answered CONNECT with 403", 0),
    ("https", answer("407 Who"), unauthorized, "proxy_authentication", "answered CONNECT with 407", 0),
    ("http", answer("407 Who"), unauthorized, "proxy_authentication", "wants a credential (407)", 0),
    ("https", "", broken, "proxy_unreachable", "has made no tunnel", 0),
    ("https", answer("503 No"), unreached, "proxy_refused", "answered CONNECT with 503", 1),
  ])
  func aFailureNamesTheProxy(
    scheme: String, answer: String, text: String, label: String, fact: String, failures: Int
  ) throws {
    let proxy = try ScriptedServer(Script(.head, .send(answer)))
    let lines = Mutex("")
    let log = Logger(level: .warn, format: .logfmt) { line in
      lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
    }
    let rig = try rig(
      """
      upstreams:
        - name: u
          scheme: \(scheme)
          endpoints: ["a.example:443", "b.example:443"]
          outlier: {consecutiveFailures: 1}
          connectRetries: 0
          circuitBreaker: {}
          proxy: "http://127.0.0.1:\(proxy.port)"
      routes: [{name: r, upstream: u}]
      """, log: log)
    let response = try get(rig)
    #expect(response.status == 502)
    #expect(response.text == text)
    #expect(eventually { lines.withLock { $0.contains("error=\(label)") } })
    let line = lines.withLock { $0 }
    #expect(line.contains("the proxy http://127.0.0.1:\(proxy.port)") && line.contains(fact), "\(line)")
    #expect(rig.registry.text().contains("error_type=\"\(label)\""))
    let endpoints = rig.gateway.state.endpoints.first?.set.report(at: .now).endpoints ?? []
    #expect(endpoints.reduce(0) { $0 + Int($1.failures) } == failures)
  }

  /// Whatever ends an attempt whose way does not stand says nothing about the upstream, and load control does not count it.
  @Test func anAttemptAtAHungProxySaysNothingAboutTheUpstream() throws {
    let gate = Gate()
    let proxy = try ScriptedServer(Script(.forever([.head, .wait(gate), .send(Self.answer("403 Forbidden"))])))
    let rig = try rig(
      """
      upstreams:
        - name: u
          scheme: https
          endpoints: ["a.example:443", "b.example:443"]
          outlier: {consecutiveFailures: 1}
          circuitBreaker: {}
          proxy: "http://127.0.0.1:\(proxy.port)"
      routes:
        - {name: r, upstream: u, attemptTimeout: 300ms}
        - {name: slow, match: {pathPrefix: /slow}, upstream: u, attemptTimeout: 20s}
      """)
    #expect(try get(rig).status == 504)
    #expect(proxy.connectionCount == 1)
    let client = try rig.client()
    client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { proxy.requestHeads.count == 2 })
    #expect(eventually { rig.sample("weir_concurrency_used{server_address=\"u\",server_port=\"443\"}") == 0 })
    gate.open()
    #expect(client.response()?.status == 502)
    let endpoints = rig.gateway.state.endpoints.first?.set.report(at: .now).endpoints ?? []
    #expect(endpoints.map(\.failures) == [0, 0])
  }

  @Test func aProxyThatIsDown() throws {
    let rig = try rig(
      "proxy: 'http://127.0.0.1:\(LoopbackPort.free())'\nroutes: [{name: r, upstream: 'https://one.example'}]")
    let response = try get(rig)
    #expect(response.status == 502)
    #expect(response.text == Self.broken)
  }

  /// Nothing was sent, and the proxy may recover. One that has refused will refuse again.
  @Test(arguments: [("", 2), (answer("403 Forbidden"), 1), (answer("503 Busy"), 2)])
  func rulesMayRetry(answer: String, attempts: Int) throws {
    let proxy = try ScriptedServer(Script(.head, .send(answer)))
    let rig = try rig(
      """
      proxy: "http://127.0.0.1:\(proxy.port)"
      routes: [{name: r, upstream: "https://one.example", retry: {limit: 1, causes: [connect], backoff: {base: 1ms}}}]
      """)
    #expect(try get(rig).status == 502)
    #expect(proxy.connectionCount == attempts)
  }

  @Test func aFallbackTakesThePlaceOfAFailure() throws {
    let rig = try rig(
      """
      proxy: "http://127.0.0.1:\(LoopbackPort.free())"
      routes: [{name: r, upstream: "http://one.example", fallback: {respond: {status: 207}}}]
      """)
    #expect(try get(rig).status == 207)
  }

  // MARK: Credentials

  /// The token that a proxy takes.
  private final class GoodToken: Sendable {
    private let text: Mutex<String>

    init(_ text: String) { self.text = Mutex(text) }

    var value: String {
      get { text.withLock { $0 } }
      set { text.withLock { $0 = newValue } }
    }
  }

  private static func proxy(taking good: GoodToken) throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            let isGood = lines(head + "\r\n", "Proxy-Authorization") == ["Proxy-Authorization: Bearer \(good.value)"]
            return [.send(isGood ? okResponse("ok") : answer("407 Who"))]
          }
        ])))
  }

  /// A route to an upstream through a proxy, which gets the credential `gate`.
  private static func configuration(
    through proxy: ScriptedServer, gate: CredentialSettings.Kind, own: CredentialSettings.Kind? = nil
  ) throws -> Configuration {
    var route = Route(name: "r", upstream: try Upstream(parsing: "http://one.example"))
    var settings = try ProxySettings.Proxy(parsing: "http://127.0.0.1:\(proxy.port)")
    settings.credential = "gate"
    route.proxy = .proxy(settings)
    route.credential = own.map { _ in "own" }
    var configuration = Configuration(routes: [route])
    configuration.credentials =
      [CredentialSettings(name: "gate", kind: gate)] + (own.map { [CredentialSettings(name: "own", kind: $0)] } ?? [])
    return configuration
  }

  /// The request is not sent again: the client learns of it, and the next ones have another token.
  @Test func aRefusedTokenIsFetchedAnew() throws {
    let tokens = try TokenService(), good = GoodToken("token1")
    let proxy = try Self.proxy(taking: good)
    let rig = try GatewayRig(Self.configuration(through: proxy, gate: tokens.kind()))
    #expect(try get(rig).status == 200)
    #expect(tokens.count == 1)
    good.value = "token2"
    let response = try get(rig)
    #expect(response.status == 502)
    #expect(response.text == Self.unauthorized)
    #expect(proxy.requestHeads.count == 2)
    #expect(eventually { (try? get(rig).status) == 200 })
    #expect(tokens.count == 2)
  }

  @Test func withoutATokenNothingIsSentToTheProxy() throws {
    let tokens = try TokenService()
    tokens.answer = TokenService.refusal
    let proxy = try Self.proxy(taking: GoodToken("token1"))
    let rig = try GatewayRig(Self.configuration(through: proxy, gate: tokens.kind()))
    let response = try get(rig)
    #expect(response.status == 503)
    #expect(response.values("X-Weir-Refused") == ["credential"])
    #expect(response.values("X-No-Retry") == ["credential"])
    #expect(proxy.connectionCount == 0)
    let labels = "server_address=\"one.example\",server_port=\"80\",adapter=\"gate\",reason=\"invalid_client\""
    #expect(eventually { rig.sample("weir_adaptation_failures_total{\(labels)}") == 1 })
  }

  @Test func bothCredentialsAreWaitedFor() throws {
    let gates = (own: WeirTestSupport.Gate(), proxys: WeirTestSupport.Gate())
    let own = try TokenService(gate: gates.own), proxys = try TokenService(gate: gates.proxys)
    let proxy = try Self.proxy(taking: GoodToken("token1"))
    let rig = try GatewayRig(Self.configuration(through: proxy, gate: proxys.kind(), own: own.kind()))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    func waiters(_ name: String) -> Double? { rig.sample("weir_auth_refresh_waiters{interceptor=\"\(name)\"}") }
    #expect(eventually { waiters("own") == 1 })
    #expect(waiters("gate") == 0)
    gates.own.open()
    #expect(eventually { waiters("gate") == 1 })
    #expect(waiters("own") == 0)
    #expect(proxy.connectionCount == 0)
    gates.proxys.open()
    #expect(client.response()?.status == 200)
    #expect(proxy.authorizations == ["Bearer token1"])
  }

  // MARK: Checks

  @Test func checksGoThroughTheProxy() throws {
    let proxy = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try CheckRig(Self.checked(through: proxy))
    #expect(eventually { rig.count(.good, "a.example:80") >= 1 })
    #expect(proxy.requestHeads.first?.hasPrefix("GET http://a.example/healthz HTTP/1.1\r\nHost: a.example\r\n") == true)
  }

  /// A refusal by a proxy says nothing about the endpoint.
  @Test func checksThatAProxyRefusesDoNotCount() throws {
    let proxy = try ScriptedServer(.answering(Self.answer("407 Who")))
    let rig = try CheckRig(Self.checked(through: proxy))
    #expect(eventually { proxy.requestHeads.count >= 3 })
    #expect(rig.results() == [])
  }

  private static func checked(through proxy: ScriptedServer) -> String {
    """
    [{name: u, endpoints: ["a.example:80"], proxy: "http://127.0.0.1:\(proxy.port)", \
    check: {path: /healthz, interval: 500ms, timeout: 500ms, unhealthyAfter: 1}}]
    """
  }
}
