/// The parts of access lines that a plan knows before any request. A value.
struct AccessNames {
  /// The member of each route's name; nil for a route whose requests have no lines.
  private let routes: [[UInt8]?]
  /// The member of each upstream, by the numbers of routes' plans.
  private let upstreams: [[UInt8]]

  init(_ plan: ForwardingPlan) {
    routes = plan.table.routes.map { $0.hasAccessLog ? Self.member("route", $0.name) : nil }
    var upstreams = [[UInt8]](repeating: [], count: plan.planCount)
    for route in plan.forwarding { upstreams[route.number] = Self.member("upstream", route.upstream.authority) }
    self.upstreams = upstreams
  }

  /// The member of a route's name, empty without one; nil if its requests have no lines.
  ///
  /// - Parameter route: An index into the plan's routes; −1 for none.
  func route(_ route: Int) -> [UInt8]? { route < 0 ? [] : routes[route] }

  func upstream(_ plan: RoutePlan?) -> [UInt8] { plan.map { upstreams[$0.number] } ?? [] }

  /// A member of JSON with a comma in front of it; empty for an empty value. Names of the configuration stay as they
  /// are, so that they are equal to labels of metrics.
  static func member(_ key: String, _ value: String) -> [UInt8] {
    guard !value.isEmpty else { return [] }
    var bytes = Array(",\"\(key)\":".utf8)
    JSONText.append(value, to: &bytes)
    return bytes
  }
}
