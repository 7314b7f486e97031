import WeirCurl

/// The last five minutes of a subject: a chart of 60 buckets of five seconds, and more detail of the whole.
struct TrafficRing {
  /// A bucket of the chart.
  private struct Point {
    var requests: UInt32 = 0
    var failed: UInt32 = 0
    var retriesWanted: UInt32 = 0
    /// Negative without requests.
    var p99: Float = -1
  }

  private var spans = SpanRing<TrafficCounts>()
  private var points = [Point](repeating: Point(), count: StatusReport.History.count - 1)
  /// The oldest of the points.
  private var oldest = 0

  /// The bucket that is not over yet.
  var present: TrafficCounts {
    get { spans.present }
    _modify { yield &spans.present }
  }

  /// Ends the present bucket.
  mutating func turn(_ bounds: TrafficBounds) {
    points[oldest] = point(of: present, bounds)
    oldest = (oldest + 1) % points.count
    spans.turn()
  }

  private func point(of counts: TrafficCounts, _ bounds: TrafficBounds) -> Point {
    Point(
      requests: counts.requests, failed: counts.failed, retriesWanted: counts.retriesWanted,
      p99: quantile(0.99, counts.durations, bounds: bounds.durations).map(Float.init) ?? -1)
  }

  /// - Parameter seconds: How long the present bucket has lasted.
  func traffic(presentFor seconds: Double, _ bounds: TrafficBounds) -> StatusReport.Traffic {
    var traffic = StatusReport.Traffic()
    let length = Double(StatusReport.History.bucketSeconds)
    traffic.last10s = window(spans.last10s, seconds + length * Double(spans.bucketsIn10s), bounds)
    traffic.last5m = window(spans.last5m, seconds + length * Double(spans.bucketsIn5m), bounds)
    traffic.history = history(bounds)
    return traffic
  }

  private func history(_ bounds: TrafficBounds) -> StatusReport.History {
    var history = StatusReport.History()
    let all = points[oldest...] + points[..<oldest] + [point(of: present, bounds)]
    for (index, point) in all.enumerated() {
      history.requests[index] = Int(point.requests)
      history.failed[index] = Int(point.failed)
      history.retriesWanted[index] = Int(point.retriesWanted)
      history.p99[index] = point.p99 < 0 ? nil : Double(point.p99)
    }
    return history
  }

  private func window(_ counts: TrafficCounts, _ seconds: Double, _ bounds: TrafficBounds) -> StatusReport.Window {
    var window = StatusReport.Window()
    window.seconds = seconds
    window.requests = Int(counts.requests)
    window.failed = Int(counts.failed)
    window.outcomes = Self.named(counts.outcomes)
    window.attempts = Int(counts.attempts)
    window.retries = Self.named(counts.retries)
    window.denied = Int(counts.denied)
    window.limited = Int(counts.limited)
    window.shed = Int(counts.shed)
    window.abandoned = Int(counts.abandoned)
    if bounds.tellsOfRetries, counts.requests > 0 {
      window.retryDemand = Double(counts.retriesWanted) / Double(counts.requests)
    }
    window.observations = counts.durations.reduce(0) { $0 + Int($1) }
    window.p50 = quantile(0.5, counts.durations, bounds: bounds.durations)
    window.p99 = quantile(0.99, counts.durations, bounds: bounds.durations)
    window.phases = Self.phases.compactMap { phase in
      guard let observed = counts.phases[phase], let p50 = quantile(0.5, observed, bounds: bounds.phases),
        let p99 = quantile(0.99, observed, bounds: bounds.phases)
      else { return nil }
      return StatusReport.Phase(name: phase, p50: p50, p99: p99)
    }
    return window
  }

  private static let phases = Phase.allCases.map(\.name)

  private static func named(_ counts: [String: UInt32]) -> [StatusReport.Named] {
    counts.filter { $0.value > 0 }.map { StatusReport.Named($0.key, Int($0.value)) }
      .sorted { $0.count != $1.count ? $0.count > $1.count : $0.name < $1.name }
  }
}

/// The traits that all subjects of a table share.
struct TrafficBounds {
  /// The bounds of the histograms' buckets.
  var durations: [Double] = []
  var phases: [Double] = []
  /// Whether there is a metric of retries.
  var tellsOfRetries = false
}
