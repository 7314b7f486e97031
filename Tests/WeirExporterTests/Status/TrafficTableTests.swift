import Testing
import WeirMetrics

@testable import WeirExporter

/// Traffic as it is read from metrics.
@Suite struct TrafficTableTests {
  private static func metrics() -> [TrafficMetric] {
    [
      TrafficMetric("requests_total", .requests, keys: ["route"], by: "outcome"),
      TrafficMetric("failed_total", .failed, keys: ["route"]),
      TrafficMetric("retries_total", .retries, keys: ["route"], by: "reason"),
      TrafficMetric("denied_total", .denied, keys: ["route"], by: "reason", only: ["budget"]),
      TrafficMetric("seconds", .durations, keys: ["route"]),
      TrafficMetric("phase_seconds", .phases, keys: ["route"], by: "phase"),
      TrafficMetric("in_flight", .inFlight, keys: ["route"]),
      TrafficMetric("circuit", .circuit, keys: ["route"], by: "state"),
    ]
  }

  @Test func whatChangesIsCountedByWindow() throws {
    let registry = Registry()
    let requests = try registry.counter("requests_total", help: "-", labels: "route", "outcome")
    let failed = try registry.counter("failed_total", help: "-", labels: "route")
    let retries = try registry.counter("retries_total", help: "-", labels: "route", "reason")
    let denied = try registry.counter("denied_total", help: "-", labels: "route", "reason")
    let seconds = try registry.histogram("seconds", help: "-", buckets: [0.1, 0.2, 0.4], labels: "route")
    let phases = try registry.histogram("phase_seconds", help: "-", buckets: [1, 2], labels: "route", "phase")
    let inFlight = try registry.gauge("in_flight", help: "-", labels: "route")
    let circuit = try registry.gauge("circuit", help: "-", labels: "route", "state")
    // A name as hostile as names may be.
    let name = "a\"\\\n,outcome=\"x\"="
    requests.with(name, "success").increment(by: 100)
    seconds.with(name).observe(0.3)
    var table = TrafficTable(Self.metrics())
    table.read(registry)
    #expect(table.subjects(presentFor: 0).map(\.key) == [[name]])
    #expect(table.subjects(presentFor: 0).first?.traffic.last5m.requests == 0, "what was before is not counted")

    requests.with(name, "success").increment(by: 7)
    requests.with(name, "http_error").increment(by: 3)
    failed.with(name).increment(by: 3)
    retries.with(name, "503").increment(by: 2)
    denied.with(name, "budget").increment(by: 1)
    denied.with(name, "not_idempotent").increment(by: 50)
    for _ in 0..<10 { seconds.with(name).observe(0.15) }
    phases.with(name, "connect").observe(1.5)
    inFlight.with(name).set(4)
    circuit.with(name, "open").set(1)
    circuit.with(name, "closed").set(0)
    table.read(registry)
    let subject = try #require(table.subjects(presentFor: 2).first)
    let window = subject.traffic.last10s
    #expect(window.requests == 10 && window.failed == 3 && window.denied == 1 && window.seconds == 2)
    #expect(window.outcomes == [StatusReport.Named(name: "http_error", count: 3)])
    #expect(window.retries == [StatusReport.Named(name: "503", count: 2)])
    #expect(window.retryDemand == 0.3)
    #expect(window.p50.map { abs($0 - 0.15) < 1e-9 } == true)
    #expect(window.p99.map { abs($0 - 0.199) < 1e-9 } == true)
    #expect(window.phases == [StatusReport.Phase(name: "connect", p50: 1.5, p99: 1.99)])
    #expect(subject.gauges.inFlight == 4 && subject.gauges.circuit == "open")
    #expect(subject.traffic.history.requests.last == 10 && subject.traffic.history.p99.last.flatMap(\.self) != nil)

    // The bucket leaves the short window after two more, and the long one after five minutes.
    for _ in 0..<2 { table.turn() }
    #expect(table.subjects(presentFor: 0).first?.traffic.last10s.requests == 10)
    #expect(table.subjects(presentFor: 0).first?.traffic.last10s.seconds == 10)
    table.turn()
    let later = try #require(table.subjects(presentFor: 0).first?.traffic)
    #expect(later.last10s.requests == 0 && later.last10s.retryDemand == nil && later.last10s.p99 == nil)
    #expect(later.last5m.requests == 10 && later.last5m.seconds == 15)
    #expect(later.history.requests[StatusReport.History.count - 4] == 10)
    for _ in 0..<60 { table.turn() }
    let end = try #require(table.subjects(presentFor: 0).first?.traffic)
    #expect(end.last5m.requests == 0 && end.last5m.seconds == 285)
    #expect(end.history.requests.allSatisfy { $0 == 0 })
  }

