import Synchronization
import WeirExporter

/// The credentials that a route asks its clients for.
struct RouteAuth: Sendable, Equatable {
  /// The users and tokens.
  var rules: AccessRules
  /// The realm of the challenges; nil for the route's name.
  var realm: String?
  /// Whether the upstream gets the credentials.
  var forwards = false
  /// Whether the route's requests come by forward proxies alone, whose clients give Proxy-Authorization.
  var isOfProxy = false

  /// Whether the client's Authorization is for the route alone.
  var takesAuthorization: Bool { !forwards && !isOfProxy }
}

/// The gatekeepers of the present configuration: one for each set of rules, which all workers and all routes with these
/// rules share. A reload keeps those whose rules it has again, with the credentials that they know.
final class Gatekeepers: Sendable {
  private let present = Mutex<[AccessRules: Gatekeeper]>([:])

  /// - Parameter rules: Those of all routes.
  func follow(_ rules: [AccessRules]) -> [AccessRules: Gatekeeper] {
    present.withLock { present in
      var next: [AccessRules: Gatekeeper] = [:]
      for rules in rules where next[rules] == nil {
        next[rules] = present[rules] ?? Gatekeeper(rules, limits: .gateway)
      }
      present = next
      return next
    }
  }
}
