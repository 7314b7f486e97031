import CLinux
import Testing
import WeirExporter
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// The memory of five busy minutes of 200 routes and 200 upstreams with ten endpoints each.
@Suite(.slow, .serialized) struct StatusMemoryTests {
  private static var allocated: Int { Int(mallinfo2().uordblks) + Int(mallinfo2().hblkhd) }

  @Test func ringsAreSmall() throws {
    let registry = Registry(seriesLimit: 100_000)
    let names = (0..<200).map { "name-\($0)" }
    let routes = try registry.counter("weir_gateway_requests_total", help: "-", labels: "route", "outcome")
    let times = try registry.histogram(
      "http_server_request_duration_seconds", help: "-",
      buckets: Buckets.exponential(start: 0.001, factor: 2, count: 16),
      labels: "http_route")
    let requests = try registry.counter(
      "weir_requests_total", help: "-", labels: "server_address", "server_port", "outcome")
    let retries = try registry.counter(
      "weir_retries_total", help: "-", labels: "server_address", "server_port", "reason")
    let durations = try registry.histogram(
      "weir_request_duration_seconds", help: "-", buckets: Buckets.exponential(start: 0.001, factor: 2, count: 15),
      labels: "server_address", "server_port", "result")
    let phases = try registry.histogram(
      "weir_phase_duration_seconds", help: "-", buckets: Buckets.exponential(start: 0.0001, factor: 2, count: 18),
      labels: "server_address", "server_port", "phase")
    func count() {
      for name in names {
        for outcome in ["success", "http_error", "timeout", "transport_error"] {
          routes.with(name, outcome).increment()
          requests.with(name, "80", outcome).increment()
        }
        for reason in ["503", "timed_out", "connection_lost"] { retries.with(name, "80", reason).increment() }
        times.with(name).observe(0.02)
        for result in ["success", "failure"] { durations.with(name, "80", result).observe(0.02) }
        for phase in ["queue", "resolve", "connect", "tls", "send", "processing", "transfer"] {
          phases.with(name, "80", phase).observe(0.01)
        }
      }
    }
    // The series are there before: they are the metrics' own.
    count()
    _ = names.map { routes.with($0, "success") }
    let before = Self.allocated
    var tables = [TrafficTable(GatewayStatus(try GatewayMetrics(Registry()), file: nil).metrics[0])]
    tables.append(TrafficTable(TrafficMetric.ofDestinations))
    var attempts = EndpointAttempts()
    for bucket in 0..<60 {
      count()
      for index in tables.indices {
        tables[index].read(registry)
        tables[index].turn()
      }
      attempts.read(
        names.flatMap { name in
          (0..<10).map { number in
            (
              EndpointAttempts.Key(upstream: name, endpoint: "10.0.0.\(number):80"),
              EndpointAttempts.Counts(successes: UInt32(bucket * 10), failures: UInt32(bucket))
            )
          }
        })
      attempts.turn()
    }
    let grown = Self.allocated - before
    #expect(tables.map { $0.subjects(presentFor: 0).count } == [200, 200])
    #expect(grown < 8 << 20 || ThisProcess.isSanitized, "\(grown >> 10) KiB")
    #expect(attempts.counts(of: .init(upstream: "name-7", endpoint: "10.0.0.3:80")).last10s.all > 0)
  }
}
