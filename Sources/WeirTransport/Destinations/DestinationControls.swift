/// Limits on the attempts of a request at its destination: the settings of a session, or of a gateway's route. It is an
/// object, as every request refers to it.
package final class DestinationControls: Sendable {
  /// Nil means unlimited retries.
  package let retryBudget: RetryBudget?
  /// Nil means no circuit.
  package let circuitBreaker: CircuitBreaker?
  /// Nil means that the number of slots is the only limit.
  package let overload: OverloadSettings?

  package init(
    retryBudget: RetryBudget?, circuitBreaker: CircuitBreaker? = nil, overload: OverloadSettings? = nil
  ) {
    self.retryBudget = retryBudget
    self.circuitBreaker = circuitBreaker
    self.overload = overload
  }
}
