import Glibc
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// An upstream that has ceased to answer, behind a gateway with load control.
@Suite(.slow, .serialized) struct SilenceTests {
  @Test func aRefusalSaysWhyAndReachesNobody() throws {
    let load = try LoadRig()
    let swallowed = try #require(try load.becomeSilent())
    let (before, rejected) = (load.shed, load.rig.count("rejected") ?? 0)
    let refusals = try load.refusals()
    #expect(refusals.count >= 6)
    for refusal in refusals {
      #expect(refusal.status == 503)
      #expect(refusal.values("Retry-After") == ["1"])
      #expect(refusal.values("X-No-Retry") == ["overload"])
      #expect(refusal.values("X-Weir-Refused") == ["silent"])
      #expect(refusal.text == "the upstream has ceased to answer\n")
      #expect(refusal.isComplete)
    }
    let reached = load.received.split(separator: "GET /refused ", omittingEmptySubsequences: false).count - 1
    #expect(reached <= 8 - refusals.count)
    #expect(eventually { load.shed - before == Double(refusals.count) })
    #expect(load.shed("silent") == load.shed)
    #expect(eventually { (load.rig.count("rejected") ?? 0) - rejected == Double(refusals.count) })
    withExtendedLifetime(swallowed) {}
  }

  @Test func theLogTellsOfTheSilenceAndOfItsEnd() throws {
    let load = try LoadRig(window: 1)
    let swallowed = try #require(try load.becomeSilent())
    let refused = try load.refusals()
    let first = try #require(load.lines.saying("upstream is silent").first)
    #expect(first.contains(" level=warn "), "\(first)")
    #expect(first.contains(" upstream=127.0.0.1:\(load.port) seconds="), "\(first)")
    #expect(first.contains(#/ under_way=[1-9]\d* shed=\d+ window=/#), "\(first)")
    load.mode = .answers
    // One request in half a second is let through, and finds that the upstream answers again.
    #expect(eventually { (try? load.get("/again"))??.status == 200 })
    #expect(eventually { load.lines.saying("upstream answers again").count == 1 })
    let last = try #require(load.lines.saying("upstream answers again").first)
    #expect(last.contains(" level=info "), "\(last)")
    #expect(last.contains(#/ seconds=[\d.]+ shed=[1-9]\d*$/#), "\(last)")
    #expect(eventually { load.isIn("normal") })
    #expect(try load.get()?.status == 200)
    // No line about the silence comes after its end, and none about an overload, as there was none.
    #expect(load.lines.all.last { $0.contains("msg=\"upstream") }?.contains("answers again") == true)
    #expect(load.lines.saying("upstream overloaded") == [])
    withExtendedLifetime((swallowed, refused)) {}
  }

  @Test func aWeirInFrontDoesNotTryAgain() throws {
    let load = try LoadRig()
    let swallowed = try #require(try load.becomeSilent())
    var route = try Route(to: Int(load.rig.gateway.address.port ?? 0))
    route.retry.limit = 3
    route.retry.statusCodes = [503]
    let outer = try GatewayRig(route, pseudonym: "outer")
    // The request that is let through, if one is.
    let before = load.shed
    let clients = try (0..<8).map { _ in
      let client = try outer.client()
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      return client
    }
    let refusals = load.answers(to: clients, refusedBefore: before)
    #expect(refusals.count >= 6)
    for refusal in refusals {
      #expect(refusal.status == 503)
      #expect(refusal.values("X-Weir-Refused") == ["silent"])
      #expect(refusal.values("X-No-Retry") == ["overload"])
    }
    // If it had tried again, more requests would have been refused than clients have heard of.
    #expect(load.shed - before == Double(refusals.count))
    withExtendedLifetime(swallowed) {}
  }

  @Test func withoutLoadControlNobodyIsRefused() throws {
    let load = try LoadRig { $0.overload = nil }
    let warm = try load.rig.client()
    for _ in 0..<20 {
      warm.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(warm.response()?.status == 200)
    }
    load.mode = .hangs
    let began = MonotonicTime.now
    var clients: [RawClient] = []
    // With load control, the silence would have been noticed by now.
    while MonotonicTime.now.seconds(since: began) < 3 {
      clients.append(try load.waiter())
      letPass(0.1)
    }
    #expect(eventually { load.connections >= clients.count })
    #expect(!clients.contains { $0.hasInput })
    #expect(load.shed == 0)
    #expect(load.sample("weir_overload_state", "state=\"silent\"") == nil)
    #expect(load.sample("weir_concurrency_limit") == nil)
    #expect(load.lines.all == [])
  }

