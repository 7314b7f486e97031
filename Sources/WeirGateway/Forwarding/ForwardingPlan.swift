/// A configuration, prepared for forwarding. Immutable and shared by all workers; a reload makes a new one, and requests
/// under way end by the one they began with.
final class ForwardingPlan: Sendable {
  struct RoutePlan: Sendable {
    let route: Route
    let headers: HeaderPolicy
  }

  let table: RouteTable
  let routes: [RoutePlan]

  /// - Parameter pseudonym: names this gateway in Via.
  init(_ configuration: Configuration, pseudonym: String) {
    table = RouteTable(configuration.routes)
    routes = configuration.routes.map { route in
      RoutePlan(route: route, headers: HeaderPolicy(route: route, pseudonym: pseudonym))
    }
  }

  /// A name that no other gateway on the way has, so that a request that comes back is known.
  static func pseudonym(using random: inout some RandomNumberGenerator) -> String {
    let digits = String(UInt32.random(in: 0 ... .max, using: &random), radix: 16)
    return "weir-" + String(repeating: "0", count: 8 - digits.count) + digits
  }
}
