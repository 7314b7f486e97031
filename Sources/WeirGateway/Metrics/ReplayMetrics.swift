import WeirMetrics

/// The metric of what requests' bodies keep so that they can be sent again, computed for each page.
final class ReplayMetrics: Collector {
  private static let bytes = "weir_gateway_replay_bytes"

  /// The number to tell.
  let source = MetricsSource<Int>()

  var metrics: [CollectedMetric] {
    [
      CollectedMetric(
        Self.bytes, help: "Bytes beyond 64 KiB each that requests' bodies keep so that they can be sent again.",
        kind: .gauge, labels: [])
    ]
  }

  func collect(into samples: inout CollectedSamples) {
    for count in source.items { samples.set(Self.bytes, Double(count), labels: []) }
  }
}