  @Test func newSubjectsCountFromTheirBeginningAndRemovedOnesGo() throws {
    let registry = Registry()
    let requests = try registry.counter("requests_total", help: "-", labels: "route", "outcome")
    let circuit = try registry.gauge("circuit", help: "-", labels: "route", "state")
    var table = TrafficTable(Self.metrics())
    table.read(registry)
    requests.with("a", "success").increment(by: 5)
    circuit.with("a", "open").set(1)
    table.read(registry)
    #expect(table.subjects(presentFor: 1).first?.traffic.last10s.requests == 5)
    #expect(circuit.remove("a", "open"))
    table.read(registry)
    #expect(table.subjects(presentFor: 1).first?.gauges.circuit == nil)
    #expect(requests.remove("a", "success"))
    table.read(registry)
    #expect(table.subjects(presentFor: 1).isEmpty)
    requests.with("a", "success").increment(by: 2)
    table.read(registry)
    #expect(table.subjects(presentFor: 1).first?.traffic.last10s.requests == 2)
  }

  @Test func subjectsBeyondTheLimitShareOne() throws {
    let registry = Registry(seriesLimit: 1000)
    let requests = try registry.counter("requests_total", help: "-", labels: "route", "outcome")
    var table = TrafficTable(Self.metrics())
    table.read(registry)
    for number in 0..<300 { requests.with("r\(number)", "success").increment() }
    table.read(registry)
    let subjects = table.subjects(presentFor: 1)
    #expect(subjects.count == TrafficTable.mostSubjects + 1)
    #expect(subjects.first { $0.key == TrafficTable.rest }?.traffic.last10s.requests == 100)
    #expect(subjects.reduce(0) { $0 + $1.traffic.last10s.requests } == 300)
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0], 0.5, nil), ([10, 0, 0, 0], 0.5, 0.5), ([0, 10, 0, 0], 1, 2), ([0, 0, 0, 5], 0.5, 4),
      ([1, 1, 1, 1], 0.5, 2), ([1, 1, 1, 1], 0.25, 1), ([99, 0, 1, 0], 0.99, 1),
    ] as [([UInt32], Double, Double?)])
  func quantilesAreThoseOfPromQL(counts: [UInt32], part: Double, expected: Double?) {
    #expect(quantile(part, counts, bounds: [1, 2, 4]) == expected)
    #expect(quantile(part, counts, bounds: []) == nil)
  }

  @Test func operationsBeyondTheRoomStayWithTheirDestination() throws {
    let registry = Registry()
    let monitor = try ClientMetrics(registry, SeriesLimits(destinations: 3, operations: 20))
    var table = TrafficTable(TrafficMetric.ofOperations, most: 2, hasCharts: false)
    table.read(registry)
    for (host, operation) in [("a", ""), ("a", "x"), ("a", "y"), ("b", "x"), ("b", "z")] {
      monitor.requests.with(host, "80", "GET", "http_error", operation).increment()
      for error in ["", "404", "4xx", "503", "timed_out", "explicitly_cancelled", "cancelled"] {
        monitor.attemptDuration.with(host, "80", "GET", "", error, operation).observe(1)
      }
    }
    table.read(registry)
    let subjects = table.subjects(presentFor: 1)
    // Which of them had room is a matter of the order of series.
    #expect(subjects.count(where: { $0.key.last == "_other" }) <= 2)
    #expect(subjects.allSatisfy { ["a", "b"].contains($0.key.first) && $0.key.count == 3 })
    for (host, count) in [("a", 3), ("b", 2)] {
      let windows = subjects.filter { $0.key.first == host }.map(\.traffic.last10s)
      #expect(windows.reduce(0) { $0 + $1.requests } == count)
      #expect(windows.reduce(0) { $0 + $1.failed } == 2 * count)
    }
  }
}
