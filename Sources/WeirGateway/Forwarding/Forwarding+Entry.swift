// What a request must pass before its route's action: the order in which limits and access rules are asked.
extension Forwarding {
  /// Whether the request may enter the route that was found for it. If not, it has been answered, or it waits and will
  /// ask again.
  func enters(_ index: Int) -> Bool {
    route = index
    if let door = plan.plan.doors?[index], !isAllowed(by: door.clients) { return false }
    guard isWithinSize(index) else { return false }
    if let door = plan.plan.doors?[index], !isAuthenticated(at: door) { return false }
    return isWithinLimits(index)
  }
}
