import Glibc
import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirServer
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// Clients that give up, and what looks like it.
@Suite(.slow, .serialized) struct GiveUpTests {
  enum Leaving: CaseIterable {
    /// `close` ends the connection, and answers whatever still comes with a reset.
    case closes
    case resets
    /// A client that only ends its sending side can't be told from one that has left.
    case endsSending
  }

  @Test(arguments: Leaving.allCases) func aClientThatLeavesBeforeTheHeadHasGivenUp(leaving: Leaving) throws {
    let load = try LoadRig(window: 1)
    load.mode = .hangs
    let client = try leave(load, leaving) { eventually { load.received.contains("\r\n\r\n") } }
    #expect(load.abandoned("upstream") == 1)
    #expect(load.abandoned("queue") == 0 && load.abandoned("body") == 0)
    #expect(eventually { load.lines.saying("callers gave up").count == 1 })
    let line = try #require(load.lines.saying("callers gave up").first)
    #expect(line.contains(" level=warn "), "\(line)")
    #expect(
      line.contains(" upstream=127.0.0.1:\(load.port) count=1 phase=upstream median_age="), "\(line)")
    #expect(load.lines.all.count == 1, "\(load.lines.all)")
    withExtendedLifetime(client) {}
  }

  @Test(arguments: Leaving.allCases) func aClientThatLeavesInTheBodyIsCountedAndNotToldOf(leaving: Leaving) throws {
    let lines = LoggedLines()
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345"), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port), window: 1, log: lines.log)
    var client: RawClient? = try rig.client()
    client?.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client?.discard(60) == 60)
    switch leaving {
    case .closes: client = nil
    case .resets: client?.reset()
    case .endsSending: client?.halfClose()
    }
    #expect(eventually { rig.sample("weir_gateway_requests_abandoned_total{route=\"r\"}") == 1 })
    #expect(Self.abandoned("body", rig, upstream.port) == 1)
    #expect(Self.abandoned("upstream", rig, upstream.port) == 0)
    #expect(eventually { upstream.closedByClientCount == 1 })
    #expect(lines.saying("callers gave up") == [])
    withExtendedLifetime(client) {}
  }

  /// All slots of the upstream are taken by requests that it does not answer.
  @Test func aClientThatLeavesWhileItWaitsForASlotHasGivenUp() throws {
    DescriptorLimit.raise()
    let load = try LoadRig(window: 1) { $0.overload?.silence = nil }
    load.mode = .hangs
    let slots = TransportLimits.gateway.slots
    let holders = try (0..<slots).map { _ in try load.waiter() }
    #expect(eventually { load.connections == slots })
    let client = try leave(load, .resets) {
      eventually { load.rig.sample(Self.active) == Double(slots + 1) }
    }
    #expect(load.abandoned("queue") == 1)
    #expect(load.abandoned("upstream") == 0)
    #expect(eventually { load.lines.saying("callers gave up").count == 1 })
    #expect(load.lines.saying("callers gave up").first?.contains(" count=1 phase=queue ") == true)
    #expect(load.connections == slots)
    withExtendedLifetime((client, holders)) {}
  }

  @Test func aClientThatLeavesWhileARetryWaitsHasGivenUpInTheQueue() throws {
    let upstream = try ScriptedServer(
      .answering("HTTP/1.1 503 No\r\nContent-Length: 0\r\nRetry-After: 20\r\n\r\n"))
    var route = try Route(to: upstream.port)
    route.retry.limit = 1
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let delayed = "weir_retry_delay_seconds_count{server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\""
    #expect(eventually { rig.registry.text().contains(delayed) })
    client.reset()
    #expect(eventually { rig.sample("weir_gateway_requests_abandoned_total{route=\"r\"}") == 1 })
    #expect(Self.abandoned("queue", rig, upstream.port) == 1)
    #expect(Self.abandoned("upstream", rig, upstream.port) == 0)
  }

  @Test func theRoutesOwnDeadlineIsNoGiveUp() throws {
    let load = try LoadRig { $0.timeout = .milliseconds(200) }
    load.mode = .hangs
    #expect(try load.get()?.status == 504)
    expectNone(load)
  }

  @Test func theEndOfADrainIsNoGiveUp() async throws {
    let load = try LoadRig()
    load.mode = .hangs
    let client = try load.waiter()
    #expect(eventually { load.received.contains("\r\n\r\n") })
    await load.rig.gateway.stop(grace: 0.1)
    _ = client.rest()
    #expect(eventually { load.rig.sample(Self.active) == 0 })
    expectNone(load)
  }

  @Test func aHedgeThatLosesIsNoGiveUp() throws {
    let lines = LoggedLines()
    let upstream = try ScriptedServer(
      Script(.request, .awaitClose), Script(.request, .send(okResponse("second"))))
    var route = try Route(to: upstream.port)
    route.hedge = HedgePlan(delay: .seconds(0.02), limit: 1)
    let rig = try GatewayRig(route, log: lines.log)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "second")
    #expect(eventually { upstream.closedByClientCount == 1 && rig.count("success") == 1 })
    #expect(AbandonedPhase.allCases.allSatisfy { Self.abandoned($0.rawValue, rig, upstream.port) == 0 })
    #expect(rig.sample("weir_gateway_requests_abandoned_total{route=\"r\"}") == 0)
    #expect(lines.all == [])
  }

  @Test func aBodyThatBreaksTheRulesIsNoGiveUp() throws {
    let load = try LoadRig()
    load.mode = .hangs
    let client = try load.rig.client()
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    client.send("xyz\r\n")
    #expect(client.response()?.status == 400)
    #expect(eventually { load.rig.sample(Self.activePuts) == 0 })
    expectNone(load)
  }

  /// A client that has its answer may leave in any way.
  @Test func aClientThatLeavesAfterItsAnswerHasNotGivenUp() throws {
    let load = try LoadRig()
    for leaving in Leaving.allCases {
      var client: RawClient? = try load.waiter()
      #expect(client?.response()?.status == 200)
      switch leaving {
      case .closes: client = nil
      case .resets: client?.reset()
      case .endsSending: client?.halfClose()
      }
    }
    #expect(eventually { load.rig.count("success") == 3 })
    expectNone(load)
  }

  /// A client leaves once its request is where `isThere` looks. Returns the client, unless it has closed.
  private func leave(_ load: LoadRig, _ leaving: Leaving, _ isThere: () -> Bool) throws -> RawClient? {
    var client: RawClient? = try load.waiter()
    #expect(isThere())
    let began = MonotonicTime.now
    switch leaving {
    case .closes: client = nil
    case .resets: client?.reset()
    case .endsSending: client?.halfClose()
    }
    #expect(eventually { load.abandonedOfRoute == 1 })
    #expect(MonotonicTime.now.seconds(since: began) < 15)
    return client
  }

  private func expectNone(_ load: LoadRig, sourceLocation: SourceLocation = #_sourceLocation) {
    for phase in ["queue", "upstream", "body"] {
      #expect(load.abandoned(phase) == 0, "\(phase)", sourceLocation: sourceLocation)
    }
    #expect(load.abandonedOfRoute == 0, sourceLocation: sourceLocation)
    #expect(load.lines.saying("callers gave up") == [], sourceLocation: sourceLocation)
  }

  private static let active = "http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"}"
  private static let activePuts = "http_server_active_requests{http_request_method=\"PUT\",url_scheme=\"http\"}"

  private static func abandoned(_ phase: String, _ rig: GatewayRig, _ port: Int) -> Double? {
    rig.sample(
      "weir_requests_abandoned_total{server_address=\"127.0.0.1\",server_port=\"\(port)\",phase=\"\(phase)\"}")
  }
}
