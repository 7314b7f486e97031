/// What bounds the attempts of a request at its destination: a session's settings, or a gateway's route's.
package struct DestinationControls: Sendable {
  /// Nil: unlimited.
  package var retryBudget: RetryBudget?

  package init(retryBudget: RetryBudget?) {
    self.retryBudget = retryBudget
  }

  init(_ configuration: SessionConfiguration) {
    retryBudget = configuration.retryBudget
  }
}
