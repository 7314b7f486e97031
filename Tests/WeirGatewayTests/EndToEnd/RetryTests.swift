import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Retries on the way through the gateway, exactly as the route says.
@Suite(.slow, .serialized) struct RetryTests {
  static let failure = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nX-Why: load\r\n\r\nbusy"

  @Test(
    arguments: [
      (2, 2, "GET", 200, 3), (1, 2, "GET", 503, 2), (0, 2, "GET", 503, 1), (2, 0, "GET", 200, 1),
      (2, 2, "POST", 503, 1), (3, 3, "HEAD", 200, 4), (2, 2, "QUERY", 200, 3),
    ])
  func followsTheRoute(limit: Int, failures: Int, method: String, status: Int, attempts: Int) throws {
    let isHead = method == "HEAD"
    let failure = isHead ? "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\n" : Self.failure
    let success = isHead ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : okResponse("ok")
    var steps: [Script.Step] = []
    for _ in 0..<failures { steps += [.head, .send(failure)] }
    steps += [.forever([.head, .send(success)])]
    let upstream = try ScriptedServer(Script(.forever(steps)))
    var route = try Route(to: upstream.port)
    route.retry.limit = limit
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("\(method) / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response(toHead: isHead))
    #expect(response.status == status)
    #expect(response.text == (isHead ? "" : status == 200 ? "ok" : "busy"))
    #expect(Self.requests(method, upstream) == attempts)
    #expect(eventually { rig.count(status == 200 ? "success" : "http_error") == 1 })
    // The client's request settles after the gateway has answered.
    let sum = "weir_request_attempts_sum{server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\"}"
    #expect(eventually { rig.sample(sum) == Double(attempts) })
  }

  @Test func theLastResponseGoesOutUnchanged() throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 503)
    #expect(response.values("X-Why") == ["load"])
    #expect(response.text == "busy")
  }

  /// Whether to retry is decided at the head; what comes after it is read over, or the connection given up.
  @Test(arguments: [
    "Content-Length: 10\r\n\r\nhalf", "Content-Length: 10\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    "\r\n", "Content-Length: 1000000000\r\n\r\nmuch more",
  ])
  func theBodyOfAResponseThatIsOfNoUseIsNotWaitedFor(body: String) throws {
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 503 Busy\r\n\(body)"), .awaitClose), .answering(okResponse("there")))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    let rig = try GatewayRig(route)
    let client = try rig.client()
    let began = MonotonicTime.now
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 200)
    #expect(response.text == "there")
    #expect(MonotonicTime.now.seconds(since: began) < 15)
  }

  private func attempts(_ rig: GatewayRig, of upstream: ScriptedServer, requests: Int) throws -> Int {
    let client = try rig.client()
    for _ in 0..<requests {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 503)
      #expect(response.text == "busy", "what the upstream said goes to the client")
    }
    return Self.requests("GET", upstream)
  }

  @Test func theRetriesOfAllRequestsHaveABudget() throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.retry.limit = 3
    let rig = try GatewayRig(route, workers: 2)
    // A floor of ten, a burst of ten, a fifth of a hundred.
    #expect(try attempts(rig, of: upstream, requests: 100) == 140)
    let address = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(rig.sample("weir_retries_denied_total{\(address),reason=\"budget\"}") ?? 0 > 80)
    #expect(eventually { (rig.sample("weir_retry_budget_available{\(address)}") ?? 100) < 1 })
  }

  @Test(arguments: [
    (RetryBudget(ratio: 0.1, minimumPerSecond: 0, burst: 3, window: 60), 25), (nil, 40),
    (RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 0), 20),
  ])
  func theBudgetIsTheRoutes(budget: RetryBudget?, expected: Int) throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    route.retry.budget = budget
    let rig = try GatewayRig(route)
    #expect(try attempts(rig, of: upstream, requests: 20) == expected)
  }

  @Test(arguments: [("", 20), ("X-Retry-Attempt: 0\r\n", 20), ("X-Retry-Attempt: 1\r\n", 10)])
  func whatIsARetryEarnsNoBudget(field: String, expected: Int) throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    route.retry.unlessRetried = false
    route.retry.budget = RetryBudget(ratio: 1, minimumPerSecond: 0, burst: 0)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    for _ in 0..<10 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\(field)\r\n")
      #expect(client.response()?.status == 503)
    }
    #expect(Self.requests("GET", upstream) == expected)
  }

  @Test func anOpenCircuitAnswersInThePlaceOfTheUpstream() throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.circuitBreaker = CircuitBreaker(minimumRequests: 3)
    let rig = try GatewayRig(route, workers: 2)
    #expect(try attempts(rig, of: upstream, requests: 3) == 3)
    // Each on a worker of its own.
    for _ in 0..<6 {
      let client = try rig.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try #require(client.response())
      #expect(response.status == 503)
      #expect(response.text == "the upstream has failed too often, and few requests are let through\n")
      #expect(response.values("Retry-After") == ["1"])
    }
    #expect(Self.requests("GET", upstream) == 3)
    #expect(eventually { rig.count("rejected") == 6 })
    let address = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(rig.sample("weir_circuit_state{\(address),state=\"open\"}") == 1)
    #expect(rig.sample("weir_circuit_state{\(address),state=\"closed\"}") == 0)
    #expect(rig.sample("weir_circuit_transitions_total{\(address),state=\"open\"}") == 1)
    #expect(rig.sample("weir_circuit_transitions_total{\(address),state=\"half_open\"}") == 0)
  }

  /// Else its state would stay on the page for ever, and the alert with it.
  @Test func anOpenCircuitIsForgottenWithItsKey() async throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.circuitBreaker = CircuitBreaker(minimumRequests: 3)
    let rig = try GatewayRig(route)
    #expect(try attempts(rig, of: upstream, requests: 3) == 3)
    let open = "weir_circuit_state{server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\",state=\"open\"}"
    #expect(eventually { rig.sample(open) == 1 })
    try await rig.gateway.reload(Configuration(routes: [route]))
    #expect(rig.sample(open) == 1)
    try await rig.gateway.reload(Configuration(routes: [try Route(to: upstream.port)]))
    #expect(rig.sample(open) == nil)
  }

  @Test(arguments: ["GET", "QUERY"]) func aSecondAttemptAnswersForOneThatHangs(method: String) throws {
    let upstream = try ScriptedServer(
      Script(.request, .awaitClose), Script(.request, .send(okResponse("second"))))
    var route = try Route(to: upstream.port)
    route.hedge = HedgePlan(delay: .seconds(0.02), limit: 1)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("\(method) / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.text == "second")
    #expect(eventually { rig.count("success") == 1 })
    let address = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(eventually { rig.sample("weir_hedges_total{\(address),result=\"won\"}") == 1 })
    #expect(eventually { upstream.closedByClientCount == 1 })
    #expect(eventually { rig.sample("http_client_active_requests{\(address)}") == 0 })
  }

  @Test(
    arguments: [
      ("X-No-Retry: 1", nil, 1), ("X-Envoy-RateLimited: true", nil, 1), ("X-Final: 1", nil, 3),
      ("X-Final: 1", "x-final", 1),
      ("X-No-Retry: 1", "X-Final", 3), ("Retry-After: 31", nil, 1),
      // The longest of several, each by itself, lies beyond the deadline of 30 s.
      ("Retry-After: 0\r\nRetry-After: 31", nil, 1), ("Retry-After: 31\r\nRetry-After: soon", nil, 1),
      ("Retry-After: 0\r\nRetry-After: Sun, 06 Nov 2094 08:49:37 GMT", nil, 1),
      ("Retry-After: 0\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT", nil, 3),
      ("Retry-After: 31.5", nil, 1), ("Retry-After: Sun, 06 Nov 2094 08:49:37 UTC", nil, 1),
      ("Retry-After: Sun, 06 Nov 2094 08:49:37 +0000", nil, 1),
    ] as [(String, String?, Int)])
  func theUpstreamHasTheLastWord(field: String, finalField: String?, attempts: Int) throws {
    let upstream = try ScriptedServer(.answering("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\(field)\r\n\r\n"))
    var route = try Route(to: upstream.port)
    route.retry.limit = 2
    if let finalField { route.retry.finalResponseFields = [finalField] }
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 503)
    #expect(Self.requests("GET", upstream) == attempts)
  }

  /// The values of a field in the requests that an upstream got, in order; "-" without one.
  private static func values(_ name: String, _ upstream: ScriptedServer) -> [String] {
    let text = (0..<upstream.connectionCount).map { upstream.receivedText(on: $0) }.joined()
    return text.components(separatedBy: "\r\n\r\n").dropLast().map { head in
      let lines = head.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
      return lines.isEmpty ? "-" : lines.map { $0.dropFirst(name.count + 2) }.joined(separator: "|")
    }
  }

  @Test(
    arguments: [
      ("", true, ["-", "1", "2"], 0), ("X-Retry-Attempt: 0\r\n", true, ["-", "1", "2"], 0),
      ("X-Retry-Attempt: 2\r\n", true, ["2"], 1), ("X-Retry-Attempt: 2\r\n", false, ["2", "3", "4"], 1),
      ("x-envoy-attempt-count: 1\r\n", true, ["-", "1", "2"], 0), ("x-envoy-attempt-count: 3\r\n", true, ["2"], 1),
      ("x-envoy-attempt-count: 3\r\n", false, ["2", "3", "4"], 1),
      ("X-Retry-Attempt: -3\r\n", true, ["-", "1", "2"], 0),
      ("X-Retry-Attempt: 999\r\nX-Retry-Attempt: 1\r\n", false, ["999", "999", "999"], 1),
    ] as [(String, Bool, [String], Double)])
  func attemptsAreAnnounced(fields: String, unlessRetried: Bool, sent: [String], counted: Double) throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.retry.limit = 2
    route.retry.unlessRetried = unlessRetried
    let rig = try GatewayRig(route)
    #expect(rig.sample("weir_retried_requests_received_total{route=\"r\"}") == 0)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
    #expect(client.response()?.status == 503)
    #expect(Self.values("X-Retry-Attempt", upstream) == sent)
    #expect(eventually { rig.sample("weir_retried_requests_received_total{route=\"r\"}") == counted })
  }

  @Test func aRouteMayKeepAttemptsToItself() throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    route.headers.remove = ["X-Retry-Attempt"]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 503)
    #expect(Self.values("X-Retry-Attempt", upstream) == ["-", "-"])
  }

  /// 10 attempts and not 64: a layer's retries are left alone by those behind it.
  @Test func threeGatewaysInARowDoNotMultiply() throws {
    let upstream = try ScriptedServer(.answering(Self.failure))
    func rig(to port: Int) throws -> GatewayRig {
      var route = try Route(to: port)
      route.retry.limit = 3
      // So that nobody's own request is taken for a loop.
      return try GatewayRig(route, pseudonym: "weir-\(port)")
    }
    let last = try rig(to: upstream.port)
    let middle = try rig(to: Int(try #require(last.gateway.address.port)))
    let first = try rig(to: Int(try #require(middle.gateway.address.port)))
    let client = try first.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 503)
    // The one fresh request is retried by each layer.
    #expect(Self.requests("GET", upstream) == 1 + 3 + 3 + 3)
  }

  @Test func onlyTheStatusCodesOfTheRoute() throws {
    let upstream = try ScriptedServer(.answering("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"))
    var route = try Route(to: upstream.port)
    route.retry.limit = 3
    route.retry.statusCodes = [503]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 500)
    #expect(Self.requests("GET", upstream) == 1)
  }

  @Test func lostConnectionsAreRetried() throws {
    let upstream = try ScriptedServer(Script(.head, .reset), Script(.head, .close), .answering(okResponse("third")))
    var route = try Route(to: upstream.port)
    route.retry.limit = 2
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "third")
    #expect(upstream.connectionCount == 3)
  }

  @Test(arguments: [false, true])
  func smallBodiesAreReplayed(isChunked: Bool) throws {
    let body = String(repeating: "0123456789abcdef", count: 4096)
    let read: Script.Step = isChunked ? .chunkedBody : .bytes(body.utf8.count)
    let upstream = try ScriptedServer(
      Script(.head, read, .send(Self.failure), .head, read, .send(okResponse("ok")), .awaitClose))
    var route = try Route(to: upstream.port)
    route.retry.limit = 2
    route.retry.methods = ["POST"]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.utf8.count)"
    client.send("POST / HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n")
    let half = body.utf8.count / 2
    if isChunked {
      client.send("\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
    } else {
      client.send(String(body.prefix(half)))
      client.send(String(body.dropFirst(half)))
    }
    #expect(client.response()?.text == "ok")
    let received = (0..<upstream.connectionCount).map { upstream.receivedText(on: $0) }.joined()
    #expect(received.components(of: "POST / HTTP/1.1\r\n") == 2)
    if !isChunked { #expect(received.components(of: body) == 2) }
  }

  @Test func largeBodiesAreNotRetried() throws {
    let body = [UInt8](repeating: 0x61, count: (64 << 10) + 1)
    let upstream = try ScriptedServer(Script(.head, .bytes(body.count), .send(Self.failure), .awaitClose))
    var route = try Route(to: upstream.port)
    route.retry.limit = 2
    route.retry.methods = ["POST"]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n")
    client.send(body)
    let response = try #require(client.response())
    #expect(response.status == 503)
    #expect(response.text == "busy")
    #expect(Self.requests("POST", upstream) == 1)
    let denied =
      "weir_retries_denied_total{server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\",reason=\"body\"}"
    #expect(eventually { rig.sample(denied) == 1 })
  }

  private static func requests(_ method: String, _ upstream: ScriptedServer) -> Int {
    (0..<upstream.connectionCount).reduce(0) {
      $0 + upstream.receivedText(on: $1).components(of: "\(method) / HTTP/1.1\r\n")
    }
  }
}

extension String {
  /// How often `part` occurs.
  fileprivate func components(of part: String) -> Int {
    components(separatedBy: part).count - 1
  }
}
