import WeirMetrics

/// The shipped rules that read the classic series of histograms: buckets, sum or count.
///
/// A Prometheus that keeps native histograms keeps no classic series of theirs. The rules are in native form in
/// deploy/prometheus/rules/native.yml. A test holds this table against these files.
enum ClassicRules {
  static let byHistogram: KeyValuePairs = [
    "http_client_request_duration_seconds": [
      "WeirAuthRefreshFailing", "job_destination:weir_attempt_failures:ratio_rate5m",
      "job_destination_operation:http_client_request_duration_seconds:p99_rate5m",
    ],
    "weir_event_loop_lag_seconds": ["WeirEventLoopStalled"],
    "weir_phase_duration_seconds": ["WeirConnectSlow", "job_destination:weir_connect_seconds:p99_rate5m"],
    "weir_request_duration_seconds": ["job_destination:weir_request_duration_seconds:p99_rate10m"],
  ]

  /// The rules that read histograms which are native, by histogram.
  static func reading(_ native: NativeHistograms) -> [(histogram: String, rules: [String])] {
    byHistogram.filter { native.contains($0.key) }.map { ($0.key, $0.value) }
  }
}
