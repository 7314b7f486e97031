import WeirMetrics

/// The exporter's metrics of itself.
struct ScrapeMetrics: Sendable {
  private let scrapes: CounterFamily<String>
  private let duration: Histogram
  private let size: Histogram
  private let loopLag: Histogram

  /// - Parameter asksWhoComes: Whether a scrape may be answered 401.
  init(_ registry: Registry, asksWhoComes: Bool = false) throws(RegistryError) {
    scrapes = try registry.counter(
      "weir_scrapes_total", help: "Requests to the metrics page, by status.", labels: "code")
    duration = try registry.histogram(
      "weir_scrape_duration_seconds",
      help: "Time from a request for the metrics page until the page was there to send.",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
    size = try registry.histogram(
      "weir_scrape_size_bytes", help: "Size of metrics pages as sent, after compression.",
      buckets: .exponential(start: 1024, factor: 4, count: 8))
    loopLag = try LoopLag.histogram(in: registry).with("metrics")
    // The codes that a scraper meets are made at zero, so that the first failure is an increase.
    for code in ["200", "503"] + (asksWhoComes ? ["401"] : []) { _ = scrapes.with(code) }
  }

  func answered(_ page: RenderedPage, seconds: Double) {
    scrapes.with("200").increment()
    duration.observe(seconds)
    size.observe(Double(page.body.count))
  }

  /// A due timer of the exporter's event loop has waited for so many seconds.
  func loopLag(_ seconds: Double) {
    loopLag.observe(seconds)
  }

  func refused(status: Int) {
    scrapes.with(String(status)).increment()
  }
}
