import Foundation
import Testing
import Weir
import WeirCurl
import WeirIO
import WeirMetrics
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// The limit on one attempt's time, as clients and upstreams see it.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct AttemptTimeoutTests {
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  private func rig(
    _ port: Int, _ seconds: Double, log: Logger = Logger(level: .error), _ change: (inout Route) -> Void = { _ in }
  ) throws -> GatewayRig {
    var route = try Route(to: port)
    route.attemptTimeout = seconds
    change(&route)
    return try GatewayRig(route, log: log)
  }

  private func labels(_ port: Int) -> String { "server_address=\"127.0.0.1\",server_port=\"\(port)\"" }

  /// Answers a request that was lost to the limit, long before the route's own time is over.
  private func expectTimeout(_ rig: GatewayRig, _ client: RawClient, sourceLocation: SourceLocation = #_sourceLocation)
  {
    let began = MonotonicTime.now
    let response = client.response()
    #expect(response?.status == 504, sourceLocation: sourceLocation)
    #expect(response?.text == "the upstream did not answer in time\n", sourceLocation: sourceLocation)
    #expect(MonotonicTime.now.seconds(since: began) < 15, sourceLocation: sourceLocation)
    #expect(eventually { rig.count("timeout") == 1 }, sourceLocation: sourceLocation)
  }

  // MARK: What counts

  @Test(arguments: ["", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"])
  func anUpstreamWithoutAHeadIsATimeout(said: String) throws {
    let lines = LoggedLines()
    let upstream = try ScriptedServer(Script(.head, .send(said), .awaitClose))
    let rig = try rig(upstream.port, 0.3, log: lines.log)
    let client = try rig.client()
    client.send(Self.get)
    expectTimeout(rig, client)
    #expect(eventually { upstream.closedByClientCount == 1 })
    #expect(upstream.connectionCount == 1)
    #expect(eventually { rig.sample("weir_requests_failed_total{\(labels(upstream.port))}") == 1 })
    #expect(rig.registry.text().contains("error_type=\"timed_out\""))
    let line = try #require(lines.saying("request failed").first)
    #expect(line.contains(" status=504 outcome=timeout ") && line.contains(" error=timed_out "), "\(line)")
    #expect(line.contains("the head of the response did not come within 0.3 s (attemptTimeout)"), "\(line)")
  }

  /// The time to connect counts, though a connection alone may take longer.
  @Test func anUpstreamThatDoesNotAcceptIsATimeout() throws {
    let lines = LoggedLines()
    let upstream = try FullListener()
    let rig = try rig(upstream.port, 0.3, log: lines.log)
    let client = try rig.client()
    client.send(Self.get)
    expectTimeout(rig, client)
    #expect(lines.saying("request failed").first?.contains("(attemptTimeout)") == true, "\(lines.all)")
  }

  /// It has taken some of the body, and the client is not what is slow.
  @Test func anUpstreamThatStopsReadingIsATimeout() throws {
    let gate = Gate(), sent = Gate()
    let upstream = try ScriptedServer(Script(.head, .wait(gate)))
    let rig = try rig(upstream.port, 1)
    let client = try rig.client()
    let size = 64 << 20
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(size)\r\n\r\n")
    let send = client.sender
    Thread.detachNewThread {
      _ = send([UInt8](repeating: 0x78, count: size))
      sent.open()
    }
    #expect(client.response()?.status == 504)
    #expect(eventually { rig.count("timeout") == 1 })
    #expect(rig.sample("weir_requests_failed_total{\(labels(upstream.port))}") == 1)
    // Its descriptor is in use until then.
    sent.wait()
    gate.open()
    withExtendedLifetime(upstream) {}
  }

  @Test(arguments: [(0.3, 20.0, "(attemptTimeout)"), (20.0, 0.3, "(silenceTimeout)")])
  func theShorterOfItAndTheSilenceCounts(seconds: Double, silence: Double, said: String) throws {
    let lines = LoggedLines()
    let upstream = try BlackHole()
    let rig = try rig(upstream.port, seconds, log: lines.log) { $0.silenceTimeout = silence }
    let client = try rig.client()
    client.send(Self.get)
    expectTimeout(rig, client)
    #expect(lines.saying("request failed").first?.contains(said) == true, "\(lines.all)")
  }

  // MARK: What does not count

  @Test func theBodyOfAResponseTakesAsLongAsItWants() throws {
    let upstream = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), .sleep(2), .send("67890"), .awaitClose))
    let rig = try rig(upstream.port, 1)
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.response()?.text == "1234567890")
    #expect(eventually { rig.count("success") == 1 })
  }

  /// The upstream waits for bytes that have not come, so its time stands still.
  @Test(arguments: [true, false]) func aSlowUploadTakesAsLongAsItsClientWants(isChunked: Bool) throws {
    let piece = String(repeating: "x", count: 70_000), pieces = 6
    let upstream = try ScriptedServer(
      Script(.head, isChunked ? .chunkedBody : .swallow(pieces * piece.count), .send(okResponse("taken")), .awaitClose))
    let rig = try rig(upstream.port, 1) { $0.timeout = .seconds(60) }
    let client = try rig.client()
    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(pieces * piece.count)"
    client.send("POST / HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n")
    for number in 1...pieces {
      client.send(isChunked ? "\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n" : piece)
      if number < pieces { letPass(0.6) }
    }
    if isChunked { client.send("0\r\n\r\n") }
    #expect(client.response()?.text == "taken")
    #expect(eventually { rig.count("success") == 1 })
    #expect(upstream.connectionCount == 1)
  }

  /// Once all of the body is there, the upstream has what it needs.
  @Test func aSlowUploadDoesNotExcuseTheUpstream() throws {
    let upstream = try ScriptedServer(Script(.head, .awaitClose))
    let rig = try rig(upstream.port, 1)
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "x", count: 70_000))
    letPass(2)
    #expect(!client.hasInput)
    client.send(String(repeating: "x", count: 30_000))
    expectTimeout(rig, client)
  }

  @Test func aWaitForASlotDoesNotCount() throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead {
            $0.hasPrefix("GET /held ") ? [.wait(gate), .send(okResponse("held"))] : [.send(okResponse("ok"))]
          }
        ])))
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: .http), .listed([try EndpointSpec(parsing: "127.0.0.1:\(upstream.port)")]))
    entry.connection.perEndpoint = 1
    entry.overload = nil
    var limited = Route(name: "r", match: RouteMatch(pathPrefix: "/"), upstream: entry.target)
    limited.attemptTimeout = 1
    let free = Route(name: "free", match: RouteMatch(pathPrefix: "/held"), upstream: entry.target)
    let rig = try GatewayRig(Configuration(routes: [limited, free], upstreams: [entry]))
    let holder = try rig.client(), client = try rig.client()
    holder.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { upstream.connectionCount == 1 })
    client.send(Self.get)
    letPass(1.5)
    #expect(!client.hasInput)
    gate.open()
    #expect(holder.response()?.text == "held")
    #expect(client.response()?.text == "ok")
  }

  @Test func aWaitForTheCredentialDoesNotCount() throws {
    let gate = Gate()
    let tokens = try TokenService(gate: gate), upstream = try tokens.upstream()
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { $0.attemptTimeout = 1 }
    let client = try rig.client()
    client.send(Self.get)
    letPass(1.5)
    gate.open()
    #expect(client.response()?.status == 200)
  }

  @Test func aWaitForThePaceDoesNotCount() throws {
    let upstream = try PacedUpstream()
    upstream.answersNext(with: PacedUpstream.limited(for: "1.5"))
    let rig = try rig(upstream.port, 1) { $0.pace = PaceSettings(wait: 10) }
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.response()?.status == 429)
    client.send(Self.get)
    #expect(client.response()?.status == 200)
  }

  // MARK: Beside other attempts

  @Test func anotherAttemptFollows() throws {
    let upstream = try ScriptedServer(Script(.head, .awaitClose), .answering(okResponse("second")))
    let rig = try rig(upstream.port, 1) { $0.retry.limit = 1 }
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.response()?.text == "second")
    #expect(upstream.connectionCount == 2)
    #expect(eventually { rig.sample("weir_retries_total{\(labels(upstream.port)),reason=\"timed_out\"}") == 1 })
  }

  @Test func afterTheLastAttemptItIsATimeout() throws {
    let upstream = try BlackHole()
    let rig = try rig(upstream.port, 0.3) { $0.retry.limit = 2 }
    let client = try rig.client()
    client.send(Self.get)
    expectTimeout(rig, client)
    #expect(upstream.connectionCount == 3)
    #expect(eventually { rig.sample("weir_retries_denied_total{\(labels(upstream.port)),reason=\"limit\"}") == 1 })
  }

  /// The first attempt drops out of the race, and the second one has a time of its own.
  @Test func aLateAttemptDropsOutOfTheRace() throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(.head, .awaitClose), Script(.head, .wait(gate), .send(okResponse("second")), .awaitClose))
    let rig = try rig(upstream.port, 2.5) { $0.hedge = HedgePlan(delay: .seconds(1.2), limit: 1) }
    let client = try rig.client()
    client.send(Self.get)
    #expect(eventually { upstream.closedByClientCount == 1 })
    #expect(!client.hasInput)
    gate.open()
    #expect(client.response()?.text == "second")
    #expect(eventually { rig.sample("weir_hedges_total{\(labels(upstream.port)),result=\"won\"}") == 1 })
  }

  @Test func allAttemptsOfARaceMayBeLate() throws {
    let upstream = try BlackHole()
    let rig = try rig(upstream.port, 0.5) { $0.hedge = HedgePlan(delay: .seconds(0.02), limit: 1) }
    let client = try rig.client()
    client.send(Self.get)
    expectTimeout(rig, client)
    #expect(upstream.connectionCount == 2)
    #expect(eventually { rig.sample("weir_hedges_total{\(labels(upstream.port)),result=\"lost\"}") == 1 })
  }

  // MARK: Circuits and endpoints

  @Test func theCircuitHears() throws {
    let upstream = try BlackHole()
    let rig = try rig(upstream.port, 0.3) { $0.circuitBreaker = CircuitBreaker(minimumRequests: 1) }
    let client = try rig.client()
    client.send(Self.get)
    expectTimeout(rig, client)
    #expect(eventually { rig.sample("weir_circuit_state{\(labels(upstream.port)),state=\"open\"}") == 1 })
  }

  /// One failure is enough here to leave it out.
  @Test func theEndpointHears() throws {
    let hole = try BlackHole(), good = try ScriptedServer(.answering(okResponse("good")))
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: .http),
      .listed(try [hole.port, good.port].map { try EndpointSpec(parsing: "127.0.0.1:\($0)") }))
    entry.endpoints.balance = .roundRobin
    entry.endpoints.outlier = OutlierSettings(consecutiveFailures: 1)
    var route = Route(name: "r", upstream: entry.target)
    route.attemptTimeout = 1
    let rig = try GatewayRig(Configuration(routes: [route], upstreams: [entry]))
    let client = try rig.client()
    let statuses = (0..<8).map { _ in
      client.send(Self.get)
      return client.response()?.status
    }
    #expect(statuses.count { $0 == 504 } == 1, "\(statuses)")
    #expect(statuses.count { $0 == 200 } == 7, "\(statuses)")
  }

  /// Nothing of it was sent, so that any request may go to another endpoint.
  @Test func whatCouldNotConnectInTimeGoesElsewhere() throws {
    let full = try FullListener(), good = try ScriptedServer(Script(.forever([.request, .send(okResponse("good"))])))
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: .http),
      .listed(try [full.port, good.port].map { try EndpointSpec(parsing: "127.0.0.1:\($0)") }))
    entry.endpoints.balance = .roundRobin
    entry.endpoints.outlier = nil
    var route = Route(name: "r", upstream: entry.target)
    route.attemptTimeout = 1
    let rig = try GatewayRig(Configuration(routes: [route], upstreams: [entry]))
    let client = try rig.client()
    for _ in 0..<2 {
      client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody")
      #expect(client.response()?.text == "good")
    }
    #expect(good.requestHeads.count == 2)
  }

  // MARK: Protocols

  @Test(.enabled(if: isOwnEngine)) func aTunnelLivesLonger() throws {
    let upstream = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), .bytes(5), .send("again"),
        .awaitClose))
    let rig = try rig(upstream.port, 1) { $0.upgrade = TunnelRule(protocols: ["websocket"]) }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), client.read(1, into: &head) {}
    #expect(String(decoding: head, as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
    letPass(1.5)
    client.send("hello")
    var text: [UInt8] = []
    #expect(client.read(5, into: &text))
    #expect(String(decoding: text, as: UTF8.self) == "again")
  }

  @Test func onHTTP2EachStreamHasItsTime() async throws {
    let certificates = try await TestCertificates()
    let hole = try BlackHole()
    let nginx = try await NginxServer(
      .init(
        "h2", listen: "ssl http2",
        certificates.server.directives
          + "location / { return 200 fine; } location /hangs { proxy_pass http://127.0.0.1:\(hole.port); }"))
    let text = """
      upstreams:
        - name: u
          scheme: https
          endpoints: ["127.0.0.1:\(nginx.port("h2"))"]
          tls: {ca: \(certificates.authority.certificate)}
      routes: [{name: r, upstream: u}]
      """
    var configuration = try Configuration(parsing: Array(text.utf8), file: "weir.yml")
    for index in configuration.routes.indices { configuration.routes[index].attemptTimeout = 2 }
    for index in configuration.upstreams.indices { configuration.upstreams[index].connection.httpVersion = .http2 }
    let rig = try GatewayRig(configuration)
    let late = try rig.client(), client = try rig.client()
    late.send("GET /hangs HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { hole.connectionCount == 1 })
    client.send(Self.get)
    #expect(client.response()?.text == "fine")
    expectTimeout(rig, late)
    client.send(Self.get)
    #expect(client.response()?.text == "fine")
  }
}
