import WeirMetrics

/// The metric `weir_event_loop_lag_seconds`, with a series for each kind of loop: `session` (all sessions of the process),
/// `gateway.0` and so on (a worker of the gateway each), `control` (lookups and checks of the gateway's `upstreams`),
/// `metrics` (the exporter's).
enum LoopLag {
  /// Finds or makes the family in a registry.
  static func histogram(in registry: Registry) throws(RegistryError) -> HistogramFamily<String> {
    try registry.histogram(
      "weir_event_loop_lag_seconds", help: "Time a due timer waited for its turn on the event loop.",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5], labels: "loop")
  }
}
