import Foundation
import Testing
import Weir
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// The pace that an upstream sets, as its clients and the upstream itself see it.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct PaceTests {
  // MARK: Pauses

  @Test func withoutAPaceNothingWaits() throws {
    let pace = try PaceRig(nil)
    try pace.pause(for: "20")
    let began = MonotonicTime.now
    #expect(try pace.get()?.status == 200)
    #expect(MonotonicTime.now.seconds(since: began) < 15)
  }

  /// The other attempts wait for the answer to the first one, or until that one hangs.
  @Test(arguments: [429, 503]) func afterAPauseOneGoesFirst(status: Int) throws {
    let gate = Gate()
    let pace = try PaceRig(PaceSettings(wait: 20), gate: gate, workers: 2)
    let paused = try pace.pause(for: "0.5", status: status)
    let clients = try (0..<6).map { _ in try pace.asking("/held") }
    #expect(eventually { pace.upstream.arrivals.count == 2 })
    letPass(0.2)
    let opened = MonotonicTime.now
    gate.open()
    for client in clients { #expect(client.response()?.status == 200) }
    let arrivals = pace.upstream.arrivals.dropFirst().map(\.time)
    try #require(arrivals.count == 6)
    #expect(arrivals[0].seconds(since: paused) >= 0.5)
    #expect(arrivals[1] >= opened || arrivals[1].seconds(since: arrivals[0]) >= 0.5)
    #expect(pace.shed("paused") == 0)
  }

  /// A first attempt that hangs does not keep the others back for ever.
  @Test func aHangingFirstAttemptLetsAnotherGo() throws {
    let gate = Gate()
    let pace = try PaceRig(PaceSettings(wait: 20), gate: gate)
    try pace.pause(for: "0.2")
    let first = try pace.asking("/held")
    #expect(eventually { pace.upstream.arrivals.count == 2 })
    #expect(try pace.get()?.status == 200)
    gate.open()
    #expect(first.response()?.status == 200)
  }

  @Test(arguments: [(429, "20", 20), (503, "20", 20), (429, "3600", 60)])
  func whatCannotWaitIsRefusedAtOnce(status: Int, seconds: String, most: Int) throws {
    let pace = try PaceRig(PaceSettings(wait: 0.1))
    try pace.pause(for: seconds, status: status)
    let began = MonotonicTime.now
    let refusal = try #require(try pace.get())
    #expect(MonotonicTime.now.seconds(since: began) < 15)
    #expect(refusal.status == 503)
    #expect(refusal.text == "the upstream has asked for a pause\n")
    #expect(refusal.values("X-Weir-Refused") == ["paused"])
    #expect(refusal.values("X-No-Retry") == ["pace"])
    let after = refusal.values("Retry-After").first.flatMap { Int($0) } ?? 0
    #expect((1...most).contains(after))
    #expect(eventually { pace.rig.count("rejected") == 1 })
    #expect(pace.shed("paused") == 1 && pace.shed("pace") == 0)
    #expect(pace.upstream.paths == ["/pause"])
    // A 503 of the upstream itself has a line.
    #expect(!pace.lines.saying("request failed").contains { $0.contains("outcome=rejected") })
  }

  /// It is known at once that its time will be over first.
  @Test(arguments: [false, true]) func aRequestsOwnTimeBoundsItsWait(byClient: Bool) throws {
    let pace = try PaceRig(PaceSettings(wait: 50)) { if !byClient { $0.timeout = .seconds(10) } }
    try pace.pause(for: "40")
    let began = MonotonicTime.now
    let refusal = try #require(try pace.get("/", byClient ? "grpc-timeout: 10S\r\n" : ""))
    #expect(MonotonicTime.now.seconds(since: began) < 8)
    #expect(refusal.status == 503)
    #expect(refusal.values("X-Weir-Refused") == ["paused"])
  }

  @Test(arguments: [
    (PacedUpstream.refused(429), PaceSettings()), (PacedUpstream.refused(503), PaceSettings()),
    (PacedUpstream.limited(for: "0"), PaceSettings()), (PacedUpstream.limited(for: "soon"), PaceSettings()),
    (PacedUpstream.limited(for: "20", status: 500), PaceSettings()),
    (PacedUpstream.limited(for: "20", status: 200), PaceSettings()),
    (PacedUpstream.limited(for: "20"), PaceSettings(obey: [])),
  ])
  func whatAsksForNoPauseGetsNone(answer: String, settings: PaceSettings) throws {
    var settings = settings
    settings.wait = 0
    let pace = try PaceRig(settings)
    pace.upstream.answersNext(with: answer)
    _ = try pace.get()
    #expect(try pace.get()?.status == 200)
  }

  // MARK: A rate

  @Test func aRateSpreadsRequests() throws {
    let pace = try PaceRig(PaceSettings(rate: 20, wait: 30), workers: 2)
    let began = MonotonicTime.now
    let clients = try (0..<10).map { _ in try pace.asking() }
    for client in clients { #expect(client.response()?.status == 200) }
    let last = try #require(pace.upstream.arrivals.last)
    #expect(last.time.seconds(since: began) >= 0.45)
    #expect(pace.upstream.arrivals.count == 10)
  }

  @Test func whatIsBeyondTheRateIsRefused() throws {
    let pace = try PaceRig(PaceSettings(rate: 0.1, burst: 2, wait: 0))
    for _ in 0..<2 { #expect(try pace.get()?.status == 200) }
    let refusal = try #require(try pace.get())
    #expect(refusal.status == 503)
    #expect(refusal.text == "more requests wait for the upstream than its pace allows in time\n")
    #expect(refusal.values("X-Weir-Refused") == ["pace"])
    #expect(refusal.values("X-No-Retry") == ["pace"])
    #expect((1...11).contains(refusal.values("Retry-After").first.flatMap { Int($0) } ?? 0))
    #expect(eventually { pace.rig.count("rejected") == 1 && pace.shed("pace") == 1 })
    #expect(pace.upstream.arrivals.count == 2)
  }

  @Test func aFallbackTakesRefusalsOver() throws {
    let spare = try PacedUpstream("spare")
    let target = try Upstream(parsing: "http://127.0.0.1:\(spare.port)")
    let pace = try PaceRig(PaceSettings(wait: 0)) { $0.fallback = RouteFallback(action: .upstream(target)) }
    try pace.pause(for: "20")
    #expect(try pace.get()?.text == "spare")
    // One with a method that is not retried is not sent elsewhere.
    let client = try pace.asking("/", "Content-Length: 0\r\n", method: "POST")
    #expect(client.response()?.status == 503)
    #expect(spare.arrivals.count == 1)
  }

  // MARK: Retries

  @Test(arguments: [503, 429]) func aRetryThatWouldWaitTooLongIsDenied(status: Int) throws {
    let pace = try PaceRig(PaceSettings(rate: 0.1, wait: 0)) {
      $0.retry.limit = 2
      $0.retry.statusCodes = [429, 503]
    }
    pace.upstream.answersNext(with: PacedUpstream.refused(status))
    let response = try #require(try pace.get())
    #expect(response.status == status)
    #expect(response.text == "busy")
    #expect(eventually { pace.denied("pace") == 1 })
    #expect(pace.upstream.arrivals.count == 1)
  }

  /// Another request's answer has asked for the pause.
  @Test func aRetryInAPauseIsDenied() throws {
    let gate = Gate()
    let pace = try PaceRig(PaceSettings(wait: 1), gate: gate) {
      $0.retry.limit = 2
      $0.retry.statusCodes = [429]
      $0.timeout = .seconds(15)
    }
    let held = try pace.asking("/held")
    #expect(eventually { pace.upstream.arrivals.count == 1 })
    // Beyond the request's own time, so that no retry of it is made.
    try pace.pause(for: "40")
    pace.upstream.answersNext(with: PacedUpstream.refused(429))
    gate.open()
    let response = try #require(held.response())
    #expect(response.status == 429)
    #expect(response.text == "busy")
    #expect(eventually { pace.denied("pace") == 1 })
    #expect(pace.upstream.paths == ["/held", "/pause"])
  }

  /// The delay of the retry and the pause are the same wait: what waits for no turn at all is enough.
  @Test func retryAfterIsWaitedForOnce() throws {
    let pace = try PaceRig(PaceSettings(wait: 0)) {
      $0.retry.limit = 1
      $0.retry.statusCodes = [429]
    }
    pace.upstream.answersNext(with: PacedUpstream.limited(for: "0.5"))
    let response = try #require(try pace.get())
    #expect(response.status == 200)
    let times = pace.upstream.arrivals.map(\.time)
    try #require(times.count == 2)
    #expect(times[1].seconds(since: times[0]) >= 0.5)
    #expect(pace.shed("paused") == 0)
  }

  @Test func aRefusedCredentialIsNotRepairedInAPause() throws {
    let gate = Gate()
    let tokens = try TokenService(), upstream = try PacedUpstream(gate: gate)
    let rig = try GatewayRig(to: upstream.port, credential: tokens.kind()) { $0.pace = PaceSettings(wait: 20) }
    let held = try rig.client(), other = try rig.client()
    // A token that was fetched for the request itself would not be repaired.
    other.send("GET /warm HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(other.response()?.status == 200)
    held.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { upstream.arrivals.count == 2 })
    upstream.answersNext(with: PacedUpstream.limited(for: "30"))
    other.send("GET /pause HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(other.response()?.status == 429)
    upstream.answersNext(with: PacedUpstream.refused(401))
    gate.open()
    let response = try #require(held.response())
    #expect(response.status == 401)
    #expect(response.text == "busy")
    #expect(upstream.paths == ["/warm", "/held", "/pause"])
    let labels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(eventually { rig.sample("weir_retries_denied_total{\(labels),reason=\"pace\"}") == 1 })
  }

  // MARK: Hedges

  @Test func aHedgeStartsInNoPause() throws {
    let gate = Gate()
    let pace = try PaceRig(PaceSettings(wait: 20), gate: gate) { $0.hedge = HedgePlan(delay: .seconds(1.5), limit: 1) }
    let held = try pace.asking("/held")
    #expect(eventually { pace.upstream.arrivals.count == 1 })
    try pace.pause(for: "30")
    #expect(eventually { pace.sample("weir_hedges_total", "result=\"denied\"") == 1 })
    gate.open()
    #expect(held.response()?.status == 200)
    #expect(pace.upstream.paths == ["/held", "/pause"])
  }

  @Test(arguments: [(1, "denied", 1), (2, "won", 2)])
  func aHedgeTakesATurn(burst: Int, result: String, count: Int) throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(.head, .wait(gate), .send(okResponse("first")), .awaitClose), .answering(okResponse("second")))
    var route = try Route(to: upstream.port)
    route.pace = PaceSettings(rate: 0.1, burst: burst, wait: 0)
    route.hedge = HedgePlan(delay: .seconds(0.02), limit: 1)
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let labels = "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(eventually { rig.sample("weir_hedges_total{\(labels),result=\"\(result)\"}") == 1 })
    gate.open()
    #expect(client.response()?.status == 200)
    #expect(upstream.connectionCount == count)
    // No turn is left, and none was lost.
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.values("X-Weir-Refused") == ["pace"])
  }

  // MARK: Clients that leave, and the end

  @Test func aClientThatLeavesFreesItsPlace() throws {
    let pace = try PaceRig(PaceSettings(wait: 20))
    try pace.pause(for: "2")
    let gone = try pace.asking("/gone")
    #expect(eventually { pace.active == 1 })
    gone.reset()
    #expect(eventually { pace.sample("weir_requests_abandoned_total", "phase=\"queue\"") == 1 })
    #expect(eventually { pace.active == 0 })
    #expect(try pace.get("/stays")?.status == 200)
    #expect(pace.upstream.paths == ["/pause", "/stays"])
    #expect(try pace.get("/stays")?.status == 200)
  }

  /// The one that goes first leaves with its turn, and the next ones must not wait for its answer.
  @Test func aClientThatLeavesWithItsTurnGivesItBack() throws {
    let gate = Gate()
    let pace = try PaceRig(PaceSettings(wait: 0.5), gate: gate)
    try pace.pause(for: "0.3")
    let gone = try pace.asking("/held")
    #expect(eventually { pace.upstream.arrivals.count == 2 })
    gone.reset()
    #expect(eventually { pace.sample("weir_requests_abandoned_total", "phase=\"upstream\"") == 1 })
    for _ in 0..<3 { #expect(try pace.get()?.status == 200) }
    gate.open()
  }

  @Test func aStopLetsWaitingRequestsEnd() async throws {
    let pace = try PaceRig(PaceSettings(wait: 20))
    try pace.pause(for: "2")
    let clients = try (0..<3).map { _ in try pace.asking() }
    #expect(eventually { pace.active == 3 })
    let stopped = Task { await pace.rig.gateway.stop(grace: 20) }
    for client in clients {
      let response = client.response()
      #expect(response?.status == 200)
      #expect(response?.values("Connection") == ["close"])
    }
    await stopped.value
  }

  @Test func aStopCutsWhatWaitsTooLong() async throws {
    let pace = try PaceRig(PaceSettings(wait: 60))
    try pace.pause(for: "20")
    let client = try pace.asking()
    #expect(eventually { pace.active == 1 })
    let began = MonotonicTime.now
    await pace.rig.gateway.stop(grace: 0.05)
    _ = client.rest()
    #expect(MonotonicTime.now.seconds(since: began) < 15)
    #expect(eventually { pace.active == 0 })
    #expect(pace.upstream.paths == ["/pause"])
  }
}
