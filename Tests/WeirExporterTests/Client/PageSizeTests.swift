import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// What fifty destinations cost Prometheus: docs/metrics.md promises it.
@Suite(.slow, .timeLimit(.minutes(5))) struct PageSizeTests {
  private static let count = 50
  private static let unavailable = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

  /// Of each destination one GET was answered 200 and one 503.
  private func page(
    _ registry: Registry, _ overload: OverloadSettings? = nil, operations: [String] = [""]
  ) async throws -> String {
    let exporter = try Exporter(registry: registry, listenAddress: "127.0.0.1:0")
    let server = try ScriptedServer(
      Script(.forever([.head, .send(okResponse("hello")), .head, .send(Self.unavailable)])))
    let hosts = (1...Self.count).map { "api-\($0).test" }
    var configuration = SessionConfiguration()
    configuration.resolveOverrides = hosts.map { .init(host: $0, port: server.port, addresses: ["127.0.0.1"]) }
    configuration.overload = overload
    let session = Session(
      configuration: configuration, eventMonitors: [try MetricsMonitor(registry: exporter.registry)])
    for host in hosts {
      for operation in operations {
        for status in [200, 503] {
          let request = session.request("http://\(host):\(server.port)/").operation(operation)
          #expect(await request.serializingString().response.response?.statusCode == status)
        }
      }
    }
    return try await eventually("all has been counted") {
      let page = registry.text()
      let isControlled = sum("weir_concurrency_limit{", page) == Double(64 * Self.count)
      let requests = 2 * Self.count * operations.count
      return sum("weir_requests_total{", page) == Double(requests) && isControlled == (overload != nil)
        ? page : nil
    }
  }

  private func sum(_ prefix: String, _ page: String) -> Double {
    page.split(separator: "\n").filter { $0.hasPrefix(prefix) }
      .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
  }

  private func series(_ page: String) -> Int {
    page.split(separator: "\n").count { !$0.hasPrefix("#") }
  }

  @Test(arguments: [(nil, 15_000, 1_800_000), (OverloadSettings.default, 16_000, 1_950_000)])
  func fiftyDestinations(overload: OverloadSettings?, mostSeries: Int, mostBytes: Int) async throws {
    let page = try await page(Registry(), overload)
    #expect(series(page) < mostSeries && series(page) > 5_000, "\(series(page)) series")
    #expect(page.utf8.count < mostBytes, "\(page.utf8.count) bytes")
  }

  /// An operation costs what docs/scale.md says, and twenty of them find room at each destination.
  @Test func twentyOperationsOfFiftyDestinations() async throws {
    func series(_ page: String) -> Int { self.series(page.replacing(/(?m)^weir_event_loop_lag.*\n/, with: "")) }
    let without = series(try await page(Registry()))
    let page = try await page(Registry(), operations: (1...20).map { "GET /\($0)/{id}" })
    // Outcomes, and attempts answered by 200 and by 503; those without a name are not there.
    let (outcomes, attempts) = (RequestOutcome.allCases.count, 2 * 19)
    #expect(series(page) - without == Self.count * (20 * (outcomes + attempts) - attempts))
    #expect(sum("weir_metrics_series_folded_total{", page) == 0 && !page.contains("\"_other\""))
    #expect(outcomes + 19 == 34, "docs/scale.md and docs/metrics.md have the number")
  }

  /// Most of a page is buckets.
  @Test func fewerBucketsMakeItSmaller() async throws {
    let few: Buckets = [0.1, 1, 10]
    let page = try await page(
      Registry(buckets: [
        "weir_phase_duration_seconds": few, "http_client_request_duration_seconds": few,
        "weir_request_duration_seconds": few,
      ]))
    #expect(series(page) < 8_000, "\(series(page)) series")
    let phases = page.split(separator: "\n").filter { $0.hasPrefix("weir_phase_duration_seconds_bucket") }
    #expect(!phases.isEmpty && !phases.contains { $0.contains("le=\"0.25\"") })
  }
}
