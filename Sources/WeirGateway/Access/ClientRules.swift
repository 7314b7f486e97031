/// The clients that may use a listener or a route.
struct ClientRules: Hashable, Sendable {
  /// The clients that are allowed; nil for all.
  var allow: ClientNetworks?
  /// The clients that are refused, even if they are allowed.
  var deny = ClientNetworks()

  func admit(_ client: ClientAddress) -> Bool {
    if deny.contains(client) { return false }
    return allow?.contains(client) ?? true
  }
}
