/// The format and contents of a page of metrics.
public struct Exposition: Sendable {
  /// The formats that Prometheus reads.
  public enum Format: Sendable {
    /// Text 0.0.4.
    case text
    /// OpenMetrics 1.0.0, with exemplars and a final `# EOF`.
    case openMetrics

    /// The value of `Content-Type`.
    public var contentType: String {
      switch self {
      case .text: "text/plain; version=0.0.4; charset=utf-8"
      case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
      }
    }
  }

  /// Text 0.0.4 unless the scraper asks for another.
  public var format: Format
  /// Names of the metrics to show, or of their samples (`x_count`); nil shows all.
  public var only: Set<String>?
  /// Whether OpenMetrics shows when each counter and histogram began (`_created`). That doubles the series of counters
  /// in a Prometheus that does not use them. Off by default.
  public var created: Bool

  /// By default all metrics as text, without `_created`.
  public init(_ format: Format = .text, only: Set<String>? = nil, created: Bool = false) {
    self.format = format
    self.only = only
    self.created = created
  }
}
