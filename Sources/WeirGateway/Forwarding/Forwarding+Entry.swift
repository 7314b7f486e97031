// What a request must pass before its route's action: the order in which limits and access rules are asked.
extension Forwarding {
  /// Whether the request may enter the route that was found for it. If not, it has been answered.
  func enters(_ index: Int) -> Bool {
    route = index
    return isWithinSize(index) && isWithinLimits(index)
  }
}
