package import WeirMetrics

/// The traffic of all subjects of one kind (routes, destinations, loops), as it is read from a registry's metrics from
/// time to time. Requests pay nothing for it.
package struct TrafficTable {
  /// Subjects beyond this number share one, as `_other`.
  package static let mostSubjects = 200
  /// The same for operations of destinations.
  static let mostOperations = 5000
  package static let rest = ["_other"]

  /// The values that are what they are now.
  package struct Gauges: Sendable, Equatable {
    package var inFlight = 0.0
    package var activeAttempts = 0.0
    package var budget: Double?
    package var circuit: String?
    package var loadControl: String?
    package var limit: Double?
    package var used: Double?
  }

  package struct Subject: Sendable {
    /// The values of the labels that name it.
    package var key: [String]
    package var traffic: StatusReport.Traffic
    package var gauges: Gauges
  }

  private struct Entry {
    var ring: TrafficRing
    var gauges = Gauges()
    /// The number of the last reading that found a series of it.
    var seen = 0
  }

  /// A series, and what was read of it last.
  private struct Followed {
    let series: Series
    let key: [String]
    let split: String
    /// Whether the split label's value counts.
    let counts: Bool
    var last: [UInt32]
    var seen: Int
  }

  private let metrics: [TrafficMetric]
  private let most: Int
  private let hasCharts: Bool
  private var bounds = TrafficBounds()
  private var entries: [[String]: Entry] = [:]
  private var followed: [ObjectIdentifier: Followed] = [:]
  private var readings = 0

  /// - Parameter hasCharts: Whether the last five minutes of each subject are kept as a chart too.
  package init(_ metrics: [TrafficMetric], most: Int = mostSubjects, hasCharts: Bool = true) {
    self.metrics = metrics
    self.most = most
    self.hasCharts = hasCharts
    bounds.tellsOfRetries = metrics.contains { $0.fact == .retries }
  }

  /// Counts what has changed since the last reading. The first one only notes where everything stands.
  package mutating func read(_ registry: Registry) {
    readings += 1
    for key in entries.keys { entries[key]?.gauges = Gauges() }
    for metric in metrics {
      for series in registry.series(of: metric.name) { read(series, metric) }
    }
    entries = entries.filter { $0.value.seen == readings }
    if followed.count > 0 { followed = followed.filter { $0.value.seen == readings } }
  }

  private mutating func read(_ series: Series, _ metric: TrafficMetric) {
    let identity = ObjectIdentifier(series)
    if followed[identity] == nil { followed[identity] = follow(series, metric) }
    guard let known = followed[identity] else { return }
    followed[identity]?.seen = readings
    entries[known.key, default: Entry(ring: TrafficRing(hasChart: hasCharts))].seen = readings
    guard known.counts else { return }
    if metric.fact.isGauge {
      entries[known.key]?.gauges.set(Gauge(series).value, metric.fact, known.split)
      return
    }
    let counts = counts(of: series, metric.fact)
    let changes = known.last.isEmpty ? counts : zip(counts, known.last).map { $0 &- $1 }
    guard changes.contains(where: { $0 != 0 }) else { return }
    followed[identity]?.last = counts
    entries[known.key]?.ring.spans.present.add(changes, metric.fact, known.split)
  }

  /// The counts of a histogram by bucket, or the one of a counter.
  private mutating func counts(of series: Series, _ fact: TrafficMetric.Fact) -> [UInt32] {
    guard fact.isHistogram else { return [UInt32(truncatingIfNeeded: Int64(Counter(series).value))] }
    let snapshot = Histogram(series).snapshot
    if fact == .phases { bounds.phases = snapshot.bounds } else { bounds.durations = snapshot.bounds }
    return snapshot.counts.map { UInt32(truncatingIfNeeded: $0) }
  }

  private mutating func follow(_ series: Series, _ metric: TrafficMetric) -> Followed {
    let labels = series.labelValues
    let split = metric.split.flatMap { labels[$0] } ?? ""
    var key = metric.keys.map { labels[$0] ?? "" }
    if let index = entries.index(forKey: key) {
      // Its series share one copy of the name.
      key = entries[index].key
    } else if entries.count >= most {
      // Those of one destination share one.
      key = key.prefix(metric.keptKeys) + Self.rest
    }
    // Counts from before the first reading may be old. Later on a new series is news.
    let last = readings == 1 && !metric.fact.isGauge ? counts(of: series, metric.fact) : []
    return Followed(
      series: series, key: key, split: split, counts: metric.only?.contains(split) ?? true, last: last, seen: readings)
  }

  /// Ends the present bucket of five seconds.
  package mutating func turn() {
    for key in entries.keys { entries[key]?.ring.turn(bounds) }
  }

  /// All subjects, by name.
  /// - Parameter seconds: How long the present bucket has lasted.
  package func subjects(presentFor seconds: Double) -> [Subject] {
    entries.map { key, entry in
      Subject(key: key, traffic: entry.ring.traffic(presentFor: seconds, bounds), gauges: entry.gauges)
    }
    .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }
}

extension TrafficTable.Gauges {
  fileprivate mutating func set(_ value: Double, _ fact: TrafficMetric.Fact, _ split: String) {
    switch fact {
    case .inFlight: inFlight += value
    case .activeAttempts: activeAttempts += value
    case .budget: budget = value
    case .circuit: if value == 1 { circuit = split }
    case .loadControl: if value == 1 { loadControl = split }
    case .limit: limit = value
    case .used: used = value
    default: break
    }
  }
}
