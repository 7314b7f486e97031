// The order in which a route's limits and access rules are asked, before its action.
extension Forwarding {
  /// Whether the request may enter the route that was found for it. If not, it has been answered, or it waits and will
  /// ask again.
  func enters(_ index: Int) -> Bool {
    route = index
    let door = plan.plan.doors[index]
    guard isAllowed(by: door?.clients), isWithinSize(index) else { return false }
    if let door, !isAuthenticated(at: door) { return false }
    return isWithinLimits(index)
  }
}
