import Testing
import Weir
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter
@testable import WeirTransport

/// What the page shows of the paces of destinations.
@Suite(.timeLimit(.minutes(5))) struct PaceMetricsTests {
  private static let now = MonotonicTime(nanoseconds: 1_000_000_000)

  private let registry = Registry()

  private func index() throws -> DestinationIndex {
    DestinationIndex(try ClientMetrics(registry, SeriesLimits(destinations: 3, operations: 20)), limit: 1)
  }

  private static func destination(_ host: String = "h") -> Destination {
    Destination(scheme: "http", host: host, port: 80)
  }

  /// The samples of a family, with their labels except for the port.
  private func samples(_ name: String) -> [String] {
    registry.text().split(separator: "\n").filter { $0.hasPrefix(name + "{") }.map { line in
      String(line.dropFirst(name.count)).replacing("{server_address=\"h\",server_port=\"80\"", with: "{")
        .replacing("{,", with: "{")
    }
  }

  /// Whether the status page knows a pace, and the seconds that it shows of a pause some time later.
  private func expect(
    _ metrics: DestinationMetrics, hasPace: Bool, pausedFor left: Double?, after seconds: Double = 0,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let key = [metrics.address, metrics.port]
    let state = metrics.families.paces.state(of: key, at: Self.now.advanced(bySeconds: seconds))
    #expect(state.hasPace == hasPace, sourceLocation: sourceLocation)
    #expect(state.pausedFor == left, sourceLocation: sourceLocation)
  }

  private func expectNothing() {
    for name in ["weir_pace_wait_seconds_count", "weir_upstream_pauses_total", "weir_upstream_paused"] {
      #expect(samples(name).isEmpty, "\(name)")
    }
    for name in ["weir_requests_shed_total", "weir_retries_denied_total"] {
      #expect(samples(name).allSatisfy { !$0.contains("\"pa") }, "\(name)")
    }
  }

  @Test func withoutAPaceThereIsNothing() throws {
    _ = try index().metrics(of: Self.destination())
    expectNothing()
  }

  @Test func aKnownPaceHasItsCountersAtZero() throws {
    let monitor = try MetricsMonitor(registry: registry)
    monitor.prepare(Self.destination())
    expectNothing()
    monitor.preparePace(of: Self.destination())
    #expect(samples("weir_upstream_pauses_total") == ["{} 0"])
    #expect(
      samples("weir_requests_shed_total").filter { $0.contains("\"pa") } == [
        "{reason=\"pace\"} 0", "{reason=\"paused\"} 0",
      ])
    #expect(samples("weir_retries_denied_total").contains("{reason=\"pace\"} 0"))
    #expect(samples("weir_upstream_paused").isEmpty, "it comes with the first pause")
  }

  @Test func waitsAndRefusalsAreCountedAndShowThatThereIsAPace() throws {
    let metrics = try index().metrics(of: Self.destination())
    metrics.pace.waited(0.3)
    metrics.pace.waited(2)
    #expect(samples("weir_pace_wait_seconds_count") == ["{} 2"])
    #expect(samples("weir_pace_wait_seconds_bucket").contains("{le=\"0.5\"} 1"))
    #expect(samples("weir_upstream_pauses_total") == ["{} 0"])
    metrics.shed(.paused)
    metrics.shed(.pace)
    metrics.shed(.pace)
    #expect(
      samples("weir_requests_shed_total").filter { $0.contains("\"pa") } == [
        "{reason=\"pace\"} 2", "{reason=\"paused\"} 1",
      ])
  }

  @Test func aPauseShowsFromItsReportToTheOneOfItsEnd() throws {
    let metrics = try index().metrics(of: Self.destination())
    expect(metrics, hasPace: false, pausedFor: nil)
    metrics.pace.paused(PauseReport(left: 5, begun: 1), at: Self.now)
    #expect(samples("weir_upstream_paused") == ["{} 1"])
    #expect(samples("weir_upstream_pauses_total") == ["{} 1"])
    expect(metrics, hasPace: true, pausedFor: 3, after: 2)
    expect(metrics, hasPace: true, pausedFor: nil, after: 5)
    // It goes on, as it was asked for again.
    metrics.pace.paused(PauseReport(left: 9, begun: 0), at: Self.now.advanced(bySeconds: 1))
    #expect(samples("weir_upstream_pauses_total") == ["{} 1"])
    expect(metrics, hasPace: true, pausedFor: 5, after: 5)
    metrics.pace.paused(PauseReport(left: 0, begun: 0), at: Self.now.advanced(bySeconds: 10))
    #expect(samples("weir_upstream_paused") == ["{} 0"])
    expect(metrics, hasPace: true, pausedFor: nil, after: 10)
  }

  @Test func refusalsAloneAreNoPause() throws {
    let metrics = try index().metrics(of: Self.destination())
    metrics.pace.paused(PauseReport(left: 0, begun: 0, refused: 3), at: Self.now)
    #expect(samples("weir_upstream_pauses_total") == ["{} 0"])
    #expect(samples("weir_upstream_paused").isEmpty)
    expect(metrics, hasPace: true, pausedFor: nil)
    metrics.pace.paused(PauseReport(left: 5, begun: 1, refused: 3), at: Self.now)
    metrics.pace.paused(PauseReport(left: 0, begun: 0, refused: 3), at: Self.now.advanced(bySeconds: 5))
    #expect(samples("weir_upstream_pauses_total") == ["{} 1"])
    #expect(samples("weir_upstream_paused") == ["{} 0"])
  }

  @Test func aPaceThatIsTakenAwayLeavesItsCounters() throws {
    let metrics = try index().metrics(of: Self.destination())
    metrics.pace.paused(PauseReport(left: 5, begun: 1), at: Self.now)
    metrics.remove([.budget, .overload])
    #expect(samples("weir_upstream_paused") == ["{} 1"])
    metrics.remove(.pace)
    #expect(samples("weir_upstream_paused").isEmpty)
    #expect(samples("weir_upstream_pauses_total") == ["{} 1"])
    expect(metrics, hasPace: false, pausedFor: nil)
  }

  @Test func destinationsBeyondTheLimitAreCountedTogetherAndHaveNoPause() throws {
    let index = try index()
    _ = index.metrics(of: Self.destination())
    for host in ["a", "b"] {
      let metrics = index.metrics(of: Self.destination(host))
      metrics.pace.waited(1)
      metrics.pace.paused(PauseReport(left: 5, begun: 1), at: Self.now)
    }
    let other = "{server_address=\"_other\",server_port=\"_other\"}"
    #expect(samples("weir_upstream_pauses_total") == ["\(other) 2"])
    #expect(samples("weir_pace_wait_seconds_count") == ["\(other) 2"])
    #expect(samples("weir_upstream_paused").isEmpty)
    expect(index.metrics(of: Self.destination("a")), hasPace: false, pausedFor: nil)
  }

  @Test func aDestinationThatIsForgottenIsPausedNoMore() throws {
    let index = try index()
    let metrics = index.metrics(of: Self.destination())
    metrics.pace.paused(PauseReport(left: 5, begun: 1), at: Self.now)
    #expect(index.forget([Self.destination().server]).isEmpty)
    expectNothing()
    expect(metrics, hasPace: false, pausedFor: nil)
  }

  @Test func aSessionThatIsAskedForAPause() async throws {
    let limited = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(limited), .awaitClose))
    var configuration = SessionConfiguration.default
    configuration.pace = PaceSettings(wait: 0)
    let session = Session(configuration: configuration, eventMonitors: [try MetricsMonitor(registry: registry)])
    #expect(await session.request(server.url).serializingData().response.response?.statusCode == 429)
    _ = await session.request(server.url).serializingData().response
    let destination = "{server_address=\"127.0.0.1\",server_port=\"\(server.port)\""
    for line in [
      "weir_upstream_paused\(destination)} 1", "weir_upstream_pauses_total\(destination)} 1",
      "weir_requests_shed_total\(destination),reason=\"paused\"} 1",
    ] {
      try await eventually(line) { registry.text().split(separator: "\n").contains(Substring(line)) }
    }
    let paces = registry.companion { KnownPaces() }
    let left = paces.state(of: ["127.0.0.1", String(server.port)], at: .now).pausedFor
    #expect(left.map { $0 > 0 && $0 <= 60 } == true)
  }
}
