/// What a metric is; its word in a `# TYPE` line.
public enum MetricKind: String, Sendable {
  /// Only grows, and begins anew at 0 when the process does.
  case counter
  /// May go up and down.
  case gauge
  /// Observations counted in buckets, with their sum.
  case histogram
  /// Facts in labels, value 1. A gauge in the text format, which has no such type.
  case info
}
