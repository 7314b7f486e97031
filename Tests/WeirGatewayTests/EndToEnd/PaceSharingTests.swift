import Foundation
import Testing
import Weir
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// A pace beside endpoints, circuits, load control, checks, other routes and reloads.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct PaceSharingTests {
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  /// An entry of these endpoints, which take turns.
  private func configuration(
    _ upstreams: [PacedUpstream], _ pace: PaceSettings, _ change: (inout NamedUpstream) -> Void = { _ in }
  ) throws -> Configuration {
    var entry = NamedUpstream(
      Upstream(named: "u", scheme: .http),
      .listed(try upstreams.map { try EndpointSpec(parsing: "127.0.0.1:\($0.port)") }))
    entry.endpoints.balance = .roundRobin
    entry.endpoints.slowStart = nil
    entry.pace = pace
    change(&entry)
    return Configuration(routes: [Route(name: "r", upstream: entry.target)], upstreams: [entry])
  }

  private func statuses(_ count: Int, _ client: RawClient) -> [Int?] {
    (0..<count).map { _ in
      client.send(Self.get)
      return client.response()?.status
    }
  }

  private func refusal(_ client: RawClient) -> [String]? {
    client.send(Self.get)
    return client.response()?.values("X-Weir-Refused")
  }

  // MARK: Endpoints

  @Test func anEndpointThatAsksIsLeftOutAndTheLastOnePausesAll() throws {
    let one = try PacedUpstream("one"), two = try PacedUpstream("two")
    one.answersNext(with: PacedUpstream.limited(for: "40", status: 503))
    let rig = try GatewayRig(configuration([one, two], PaceSettings(wait: 0)))
    let client = try rig.client()
    let seen = statuses(10, client)
    #expect(seen.count { $0 == 503 } == 1 && seen.count { $0 == 200 } == 9, "\(seen)")
    #expect(one.arrivals.count == 1)
    #expect(eventually { rig.sample("weir_upstream_endpoints{upstream=\"u\",state=\"available\"}") == 1 })
    two.answersNext(with: PacedUpstream.limited(for: "40", status: 503))
    client.send(Self.get)
    #expect(client.response()?.text == "busy")
    #expect(refusal(client) == ["paused"])
  }

  /// One request tries it first. After that it has its share again, however long the others have served meanwhile.
  @Test func anEndpointIsBackAfterItsPause() throws {
    let one = try PacedUpstream("one"), two = try PacedUpstream("two")
    one.answersNext(with: PacedUpstream.limited(for: "1.2", status: 503))
    let rig = try GatewayRig(configuration([one, two], PaceSettings(wait: 0)))
    let client = try rig.client()
    #expect(
      eventually(within: 20) {
        let isGood = statuses(1, client).first == 200
        letPass(0.01)
        return isGood && one.arrivals.count >= 5
      })
    let times = one.arrivals.map(\.time)
    #expect(times[1].seconds(since: times[0]) >= 1.2)
    #expect(eventually { rig.sample("weir_upstream_endpoints{upstream=\"u\",state=\"available\"}") == 2 })
  }

  @Test func aLimitOfOneEndpointPausesAll() throws {
    let one = try PacedUpstream("one"), two = try PacedUpstream("two")
    for upstream in [one, two] { upstream.answersNext(with: PacedUpstream.limited(for: "40")) }
    let rig = try GatewayRig(configuration([one, two], PaceSettings(wait: 0)))
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.response()?.status == 429)
    #expect(refusal(client) == ["paused"])
    #expect(one.arrivals.count + two.arrivals.count == 1)
  }

  @Test func checksAreNotPaced() throws {
    let upstream = try PacedUpstream()
    upstream.answersNext(with: PacedUpstream.limited(for: "40"))
    let rig = try GatewayRig(
      configuration([upstream], PaceSettings(rate: 0.1, burst: 2, wait: 0)) {
        var check = EndpointCheck()
        (check.path, check.interval, check.timeout) = ("/healthz", 0.2, 0.2)
        $0.check = check
      })
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.response()?.status == 429)
    let before = upstream.paths.count { $0 == "/healthz" }
    #expect(eventually { upstream.paths.count { $0 == "/healthz" } >= before + 4 })
    #expect(refusal(client) == ["paused"])
  }

  // MARK: Circuit and load control

  /// A pause that was asked for is no failure; the same status alone is one.
  @Test(arguments: [true, false]) func anAnswerThatIsObeyedIsNoFailure(isObeyed: Bool) throws {
    let pace = try PaceRig(PaceSettings(wait: 20)) { $0.circuitBreaker = CircuitBreaker(minimumRequests: 1) }
    pace.upstream.answersNext(
      with: isObeyed ? PacedUpstream.limited(for: "0.2", status: 503) : PacedUpstream.refused(503))
    #expect(try pace.get()?.text == "busy")
    #expect(pace.sample("weir_circuit_state", "state=\"closed\"") == (isObeyed ? 1 : 0))
    if isObeyed { #expect(try pace.get()?.status == 200) }
  }

  @Test func anEndpointThatIsObeyedHasNotFailed() throws {
    let one = try PacedUpstream("one"), two = try PacedUpstream("two")
    one.answersNext(with: PacedUpstream.limited(for: "0.2", status: 503))
    let rig = try GatewayRig(
      configuration([one, two], PaceSettings(wait: 20)) {
        $0.endpoints.outlier = OutlierSettings(consecutiveFailures: 1, ejectFor: 300)
      })
    let client = try rig.client()
    #expect(eventually { statuses(1, client).first == 200 && one.arrivals.count >= 3 })
    let labels = "upstream=\"u\",endpoint=\"127.0.0.1:\(one.port)\""
    #expect(rig.sample("weir_endpoint_ejections_total{\(labels),reason=\"consecutive\"}") == 0)
    #expect(rig.sample("weir_endpoint_attempts_total{\(labels),result=\"failure\"}") == 0)
  }

  /// Requests that have their turns and wait for slots when a pause begins wait for its end, too.
  @Test(arguments: [true, false]) func aSlotInAPauseIsNotUsed(hasLoadControl: Bool) throws {
    let gate = WeirTestSupport.Gate()
    let upstream = try PacedUpstream(gate: gate)
    upstream.answersNext(with: PacedUpstream.limited(for: "1.5"), PacedUpstream.limited(for: "1.5"))
    let rig = try GatewayRig(
      configuration([upstream], PaceSettings(wait: 20)) {
        $0.endpoints.connections = 2
        $0.connection.perEndpoint = 2
        if !hasLoadControl { $0.overload = nil }
      })
    let clients = try (0..<6).map { _ in
      let client = try rig.client()
      client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
      return client
    }
    #expect(eventually { upstream.arrivals.count == 2 && rig.active == 6 })
    let before = MonotonicTime.now
    gate.open()
    #expect(clients.map { $0.response()?.status ?? 0 }.sorted() == [200, 200, 200, 200, 429, 429])
    #expect(upstream.arrivals.dropFirst(2).allSatisfy { $0.time.seconds(since: before) >= 1.5 })
  }

  @Test func whatWaitsIsNoLoad() throws {
    let pace = try PaceRig(PaceSettings(wait: 30))
    try pace.pause(for: "3")
    // More than load control lets through at its beginning.
    let clients = try (0..<40).map { _ in try pace.asking() }
    #expect(eventually { pace.active == 40 })
    #expect(eventually { pace.sample("weir_concurrency_used") ?? 0 == 0 })
    #expect(eventually { pace.sample("weir_overload_state", "state=\"normal\"") == 1 })
    for client in clients { #expect(client.response()?.status == 200) }
    #expect(pace.shed("overload") == 0 && pace.shed("waited") == 0)
  }

  @Test(arguments: [
    (true, ["/pause", "/urgent", "/usual", "/late"]), (false, ["/pause", "/late", "/usual", "/urgent"]),
  ])
  func prioritiesCountWhereLoadControlSaysSo(isOn: Bool, order: [String]) throws {
    let pace = try PaceRig(PaceSettings(wait: 30)) { $0.overload?.priority = isOn }
    try pace.pause(for: "3")
    var clients: [RawClient] = []
    for (path, field) in [("/late", "Priority: u=7\r\n"), ("/usual", ""), ("/urgent", "Priority: u=0\r\n")] {
      clients.append(try pace.asking(path, field))
      #expect(eventually { pace.active == Double(clients.count) })
    }
    for client in clients { #expect(client.response()?.status == 200) }
    // Once the first one has answered, two go at once.
    #expect(Array(pace.upstream.paths.prefix(2)) == Array(order.prefix(2)))
    #expect(pace.upstream.paths.sorted() == order.sorted())
  }

  // MARK: Routes and reloads

  @Test func routesToOneUpstreamShareItsPace() throws {
    let upstream = try PacedUpstream()
    upstream.answersNext(with: PacedUpstream.limited(for: "40"))
    var one = try Route(to: upstream.port, path: "/one", name: "one"), two = try Route(to: upstream.port, name: "two")
    one.pace = PaceSettings(wait: 0)
    two.pace = one.pace
    let rig = try GatewayRig(one, two, workers: 2)
    let client = try rig.client(), other = try rig.client()
    client.send("GET /one HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 429)
    #expect(refusal(other) == ["paused"])
    #expect(eventually { rig.count("rejected", route: "two") == 1 })
  }

  @Test func aReloadKeepsPausesAndWhatWaits() async throws {
    let pace = try PaceRig(PaceSettings(wait: 30))
    let paused = try pace.pause(for: "3")
    let early = try pace.asking("/early")
    #expect(eventually { pace.active == 1 })
    var route = try Route(to: pace.upstream.port)
    route.pace = PaceSettings(rate: 1000, burst: 10, wait: 20)
    try await pace.rig.gateway.reload(Configuration(routes: [route]))
    let late = try pace.asking("/late")
    #expect(early.response()?.status == 200)
    #expect(late.response()?.status == 200)
    #expect(pace.upstream.arrivals.dropFirst().allSatisfy { $0.time.seconds(since: paused) >= 3 })
    #expect(pace.upstream.arrivals.count == 3)
  }

  /// A rate that comes back after a time without one begins anew.
  @Test func aRateMayComeAndGo() async throws {
    let pace = try PaceRig(PaceSettings(rate: 1000, burst: 10, wait: 0))
    var route = try Route(to: pace.upstream.port)
    for settings in [
      PaceSettings(rate: 1000, burst: 10, wait: 0), PaceSettings(wait: 0), PaceSettings(rate: 10, wait: 0),
    ] {
      route.pace = settings
      try await pace.rig.gateway.reload(Configuration(routes: [route]))
      #expect(try pace.get()?.status == 200)
    }
  }

  @Test func aReloadThatTurnsItOffEndsThePause() async throws {
    let pace = try PaceRig(PaceSettings(wait: 0))
    try pace.pause(for: "40")
    #expect(try pace.get()?.values("X-Weir-Refused") == ["paused"])
    try await pace.rig.gateway.reload(Configuration(routes: [Route(to: pace.upstream.port)]))
    #expect(try pace.get()?.status == 200)
  }
}
