/// What bounds the attempts of a request at its destination: a session's settings, or a gateway's route's. An object, as
/// each request refers to it.
package final class DestinationControls: Sendable {
  /// Nil: unlimited.
  package let retryBudget: RetryBudget?
  /// Nil: none.
  package let circuitBreaker: CircuitBreaker?
  /// Nil: the limit is the number of slots.
  package let adaptiveConcurrency: AdaptiveConcurrency?

  package init(
    retryBudget: RetryBudget?, circuitBreaker: CircuitBreaker? = nil, adaptiveConcurrency: AdaptiveConcurrency? = nil
  ) {
    self.retryBudget = retryBudget
    self.circuitBreaker = circuitBreaker
    self.adaptiveConcurrency = adaptiveConcurrency
  }
}
