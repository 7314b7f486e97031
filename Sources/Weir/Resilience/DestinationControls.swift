/// What bounds the attempts of a request at its destination: a session's settings, or a gateway's route's.
package struct DestinationControls: Sendable {
  /// Nil: unlimited.
  package var retryBudget: RetryBudget?
  /// Nil: none.
  package var circuitBreaker: CircuitBreaker?
  /// Nil: the limit is the number of slots.
  package var adaptiveConcurrency: AdaptiveConcurrency?

  package init(
    retryBudget: RetryBudget?, circuitBreaker: CircuitBreaker? = nil, adaptiveConcurrency: AdaptiveConcurrency? = nil
  ) {
    self.retryBudget = retryBudget
    self.circuitBreaker = circuitBreaker
    self.adaptiveConcurrency = adaptiveConcurrency
  }

  init(_ configuration: SessionConfiguration) {
    retryBudget = configuration.retryBudget
    circuitBreaker = configuration.circuitBreaker
    adaptiveConcurrency = configuration.adaptiveConcurrency
  }
}
