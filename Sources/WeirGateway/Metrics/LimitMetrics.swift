import Synchronization
import WeirMetrics

/// The metrics of the limits on routes' requests. Only routes with such limits have series.
final class LimitMetrics: Sendable {
  private static let labels = ["route", "limit", "enforced"]

  private let limited: CounterFamily<(String, String, String)>
  /// The labels of the present limits, and of those of routes that are gone but not from the page.
  private let known = Mutex<Set<[String]>>([])

  init(_ registry: Registry) throws(RegistryError) {
    limited = try registry.counter(
      "weir_gateway_limited_total", help: "Requests that exceeded a limit of their route, by whether it was enforced.",
      seriesLimit: 2 * Configuration.maximumRoutes * (RouteLimits.mostRates + RouteLimits.mostConcurrency),
      labels: "route", "limit", "enforced")
  }

  /// Makes the series of routes' limits at zero. Those of limits that a route no longer has go at once, and those of
  /// routes that are gone with ``remove(_:)``.
  func prepare(_ routes: [Route]) {
    let present = Set(routes.flatMap { route in route.limits.labels.map { [route.name, $0.limit, $0.enforced] } })
    let names = Set(routes.map(\.name))
    let gone = known.withLock { known in
      let gone = known.subtracting(present).filter { names.contains($0[0]) }
      known = known.subtracting(gone).union(present)
      return gone
    }
    limited.removeAll(LabelChoice(Self.labels, Array(gone)))
    for route in routes { _ = series(of: route.limits, route: route.name) }
  }

  /// The series of a route's limits, in the order in which they are asked.
  func series(of limits: RouteLimits, route: String) -> [Counter] {
    limits.labels.map { limited.with(route, $0.limit, $0.enforced) }
  }

  func remove(_ gone: LabelChoice, of routes: [String]) {
    let routes = Set(routes)
    known.withLock { known in known = known.filter { !routes.contains($0[0]) } }
    limited.removeAll(gone)
  }
}
