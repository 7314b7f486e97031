/// What a metric is; its word in a `# TYPE` line.
public enum MetricKind: String, Sendable {
  case counter
  case gauge
  case histogram
  /// Facts in labels, value 1. A gauge in the text format, which has no such type.
  case info
}
