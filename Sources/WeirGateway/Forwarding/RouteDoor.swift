import WeirExporter

/// The access rules of a route, prepared.
final class RouteDoor: Sendable {
  /// Nil if all clients may enter.
  let clients: ClientRules?
  /// Nil if no credentials are asked for.
  let gatekeeper: Gatekeeper?
  /// The challenges for clients that have to log in (RFC 9110 §11.6.1).
  let challenges: [String]

  /// Nil for a route without such rules.
  init?(_ route: Route, _ gatekeepers: [AccessRules: Gatekeeper]) {
    if route.clients == nil, route.auth == nil { return nil }
    clients = route.clients
    gatekeeper = route.auth.flatMap { gatekeepers[$0.rules] }
    challenges = route.auth.map { $0.rules.challenges(realm: $0.realm ?? route.name) } ?? []
  }

  /// The doors of routes, in their order.
  static func of(_ routes: [Route], _ gatekeepers: Gatekeepers) -> [RouteDoor?] {
    let known = gatekeepers.follow(routes.compactMap(\.auth?.rules))
    return routes.map { RouteDoor($0, known) }
  }
}
