import WeirExporter
import WeirIO
import WeirServer
import WeirTransport

// The clients that may use listeners and routes, and the credentials that routes ask for.
extension Forwarding {
  /// Whether the request may enter the route that was found for it, whose access rules and limits are asked in this order.
  /// If not, it has been answered, or it waits and will ask again.
  func enters(_ index: Int) -> Bool {
    route = index
    let door = plan.plan.doors[index]
    guard isAllowed(by: door?.clients), isWithinSize(index) else { return false }
    if let door, !isAuthenticated(at: door) { return false }
    return isWithinLimits(index)
  }

  /// Whether rules about clients let the request's client in. If not, it has been answered.
  func isAllowed(by rules: ClientRules?) -> Bool {
    guard let rules, !rules.admit(client) else { return true }
    answer(.forbidden, as: .forbidden)
    return false
  }

  /// Whether the request has valid credentials, if its route asks for them. If not, it has been answered, or it waits.
  func isAuthenticated(at door: RouteDoor) -> Bool {
    guard let gatekeeper = door.gatekeeper, !isAuthenticated else { return true }
    let address: IPAddress? = if case .ip(let address) = client { address } else { nil }
    // The exchange keeps this request as long as its client stays.
    let verdict = gatekeeper.admit(
      exchange.head.fields.combined("Authorization"), of: address, on: exchange.loop
    ) { [weak self] verdict in
      self?.isJudged(verdict, at: door)
    }
    if let verdict { return follows(verdict, at: door) }
    exchange.onAbort = { [self] in leavesDoor() }
    return false
  }

  /// A password has been checked, for which the request has waited.
  private func isJudged(_ verdict: Gatekeeper.Verdict, at door: RouteDoor) {
    if isOver { return }
    exchange.onAbort = nil
    if follows(verdict, at: door) { start(method: exchange.head.method, exchange.head) }
  }

  /// The client has left while its password was checked.
  private func leavesDoor() {
    isClientGone = true
    endWithoutClient(.cancelled)
  }

  private func follows(_ verdict: Gatekeeper.Verdict, at door: RouteDoor) -> Bool {
    switch verdict {
    case .granted(let name):
      isAuthenticated = true
      user = name
      return true
    case .denied: answer(.unauthorized(door.challenges), as: .unauthorized)
    case .barred(let seconds): answer(.tooManyPasswords(seconds: seconds), as: .unauthorized)
    case .busy: answer(.tooManyChecks, as: .busy)
    }
    return false
  }
}

extension Forwarding: RequestSender {
  var listener: [UInt8] { edge.name }
}

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
