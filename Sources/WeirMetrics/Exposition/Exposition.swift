/// How a page of metrics is to be written.
public struct Exposition: Sendable {
  /// The formats Prometheus reads.
  public enum Format: Sendable {
    /// Text 0.0.4.
    case text
    /// OpenMetrics 1.0.0: exemplars, `# EOF` at the end.
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
  /// Names of metrics to show, or of samples of them (`x_count`); nil shows all.
  public var only: Set<String>?
  /// Whether OpenMetrics tells when each counter and histogram began (`_created`). Doubles the series of counters in a
  /// Prometheus that does not use them; off by default.
  public var created: Bool

  /// By default all metrics as text, without `_created`.
  public init(_ format: Format = .text, only: Set<String>? = nil, created: Bool = false) {
    self.format = format
    self.only = only
    self.created = created
  }
}
