import WeirHTTP
import WeirIO
import WeirMetrics
import WeirTransport

/// The metrics of the entries of `upstreams` and of their endpoints, computed for each page. Without entries there are
/// none.
final class EndpointMetrics: Collector {
  /// The name under which endpoints beyond the limit are counted together.
  static let rest = "_other"

  private let limit: Int
  /// The entries to tell of.
  let source = MetricsSource<UpstreamEndpoints>()

  /// - Parameter limit: Endpoints with series of their own.
  init(limit: Int) {
    self.limit = limit
  }

  var metrics: [CollectedMetric] {
    let upstream = ["upstream"], endpoint = ["upstream", "endpoint"]
    return [
      metric("weir_upstream_endpoints", "Endpoints of the upstream, by state.", .gauge, upstream + ["state"]),
      metric(
        "weir_upstream_discoveries_total", "Answers about the upstream's endpoints, by what came of them.", .counter,
        upstream + ["result"]),
      metric(
        "weir_upstream_last_discovery_timestamp_seconds",
        "When a place that tells of the upstream's endpoints last answered, Unix time.", .gauge, upstream),
      metric(
        "weir_endpoint_attempts_total", "Attempts at the endpoint that ended with a head, or failed before it.",
        .counter, endpoint + ["result"]),
      metric(
        "weir_endpoint_ejections_total", "How often the endpoint was left out for its failures.", .counter,
        endpoint + ["reason"]),
      metric(
        "weir_endpoint_checks_total", "Active checks of the endpoint, by how they ended.", .counter,
        endpoint + ["result"]),
      metric("weir_endpoint_active_attempts", "Attempts at the endpoint under way.", .gauge, endpoint),
      metric("weir_endpoint_connections", "Open connections to the endpoint.", .gauge, endpoint),
      metric(
        "weir_endpoint_ewma_seconds", "Mean time to the first byte, by which endpoints are compared.", .gauge,
        endpoint),
    ]
  }

  private func metric(
    _ name: String, _ help: String, _ kind: CollectedMetric.Kind, _ labels: [String]
  ) -> CollectedMetric {
    var metric = CollectedMetric(name, help: help, kind: kind, labels: labels)
    metric.seriesLimit = max(NamedUpstream.maximumCount * 4, (limit + NamedUpstream.maximumCount) * 5)
    return metric
  }

  func collect(into samples: inout CollectedSamples) {
    let entries = source.items.sorted { $0.name < $1.name }
    var left = limit
    for entry in entries {
      let report = entry.set.report(at: .now)
      for state in EndpointReport.State.allCases {
        samples.set("weir_upstream_endpoints", Double(report.count(state)), labels: [entry.name, state.rawValue])
      }
      if !entry.upstream.places.isEmpty { collect(entry.name, entry.discoveries, into: &samples) }
      let shown = report.endpoints.prefix(left)
      left -= shown.count
      for line in shown { collect(entry, line.name, [line], into: &samples) }
      let rest = report.endpoints.dropFirst(shown.count)
      if !rest.isEmpty { collect(entry, Self.rest, Array(rest), into: &samples) }
    }
  }

  private func collect(_ upstream: String, _ counts: DiscoveryCounts, into samples: inout CollectedSamples) {
    for result in Discovery.allCases {
      samples.set(
        "weir_upstream_discoveries_total", Double(counts.number(of: result)), labels: [upstream, result.rawValue])
    }
    if let time = counts.lastAnswer {
      samples.set(
        "weir_upstream_last_discovery_timestamp_seconds", time.seconds, labels: [upstream])
    }
  }

  /// - Parameter lines: One endpoint, or several that are counted together.
  private func collect(
    _ entry: UpstreamEndpoints, _ endpoint: String, _ lines: [EndpointReport.Line], into samples: inout CollectedSamples
  ) {
    func set(_ metric: String, _ label: String? = nil, _ value: (EndpointReport.Line) -> Int) {
      let labels = [entry.name, endpoint] + (label.map { [$0] } ?? [])
      samples.set(metric, Double(lines.reduce(0) { $0 + value($1) }), labels: labels)
    }
    set("weir_endpoint_attempts_total", "success") { $0.successes }
    set("weir_endpoint_attempts_total", "failure") { $0.failures }
    for reason in EjectionReason.allCases {
      set("weir_endpoint_ejections_total", reason.rawValue) { $0.ejections[reason] ?? 0 }
    }
    if entry.upstream.check != nil {
      for result in CheckResult.allCases {
        set("weir_endpoint_checks_total", result.rawValue) { entry.checks.number(of: result, at: $0.name) }
      }
    }
    set("weir_endpoint_active_attempts") { $0.active }
    set("weir_endpoint_connections") { $0.connections }
    let latencies = lines.compactMap(\.latency)
    if !latencies.isEmpty {
      let mean = latencies.reduce(0, +) / Double(latencies.count)
      samples.set("weir_endpoint_ewma_seconds", mean, labels: [entry.name, endpoint])
    }
  }
}
