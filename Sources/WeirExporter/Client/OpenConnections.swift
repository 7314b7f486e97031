import Synchronization
import Weir
import WeirMetrics

/// Open connections by state, worked out when the page is written: active are those that carry an attempt.
struct OpenConnections: Collector {
  private static let name = "http_client_open_connections"

  let destinations: DestinationIndex
  /// How many label sets are shown.
  let limit: Int

  var metrics: [CollectedMetric] {
    var metric = CollectedMetric(
      Self.name, help: "Open connections by state.", kind: .gauge,
      labels: ["server_address", "server_port", "http_connection_state"])
    metric.seriesLimit = limit
    return [metric]
  }

  func collect(into samples: inout CollectedSamples) {
    for metrics in destinations.all {
      let open = max(0, metrics.openConnections.load(ordering: .relaxed))
      let active = min(open, max(0, Int(metrics.activeAttempts.value)))
      samples.set(Self.name, Double(active), labels: [metrics.address, metrics.port, "active"])
      samples.set(Self.name, Double(open - active), labels: [metrics.address, metrics.port, "idle"])
    }
  }
}
