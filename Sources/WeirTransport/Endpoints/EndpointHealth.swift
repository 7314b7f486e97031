/// The health of one endpoint by its active checks. It changes after several results in a row; without any the endpoint
/// counts as healthy.
struct EndpointHealth: Sendable {
  private(set) var isHealthy = true
  /// Results in a row that speak against the present state.
  private var contrary = 0

  /// A check has ended. Returns whether the health has changed.
  mutating func checked(isGood: Bool, _ thresholds: CheckThresholds) -> Bool {
    guard isGood != isHealthy else {
      contrary = 0
      return false
    }
    contrary += 1
    guard contrary >= (isGood ? thresholds.healthyAfter : thresholds.unhealthyAfter) else { return false }
    isHealthy = isGood
    contrary = 0
    return true
  }
}

/// How many results of active checks in a row change an endpoint's health.
package struct CheckThresholds: Sendable, Equatable {
  /// The range of both.
  package static let range = 1...100

  package let unhealthyAfter: Int
  package let healthyAfter: Int

  /// Takes the numbers. Numbers out of range count as the nearest valid ones.
  package init(unhealthyAfter: Int = 3, healthyAfter: Int = 2) {
    self.unhealthyAfter = min(max(unhealthyAfter, Self.range.lowerBound), Self.range.upperBound)
    self.healthyAfter = min(max(healthyAfter, Self.range.lowerBound), Self.range.upperBound)
  }
}
