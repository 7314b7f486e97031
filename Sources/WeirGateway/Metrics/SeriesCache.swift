import WeirMetrics

/// The handles of the series that one worker has used, found by small numbers instead of by the texts of their labels.
/// Confined to the worker's loop, as is its owner.
struct SeriesCache {
  struct Key: Hashable {
    /// An index into the plan's routes; −1 if no route was found.
    var route: Int
    var method: KnownMethod
    var isHTTP10: Bool
    /// Whether the client spoke TLS.
    var isSecure = false
    /// 0 if no response was begun.
    var status: Int
    var outcome: GatewayOutcome
  }

  struct Series {
    let duration: Histogram
    let count: Counter
    /// Nil if the outcome is not a failure.
    let failed: Counter?
  }

  private let metrics: GatewayMetrics
  private let routes: [String]
  private var series: [Key: Series] = [:]
  /// The series used last, since requests of one kind mostly follow each other.
  private var lastKey: Key?
  private var lastSeries: Series?
  private let active: [Gauge]
  /// Those of clients with TLS, from the first of them on.
  private lazy var activeSecure = Self.gauges(metrics, "https")

  init(_ metrics: GatewayMetrics, routes: [String]) {
    self.metrics = metrics
    self.routes = routes
    active = Self.gauges(metrics, "http")
  }

  private static func gauges(_ metrics: GatewayMetrics, _ scheme: String) -> [Gauge] {
    KnownMethod.allCases.map { metrics.active.with($0.label, scheme) }
  }

  mutating func active(_ method: KnownMethod, isSecure: Bool = false) -> Gauge {
    isSecure ? activeSecure[Int(method.rawValue)] : active[Int(method.rawValue)]
  }

  mutating func series(_ key: Key) -> Series {
    if let lastSeries, lastKey == key { return lastSeries }
    let found = series[key] ?? add(key)
    (lastKey, lastSeries) = (key, found)
    return found
  }

  private mutating func add(_ key: Key) -> Series {
    let route = routes.indices.contains(key.route) ? routes[key.route] : ""
    // A limit for upstreams that use every possible status. Series that are in use are soon cached again.
    if series.count >= 4096 { series.removeAll(keepingCapacity: true) }
    let new = metrics.series(of: key, route: route)
    series[key] = new
    return new
  }
}
