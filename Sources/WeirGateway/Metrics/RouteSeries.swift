import WeirIO

/// Which routes have series, and since when those are of no use whose route is gone from the configuration. A value.
struct RouteSeries {
  /// The labels of a duration, but for its route.
  struct Labels: Hashable {
    var method: String
    var status: String
    var errorType: String
    var version: String
  }

  /// Seconds for which a route that is gone stays on the page, so that its last requests are seen.
  static let patience = 600.0

  private var current: Set<String> = []
  private var gone: [String: MonotonicTime] = [:]
  private var made: [String: Set<Labels>] = [:]

  mutating func follow(_ routes: Set<String>, at now: MonotonicTime) {
    for route in current.subtracting(routes) { gone[route] = now }
    for route in routes { gone[route] = nil }
    current = routes
  }

  /// A request of a route ended in a way in which none did before.
  mutating func made(_ labels: Labels, for route: String, at now: MonotonicTime) {
    if route.isEmpty { return }
    made[route, default: []].insert(labels)
    // One that began before its route was gone.
    if !current.contains(route) { gone[route] = now }
  }

  /// The routes that have been gone for long enough, with what was made for them; they are forgotten.
  mutating func expired(at now: MonotonicTime) -> [(route: String, labels: Set<Labels>)] {
    let routes = gone.filter { now.seconds(since: $0.value) >= Self.patience }.keys
    return routes.map { route in
      gone[route] = nil
      return (route, made.removeValue(forKey: route) ?? [])
    }
  }
}