  @Test func severalWorkersShareTheControl() throws {
    let load = try LoadRig(workers: 3)
    let swallowed = try #require(try load.becomeSilent())
    let before = load.shed
    let refusals = try load.refusals(of: 16)
    #expect(refusals.count >= 14)
    #expect(refusals.allSatisfy { $0.values("X-Weir-Refused") == ["silent"] })
    #expect(eventually { load.shed - before == Double(refusals.count) })
    // One of the workers reports, and each line is written once.
    #expect(eventually { load.isIn("silent") && !load.lines.saying("upstream is silent").isEmpty })
    #expect(load.lines.saying("upstream is silent").count == 1)
    withExtendedLifetime(swallowed) {}
  }

  @Test func aReloadKeepsWhatIsKnownOfTheUpstream() async throws {
    let load = try LoadRig()
    let swallowed = try #require(try load.becomeSilent())
    let baseline = load.sample("weir_baseline_seconds")
    var route = try Route(to: load.port)
    // Other settings, and another route: the upstream is the same.
    route.overload = OverloadSettings(initial: 4, silence: 0.5)
    route.name = "other"
    try await load.rig.gateway.reload(Configuration(routes: [route]))
    #expect(try load.refusals().count >= 6)
    #expect(load.isIn("silent"))
    #expect(load.sample("weir_baseline_seconds") == baseline)
    load.mode = .answers
    #expect(eventually { (try? load.get("/again"))??.status == 200 })
    withExtendedLifetime(swallowed) {}
  }

  /// Requests under way end with the old load control, and so does the silence: no later report would tell its end.
  @Test func aReloadThatTurnsItOffTakesTheGaugesFromThePage() async throws {
    let load = try LoadRig(window: 1)
    let swallowed = try #require(try load.becomeSilent())
    var route = try Route(to: load.port)
    route.overload = nil
    try await load.rig.gateway.reload(Configuration(routes: [route]))
    let gauges = [
      "weir_overload_state{", "weir_concurrency_limit{", "weir_concurrency_used{", "weir_baseline_seconds{",
      "weir_service_rate{",
    ]
    func shown() -> [String] {
      let page = load.rig.registry.text().split(separator: "\n")
      return gauges.filter { gauge in page.contains { $0.hasPrefix(gauge) } }
    }
    #expect(eventually { shown() == [] })
    let held = try (0..<8).map { _ in try load.waiter("/held") }
    #expect(eventually { load.received.split(separator: "GET /held ").count > 8 })
    for client in swallowed { client.reset() }
    load.mode = .answers
    #expect(try load.get()?.status == 200)
    #expect(eventually { shown() == [] })
    // Without load control the upstream is not watched: no line says that it answers again.
    #expect(load.lines.saying("upstream answers again") == [])
    #expect(!held.contains { $0.hasInput })
  }

  @Test func aHealthyUpstreamLeavesNoLine() throws {
    let load = try LoadRig(window: 1)
    #expect(try load.warmUp())
    let client = try load.rig.client()
    let began = MonotonicTime.now
    while MonotonicTime.now.seconds(since: began) < 3 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 200)
    }
    #expect(load.lines.all == [])
    #expect(load.shed == 0)
    #expect(load.isIn("normal"))
  }

  /// Answers of 429 are not an overload, as the upstream gives them fast.
  @Test func answersOf429AreToldOf() throws {
    let load = try LoadRig(window: 1)
    load.mode = .limits
    let client = try load.rig.client()
    for _ in 0..<20 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == 429)
    }
    #expect(eventually { load.sample("weir_responses_limited_total") == 20 })
    #expect(eventually { load.lines.saying("upstream limits requests").count == 2 })
    let lines = load.lines.saying("upstream limits requests")
    #expect(lines.first?.hasSuffix(" upstream=127.0.0.1:\(load.port) count=1") == true, "\(lines)")
    #expect(lines.last?.contains(" count=19 window=1") == true, "\(lines)")
    #expect(load.lines.all.count == 2, "\(load.lines.all)")
  }

  /// A large body takes as long as its client wants. The upstream is neither slow nor silent meanwhile.
  @Test func slowUploadsAreNoLoad() throws {
    let load = try LoadRig()
    #expect(try load.warmUp())
    var uploads: [RawClient] = []
    for _ in 0..<15 {
      let client = try load.rig.client()
      client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + String(repeating: "x", count: 70_000))
      uploads.append(client)
      letPass(0.1)
    }
    #expect(eventually { load.connections >= 15 })
    #expect(eventually { load.sample("weir_concurrency_used") == 0 })
    #expect(load.isIn("normal"))
    #expect(try load.get()?.status == 200)
    #expect(load.shed == 0)
    // These clients have not waited for the upstream, so their end is not a give-up.
    for client in uploads { client.reset() }
    #expect(eventually { load.rig.count("cancelled") == 15 })
    #expect(load.abandoned("upstream") == 0)
    #expect(load.abandonedOfRoute == 0)
    #expect(load.lines.all == [])
  }
}
