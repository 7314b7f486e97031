import WeirIO
import WeirMetrics

/// The exporter's metrics of itself.
struct ScrapeMetrics: Sendable {
  private let scrapes: CounterFamily<String>
  private let duration: Histogram
  private let size: Histogram
  /// How long due timers of the exporter's event loop have waited.
  let loopLag: Histogram

  /// - Parameter hasAccessControl: Whether a scrape may be answered 401.
  init(_ registry: Registry, hasAccessControl: Bool = false) throws(RegistryError) {
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
    for code in ["200", "503"] + (hasAccessControl ? ["401"] : []) { _ = scrapes.with(code) }
  }

  func answered(_ page: RenderedPage, seconds: Double) {
    scrapes.with("200").increment()
    duration.observe(seconds)
    size.observe(Double(page.body.count))
  }

  func refused(status: Int) {
    scrapes.with(String(status)).increment()
  }
}

/// The facts about scrapes that the landing page shows.
struct ScrapeLog: Sendable {
  struct Answer: Sendable {
    let time: MonotonicTime
    let seconds: Double
    let variant: ScrapeRequest.Variant
    let size: Int
    let plainSize: Int
  }

  /// The number of scrapes that wait for a page at this moment.
  var waitingCount = 0
  private(set) var answerCount = 0
  private(set) var refusalCount = 0
  private(set) var lastAnswer: Answer?
  private(set) var lastRefusal: (time: MonotonicTime, status: Int)?

  mutating func answered(
    _ page: RenderedPage, _ variant: ScrapeRequest.Variant, seconds: Double, at time: MonotonicTime
  ) {
    answerCount += 1
    lastAnswer = Answer(
      time: time, seconds: seconds, variant: variant, size: page.body.count, plainSize: page.plainSize)
  }

  mutating func refused(status: Int, at time: MonotonicTime) {
    refusalCount += 1
    lastRefusal = (time, status)
  }
}
