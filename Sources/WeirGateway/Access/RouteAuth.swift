import WeirExporter

/// The credentials that a route asks its clients for.
struct RouteAuth: Sendable, Equatable {
  /// The users and tokens.
  var rules: AccessRules
  /// The realm of the challenges; nil for the route's name.
  var realm: String?
  /// Whether the upstream gets the credentials.
  var forwards = false
}
