import Testing
import Weir
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// Which failures a route retries and after what delay, and what is sent again whatever its method.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct RetryRuleTests {
  // MARK: Delays

  @Test(arguments: [
    (RouteBackoff(), [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]),
    (RouteBackoff(base: 0.001, maximum: 0.005), [0.001, 0.002, 0.004, 0.005, 0.005]),
    (RouteBackoff(base: 60, maximum: 60), [60, 60]), (RouteBackoff(base: 2, maximum: 1), [1, 1]),
  ])
  func delaysAreDrawnUpToATimeThatDoubles(backoff: RouteBackoff, longest: [Double]) throws {
    var route = RouteRetryRules()
    route.limit = longest.count
    route.backoff = backoff
    let rules = try #require(RetryRules(route))
    let facts = RetryRules.Failure(method: "GET", status: 503, cause: .status)
    for (count, seconds) in longest.enumerated() {
      for random in [0, 0.25, 0.999] {
        let decision = rules.decision(
          about: facts, isRetryable: rules.isRetryable(facts), retryCount: count, values: { _ in [] }, random: random,
          now: 0)
        guard case .retry(let delay, .backoff, nil, nil) = decision else {
          Issue.record("\(decision)")
          continue
        }
        #expect(abs(delay - seconds * random) < 1e-9)
      }
    }
    #expect(
      rules.decision(
        about: facts, isRetryable: true, retryCount: longest.count, values: { _ in [] }, random: 0, now: 0)
        == .deny(.limit))
  }

  // MARK: Causes

  /// The ways in which an attempt fails, before a client hears of them.
  enum Failing: CaseIterable {
    case refused, hangsConnecting, noTLS, closed, reset, badHead, silent, late, lateConnecting, status

    var cause: RetryCause {
      switch self {
      case .refused, .hangsConnecting, .noTLS: .connect
      case .closed, .reset, .badHead: .lost
      case .silent, .late, .lateConnecting: .timeout
      case .status: .status
      }
    }

    fileprivate func peer() throws -> FailingPeer {
      switch self {
      case .refused:
        let server = try ScriptedServer(Script(.close))
        server.stop()
        return FailingPeer(server.port, server)
      case .hangsConnecting, .lateConnecting:
        let listener = try FullListener()
        return FailingPeer(listener.port, listener)
      case .noTLS: return try FailingPeer(Script(.bytes(1), .send("this is no TLS\r\n\r\n")))
      case .closed: return try FailingPeer(Script(.request, .close))
      case .reset: return try FailingPeer(Script(.request, .reset))
      case .badHead: return try FailingPeer(Script(.request, .send("this is no head\r\n\r\n"), .awaitClose))
      case .silent, .late: return try FailingPeer(Script(.request, .awaitClose))
      case .status: return try FailingPeer(.answering(with: { RetryTests.failure }))
      }
    }
  }

  private func rig(
    _ failing: Failing, _ port: Int, _ change: (inout RouteRetryRules) -> Void
  ) throws -> GatewayRig {
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: failing == .noTLS ? .https : .http),
      .listed([try EndpointSpec(parsing: "127.0.0.1:\(port)")]))
    entry.endpoints.connectRetries = 0
    if failing == .hangsConnecting { entry.connection.connectTimeout = 0.3 }
    var route = Route(name: "r", upstream: entry.target)
    route.retry.limit = 1
    route.retry.backoff = RouteBackoff(base: 0.001, maximum: 0.001)
    switch failing {
    case .silent: route.silenceTimeout = 0.3
    case .late, .lateConnecting: route.attemptTimeout = 0.3
    default: break
    }
    change(&route.retry)
    return try GatewayRig(Configuration(routes: [route], upstreams: [entry]))
  }

  @Test(arguments: Failing.allCases, RetryCause.allCases)
  func aRouteRetriesItsCausesAlone(failing: Failing, cause: RetryCause) throws {
    let peer = try failing.peer()
    let rig = try rig(failing, peer.port) { $0.causes = [cause] }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect([502, 503, 504].contains(client.response()?.status ?? 0))
    let isRetried = failing.cause == cause
    let labels = "server_address=\"u\",server_port=\"\(failing == .noTLS ? 443 : 80)\""
    #expect(eventually { rig.sample("weir_request_attempts_sum{\(labels)}") == (isRetried ? 2 : 1) })
    #expect(rig.sample("weir_retries_denied_total{\(labels),reason=\"policy\"}") ?? 0 == (isRetried ? 0 : 1))
    #expect(rig.sample("weir_retries_denied_total{\(labels),reason=\"limit\"}") ?? 0 == (isRetried ? 1 : 0))
  }

  // MARK: Requests with a key

  private static let key = "Idempotency-Key: k-1\r\n"

  private func post(_ rig: GatewayRig, _ fields: String = "") throws -> RawClient.Response? {
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\n\(fields)Content-Length: 4\r\n\r\nbody")
    return client.response()
  }

  @Test(
    arguments: [
      (key, true, false, 2), (key.lowercased(), true, false, 2), (key + "Idempotency-Key: k-2\r\n", true, false, 1),
      (key + key, true, false, 1), ("Idempotency-Key:\r\n", true, false, 1),
      (key + "Idempotency_Key: k-2\r\n", true, false, 1), ("Idempotency.Key: k-1\r\n", true, false, 1),
      ("Idempotency-Key: \t \r\n", true, false, 1),
      ("", true, false, 1), ("X-Idempotency-Key: k-1\r\n", true, false, 1), (key, false, false, 1),
      (key, true, true, 1),
    ] as [(String, Bool, Bool, Int)], [Failing.status, .closed])
  func oneKeyAllowsARetry(request: (fields: String, isOn: Bool, isRemoved: Bool, count: Int), failing: Failing) throws {
    let upstream = try ScriptedServer(
      failing == .status ? .answering(with: { RetryTests.failure }) : Script(.request, .close))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    route.retry.idempotencyKey = request.isOn
    if request.isRemoved { route.headers.remove = ["Idempotency-Key"] }
    let rig = try GatewayRig(route)
    #expect(try post(rig, request.fields)?.status == (failing == .status ? 503 : 502))
    #expect(upstream.requestHeads.count == request.count)
    if request.count == 2 {
      #expect(upstream.requestHeads.allSatisfy { $0.lowercased().contains("idempotency-key: k-1\r\n") })
      #expect(upstream.requestHeads.last?.contains("X-Retry-Attempt: 1\r\n") == true)
    }
  }

  @Test(arguments: [(key, true, 200), (key, false, 502), ("", true, 502)])
  func aKeyAllowsAFallback(fields: String, isOn: Bool, status: Int) throws {
    let broken = try ScriptedServer(Script(.request, .close))
    let spare = try ScriptedServer(.answering(with: { okResponse("spare") }))
    var route = try Route(to: broken.port)
    route.retry.idempotencyKey = isOn
    route.fallback = RouteFallback(action: .upstream(try Upstream(parsing: "http://127.0.0.1:\(spare.port)")))
    let rig = try GatewayRig(route)
    #expect(try post(rig, fields)?.status == status)
    #expect(broken.requestHeads.count == 1)
    #expect(spare.requestHeads.count == (status == 200 ? 1 : 0))
  }

  @Test func aKeyAllowsNoHedge() throws {
    let gate = Gate()
    let upstream = try ScriptedServer(Script(.request, .wait(gate), .send(okResponse("first")), .awaitClose))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    route.retry.idempotencyKey = true
    route.hedge = HedgePlan(delay: .seconds(0.02), limit: 1)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\n\(Self.key)Content-Length: 0\r\n\r\n")
    #expect(eventually { upstream.requestHeads.count == 1 })
    letPass(0.5)
    #expect(upstream.connectionCount == 1)
    gate.open()
    #expect(client.response()?.text == "first")
  }

  /// On an idle connection that ends without an answer the engine repeats other methods by itself.
  @Test(arguments: [(0, 502, 2), (1, 200, 3)])
  func aKeyAllowsTheEngineNoRepeat(limit: Int, status: Int, count: Int) throws {
    let upstream = try ScriptedServer(
      Script(.request, .send(okResponse("one")), .request, .close), .answering(with: { okResponse("two") }))
    var route = try Route(to: upstream.port)
    route.retry.limit = limit
    route.retry.idempotencyKey = true
    let rig = try GatewayRig(route)
    #expect(try post(rig, Self.key)?.text == "one")
    #expect(try post(rig, Self.key)?.status == status)
    #expect(upstream.requestHeads.count == count)
    if count == 3 { #expect(upstream.requestHeads.last?.contains("X-Retry-Attempt: 1\r\n") == true) }
  }

  // MARK: Requests without one

  /// The rules retry everything, there is another endpoint, and a fallback.
  @Test(arguments: [Failing.closed, .reset, .badHead, .silent, .late, .status])
  func aPostWithoutAKeyIsNeverSentTwice(failing: Failing) throws {
    let one = try failing.peer(), two = try failing.peer(), spare = try failing.peer()
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: .http),
      .listed(try [one, two].map { try EndpointSpec(parsing: "127.0.0.1:\($0.port)") }))
    entry.endpoints.connectRetries = 5
    var route = Route(name: "r", upstream: entry.target)
    route.retry.limit = 3
    route.retry.idempotencyKey = true
    route.hedge = HedgePlan(delay: .seconds(0.01), limit: 2)
    route.silenceTimeout = failing == .silent ? 0.3 : nil
    route.attemptTimeout = failing == .late ? 0.3 : nil
    route.fallback = RouteFallback(action: .upstream(try Upstream(parsing: "http://127.0.0.1:\(spare.port)")))
    let rig = try GatewayRig(Configuration(routes: [route], upstreams: [entry]))
    #expect([502, 503, 504].contains(try post(rig)?.status ?? 0))
    #expect([one, two, spare].reduce(0) { $0 + $1.requests } == 1)
  }

  /// Nothing of the first attempt was sent.
  @Test(arguments: [Failing.refused, .hangsConnecting, .lateConnecting])
  func aPostThatWasNotSentGoesElsewhere(failing: Failing) throws {
    let bad = try failing.peer(), good = try ScriptedServer(.answering(with: { okResponse("good") }))
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: .http),
      .listed(try [bad.port, good.port].map { try EndpointSpec(parsing: "127.0.0.1:\($0)") }))
    entry.endpoints.balance = .roundRobin
    entry.endpoints.outlier = nil
    if failing == .hangsConnecting { entry.connection.connectTimeout = 0.5 }
    var route = Route(name: "r", upstream: entry.target)
    if failing == .lateConnecting { route.attemptTimeout = 1 }
    let rig = try GatewayRig(Configuration(routes: [route], upstreams: [entry]))
    for _ in 0..<2 { #expect(try post(rig)?.text == "good") }
    #expect(good.requestHeads.count == 2)
  }
}

/// An upstream that fails in one way.
private final class FailingPeer {
  let port: Int
  private let peer: any Sendable

  init(_ port: Int, _ peer: any Sendable) {
    self.port = port
    self.peer = peer
  }

  convenience init(_ script: Script) throws {
    let server = try ScriptedServer(script)
    self.init(server.port, server)
  }

  /// The requests that it has read.
  var requests: Int { (peer as? ScriptedServer)?.requestHeads.count ?? 0 }
}
