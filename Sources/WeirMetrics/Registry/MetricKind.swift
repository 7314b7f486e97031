/// The type of a metric, as in a `# TYPE` line.
public enum MetricKind: String, Sendable {
  /// The value only grows, and starts again at 0 with the process.
  case counter
  /// The value may go up and down.
  case gauge
  /// Observations counted in buckets, with their sum.
  case histogram
  /// Facts as labels, with the value 1. In the text format, which has no such type, it is a gauge.
  case info
}
