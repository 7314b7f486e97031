/// The metrics of a registry about itself.
enum OwnMetrics {
  static let series = "weir_metrics_series"
  static let folded = "weir_metrics_series_folded_total"
  static let invalid = "weir_metrics_invalid_updates_total"
  static let refused = "weir_metrics_registration_errors_total"

  static let families = [
    CollectedMetric(series, help: "Series per metric.", kind: .gauge, labels: ["metric"]),
    CollectedMetric(
      folded, help: "Lookups of label sets beyond the metric's limit: folded into _other, or dropped if it is a gauge.",
      kind: .counter, labels: ["metric"]),
    CollectedMetric(
      invalid, help: "Updates ignored because their value means nothing to the metric: negative, NaN or infinite.",
      kind: .counter, labels: ["metric"]),
    CollectedMetric(
      refused, help: "Metrics that could not be registered, by reason.", kind: .counter, labels: ["reason"]),
  ]

  static func collect(
    _ families: [any MetricFamily], _ refusals: [(reason: String, count: UInt64)], into samples: inout CollectedSamples
  ) {
    for family in families {
      guard let count = family.seriesCount else { continue }
      let name = family.descriptor.name
      samples.set(series, Double(count), labels: [name])
      if family.descriptor.kind == .info { continue }
      samples.set(invalid, family.tally.invalidUpdates, labels: [name])
      if !family.descriptor.labels.isEmpty { samples.set(folded, family.tally.folded, labels: [name]) }
    }
    for (reason, count) in refusals { samples.set(refused, Double(count), labels: [reason]) }
  }
}
