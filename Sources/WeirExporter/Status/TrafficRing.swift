import WeirCurl

/// The last five minutes of a subject: a chart of 60 buckets of five seconds, if it is wanted, and more detail of the whole.
struct TrafficRing {
  /// A bucket of the chart.
  private struct Point {
    var requests: UInt32 = 0
    var failed: UInt32 = 0
    var retriesWanted: UInt32 = 0
    /// Negative without requests.
    var p99: Float = -1
  }

  var spans = SpanRing<TrafficCounts>()
  /// Empty without a chart.
  private var points: [Point]
  /// The oldest of the points.
  private var oldest = 0

  init(hasChart: Bool) {
    points = hasChart ? [Point](repeating: Point(), count: StatusReport.History.count - 1) : []
  }

  /// Ends the present bucket.
  mutating func turn(_ bounds: TrafficBounds) {
    if !points.isEmpty {
      points[oldest] = point(of: spans.present, bounds)
      oldest = (oldest + 1) % points.count
    }
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
    if !points.isEmpty { traffic.history = history(bounds) }
    return traffic
  }

  private func history(_ bounds: TrafficBounds) -> StatusReport.History {
    let all = points[oldest...] + points[..<oldest] + [point(of: spans.present, bounds)]
    return StatusReport.History(
      requests: all.map { Int($0.requests) }, failed: all.map { Int($0.failed) },
      retriesWanted: all.map { Int($0.retriesWanted) }, p99: all.map { $0.p99 < 0 ? nil : Double($0.p99) })
  }

  private func window(_ counts: TrafficCounts, _ seconds: Double, _ bounds: TrafficBounds) -> StatusReport.Window {
    let hasDemand = bounds.tellsOfRetries && counts.requests > 0
    let phases = Self.phases.compactMap { phase -> StatusReport.Phase? in
      guard let observed = counts.phases[phase], let p50 = quantile(0.5, observed, bounds: bounds.phases),
        let p99 = quantile(0.99, observed, bounds: bounds.phases)
      else { return nil }
      return StatusReport.Phase(name: phase, p50: p50, p99: p99)
    }
    return StatusReport.Window(
      seconds: seconds, requests: Int(counts.requests), failed: Int(counts.failed),
      outcomes: Self.named(counts.outcomes), attempts: Int(counts.attempts), retries: Self.named(counts.retries),
      denied: Int(counts.denied), limited: Int(counts.limited), shed: Int(counts.shed),
      paced: Int(counts.paced),
      abandoned: Int(counts.abandoned),
      retryDemand: hasDemand ? Double(counts.retriesWanted) / Double(counts.requests) : nil,
      p50: quantile(0.5, counts.durations, bounds: bounds.durations),
      p99: quantile(0.99, counts.durations, bounds: bounds.durations),
      observations: counts.durations.reduce(0) { $0 + Int($1) }, phases: phases)
  }

  private static let phases = Phase.allCases.map(\.name)

  private static func named(_ counts: [String: UInt32]) -> [StatusReport.Named] {
    counts.filter { $0.value > 0 }.map { StatusReport.Named(name: $0.key, count: Int($0.value)) }
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

/// Counts that can be added up.
package protocol SpanCounts {
  init()
  mutating func add(_ other: Self)
}

/// The counts of the last ten seconds and in the last five minutes: buckets of five seconds, of which the earlier
/// ones are kept as pieces of half a minute.
package struct SpanRing<Counts: SpanCounts> {
  private static var pieces: Int { 9 }
  private static var bucketsPerPiece: Int { 6 }

  /// The bucket that is not over yet.
  package var present = Counts()
  /// The two buckets before it, the latest first.
  private var before = (Counts(), Counts())
  /// Buckets of the present piece that are over.
  private var piece = Counts()
  /// The pieces before it, the oldest first.
  private var earlier: [Counts] = []
  /// Buckets that are over since the ring began.
  private var over = 0

  package init() {}

  /// Ends the present bucket.
  package mutating func turn() {
    piece.add(present)
    before = (present, before.0)
    present = Counts()
    over += 1
    guard over % Self.bucketsPerPiece == 0 else { return }
    earlier.append(piece)
    if earlier.count > Self.pieces { earlier.removeFirst() }
    piece = Counts()
  }

  /// The last ten seconds and the present bucket.
  package var last10s: Counts {
    var sum = present
    sum.add(before.0)
    sum.add(before.1)
    return sum
  }

  /// The last five minutes, or up to half a minute less.
  package var last5m: Counts {
    var sum = present
    sum.add(piece)
    for piece in earlier { sum.add(piece) }
    return sum
  }

  /// The buckets that are over in each of the two.
  var bucketsIn10s: Int { min(over, 2) }
  var bucketsIn5m: Int { over % Self.bucketsPerPiece + earlier.count * Self.bucketsPerPiece }
}
