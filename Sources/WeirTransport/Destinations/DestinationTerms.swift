package import WeirIO

/// What one exchange may ask of its destination: a start that counts once, retries and second attempts within the budget,
/// all of it while the circuit admits them. Confined to the loop.
package final class DestinationTerms {
  /// Nil without a destination, of which nothing is asked then.
  @exclusivity(unchecked) package var state: DestinationState?
  package let controls: DestinationControls
  /// Nil: unlimited. The exchange's own, or the controls'.
  @exclusivity(unchecked) package var retryBudget: RetryBudget?
  /// False for what says itself that it is another's retry (``AttemptHeader``).
  @exclusivity(unchecked) package var earnsRetryBudget = true
  @exclusivity(unchecked) private var kept: AnyObject?
  /// Whether it counts as started at its destination.
  @exclusivity(unchecked) private var isCounted = false

  package init(_ controls: DestinationControls, state: DestinationState? = nil, earnsRetryBudget: Bool = true) {
    self.controls = controls
    self.state = state
    self.earnsRetryBudget = earnsRetryBudget
    retryBudget = controls.retryBudget
  }

  /// What an observer knows of the destination. Not stored under this name, since other modules' code checks each access.
  package var note: AnyObject? {
    get { kept }
    set { kept = newValue }
  }

  /// What the first question for a slot tells the destination of the exchange; nil from the second on.
  func takeStart(isObserved: Bool) -> DestinationState.Start? {
    if isCounted { return nil }
    isCounted = true
    return DestinationState.Start(
      earnsRetryBudget: earnsRetryBudget, isObserved: isObserved, adaptiveConcurrency: controls.adaptiveConcurrency)
  }

  /// Whether the circuit would reject another attempt now.
  private func isRejected(at now: MonotonicTime) -> Bool {
    guard let breaker = controls.circuitBreaker, let state else { return false }
    return state.isRejecting(breaker, at: now)
  }

  /// The decision after the destination had its say, which comes last: a retry that is not made for another reason costs
  /// it nothing.
  ///
  /// - Parameter isFree: Whether the retry needs no budget.
  package func withinBudget(
    _ decision: RetryDecision, at now: MonotonicTime, isFree: () -> Bool = { false }
  ) -> RetryDecision {
    guard case .retry = decision, let state else { return decision }
    if isRejected(at: now) { return .deny(.breaker) }
    return isFree() || state.grantsRetry(by: retryBudget, at: now) ? decision : .deny(.budget)
  }

  /// Whether there would be room for a second attempt now.
  package func mayHedge(at now: MonotonicTime = .now) -> Bool {
    guard let state else { return true }
    return !isRejected(at: now) && state.hasFreeSlot && state.hasRetry(by: retryBudget, at: now)
  }

  /// Takes a slot and a retry of the budget for a second attempt, or neither.
  package func takesHedge(at now: MonotonicTime = .now) -> Bool {
    guard let state else { return true }
    guard !isRejected(at: now), state.takeFreeSlot() else { return false }
    if state.grantsRetry(by: retryBudget, at: now) { return true }
    state.release()
    return false
  }

  /// Seconds after which a second attempt starts beside a slow one; nil: none does.
  package func seconds(of delay: HedgeDelay) -> Double? {
    switch delay {
    case .seconds(let seconds): max(0, seconds)
    case .quantile(let share): state?.latency(quantile: share)
    }
  }
}
