import Foundation
import Synchronization
import Testing
import Weir
import WeirCurl
import WeirIO
import WeirMetrics
import WeirTransport

@testable import WeirExporter

/// Destinations beyond the limit share their series in every family; until then no family folds anything.
@Suite struct DestinationLimitTests {
  /// Smaller than what fifty destinations need of any family, so that each family's own limit is what counts.
  private let registry = Registry(seriesLimit: 40)

  private func destination(_ number: Int) -> Destination {
    Destination(scheme: "https", host: "h\(number).internal", port: 443)
  }

  /// All that a destination shows when GET and POST end in every way there is.
  private func use(_ requests: OperationMetrics) {
    let metrics = requests.destination
    for method in ["GET", "POST"] {
      requests.started(method: method)
      for outcome in RequestOutcome.allCases { requests.settled(method: method, outcome: outcome, seconds: 1) }
      for (status, error) in [(200, ""), (404, ""), (503, ""), (nil, "timed_out")] {
        attemptEnded(requests, method: method, status: status, error: error, encoding: status == 200 ? "gzip" : nil)
      }
    }
    metrics.phases.observe(.queue, 1)
    metrics.attemptsPerRequest.observe(1)
    metrics.requestBodySize.observe(1)
    metrics.responseBodySize.observe(1)
    let families = metrics.families
    metrics.count(RetryDenial.Reason.limit.rawValue, in: families.retriesDenied)
    metrics.count("302", in: families.redirects)
    metrics.count(HedgeEvent.won.rawValue, in: families.hedges)
    metrics.count(CacheResult.hit.rawValue, in: families.cacheRequests)
    for reason in ["429", "dns_error"] {
      requests.retried(because: RetryReason(rawValue: reason))
    }
    metrics.granted(after: 1, source: .backoff)
    for adapter in ["signer", "tracer", "tenant"] { metrics.adapted(by: adapter, seconds: 1, failure: .timeout) }
    metrics.retryBudget(available: 1)
    var report = OverloadReport(state: .overloaded, limit: 4, used: 4, baseline: 0.1, serviceRate: 40)
    report.probes.faster = 1
    metrics.overload(report)
    for state in CircuitState.allCases { metrics.circuit(entered: state) }
    metrics.pace.waited(1)
    metrics.pace.paused(PauseReport(left: 1, begun: 1), at: .now)
    metrics.openConnections.add(1, ordering: .relaxed)
  }

  private func attemptEnded(
    _ requests: OperationMetrics, method: String = "GET", status: Int?, error: String, encoding: String? = nil
  ) {
    var report = AttemptReport()
    report.statusCode = status
    report.contentEncoding = encoding
    requests.attemptEnded(method: method, report, errorType: error)
  }

  private func lines(_ prefix: String) -> [Substring] {
    registry.text().split(separator: "\n").filter { $0.hasPrefix(prefix) }
  }

  private func index(limit: Int) throws -> DestinationIndex {
    let families = try ClientMetrics(registry, SeriesLimits(destinations: limit + 2, operations: 20))
    let index = DestinationIndex(families, limit: limit)
    try registry.register(
      OpenConnections(
        destinations: index, limit: SeriesLimits(destinations: limit + 2, operations: 20).connectionStates))
    return index
  }

  private static let ofOne = [
    "weir_retry_budget_available", "weir_concurrency_limit", "weir_concurrency_used", "weir_baseline_seconds",
    "weir_service_rate", "weir_overload_state", "weir_circuit_state", "weir_upstream_paused",
  ]

  private func checkFamilies(limit: Int, _ page: String) {
    let families = registry.metrics.filter { $0.labels.contains("server_address") }
    #expect(families.count == 41)
    let shown = addresses(page)
    for family in families {
      let addresses = shown[family.kind == .histogram ? "\(family.name)_count" : family.name] ?? []
      // Of several there is no one budget, limit or state.
      let isOfOne = Self.ofOne.contains(family.name)
      #expect(addresses.count == limit + (isOfOne ? 1 : 2), "\(family.name)")
      #expect(addresses.contains("_other") != isOfOne && addresses.contains("unknown"), "\(family.name)")
      #expect(!addresses.contains("h\(limit).internal"), "\(family.name)")
    }
  }

  /// The values of `server_address`, which comes first, by the samples' names.
  private func addresses(_ page: String) -> [String: Set<Substring>] {
    let mark = "{server_address=\""
    var addresses: [String: Set<Substring>] = [:]
    for line in page.split(separator: "\n") {
      guard let brace = line.firstIndex(of: "{"), line[brace...].hasPrefix(mark) else { continue }
      addresses[String(line[..<brace]), default: []].insert(line[brace...].dropFirst(mark.count).prefix { $0 != "\"" })
    }
    return addresses
  }

  @Test(arguments: [0, 1, 50])
  func noFamilyFoldsBeforeTheDestinationsDo(limit: Int) throws {
    let index = try index(limit: limit)
    use(index.operations(of: nil).unnamed)
    for number in 0...limit { use(index.operations(of: destination(number)).unnamed) }
    let page = registry.text()
    checkFamilies(limit: limit, page)
    let folded = page.split(separator: "\n").filter { $0.hasPrefix("weir_metrics_series_folded_total{") }
    #expect(folded.count > 20)
    for line in folded { #expect(line.hasSuffix(" 0"), "\(line)") }
  }

  /// One that answers with every status there is, to every method, and is retried for each of them.
  @Test func aDestinationThatMakesUpStatusesTakesNoSeriesOfOthers() throws {
    let index = try index(limit: 2)
    let liar = index.operations(of: destination(0)).unnamed
    attemptEnded(liar, status: 200, error: "")
    for status in 100...999 {
      for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "_OTHER"] {
        attemptEnded(liar, method: method, status: status, error: status < 400 ? "" : String(status))
        if status < 400 { attemptEnded(liar, method: method, status: status, error: "bad_\(status)") }
      }
      liar.retried(because: RetryReason(rawValue: String(status)))
    }
    attemptEnded(liar, status: 200, error: "")
    attemptEnded(liar, status: 777, error: "explicitly_cancelled")
    for other in [destination(1), destination(2)] { use(index.operations(of: other).unnamed) }

    let durations = lines("http_client_request_duration_seconds_count{server_address=\"h0.internal\"")
    #expect(durations.count > 100 && durations.count <= 130)
    func labels(_ method: String, _ status: String, _ error: String) -> String {
      "http_request_method=\"\(method)\",http_response_status_code=\"\(status)\",error_type=\"\(error)\"} "
    }
    #expect(durations.contains { $0.hasSuffix(labels("GET", "200", "") + "3") })
    #expect(durations.contains { $0.hasSuffix(labels("_OTHER", "5xx", "5xx") + "600") })
    #expect(durations.contains { $0.hasSuffix(labels("_OTHER", "7xx", "cancelled") + "1") })
    let retries = lines("weir_retries_total{server_address=\"h0.internal\"")
    #expect(retries.contains { $0.hasSuffix("reason=\"9xx\"} 100") })
    #expect(lines("http_client_request_duration_seconds_count{server_address=\"h1.internal\"").count == 8)
    #expect(lines("weir_metrics_series_folded_total{").allSatisfy { $0.hasSuffix(" 0") })
  }

  @Test(arguments: [Int.min, -1, 0, .max])
  func oddLimitsDoNoHarm(limit: Int) throws {
    let monitor = try MetricsMonitor(registry: registry, destinationLimit: limit)
    monitor.prepare(destination(1))
    #expect(!lines("weir_requests_started_total{").isEmpty)
  }
}
