import Synchronization
package import WeirIO

/// The admission of one exchange's attempts at its destination: a start that counts once, and retries and second attempts
/// within the budget, all of them only while the circuit admits them. Confined to the loop.
package final class ExchangeAdmission {
  @exclusivity(unchecked) private var destination: DestinationState?
  package let controls: DestinationControls
  /// The budget of the exchange, or else that of the controls. Nil means unlimited.
  @exclusivity(unchecked) package var retryBudget: RetryBudget?
  /// False for a request that declares itself another client's retry (``AttemptHeader``).
  @exclusivity(unchecked) package var earnsRetryBudget = true
  /// The priority of the request, 0 to 7, the lower the sooner (`u` of RFC 9218 section 4.1).
  @exclusivity(unchecked) package var priority: Int
  /// Until when the caller has announced to wait; nil if it has not.
  @exclusivity(unchecked) package var callerLeaves: MonotonicTime?
  /// The endpoints that were tried; nil before the first attempt at one.
  @exclusivity(unchecked) var endpointHistory: EndpointHistory?
  /// The retries that no rule was asked about, as no connection could be opened.
  package var connectRetries: Int { endpointHistory?.connectRetries ?? 0 }
  /// The name of the endpoint to which the last attempt went; nil without one.
  package var lastEndpoint: String? { endpointHistory?.last?.name }
  /// Its use of the destination's pace; nil before the first.
  @exclusivity(unchecked) private var paceUse: PaceUse?
  @exclusivity(unchecked) private var kept: AnyObject?
  /// Whether the exchange counts as started at its destination.
  @exclusivity(unchecked) private var isCounted = false

  package init(
    _ controls: DestinationControls, state: DestinationState? = nil, earnsRetryBudget: Bool = true, priority: Int = 3,
    callerLeaves: MonotonicTime? = nil
  ) {
    self.controls = controls
    self.priority = priority
    self.callerLeaves = callerLeaves
    destination = state
    self.earnsRetryBudget = earnsRetryBudget
    retryBudget = controls.retryBudget
  }

  // Stored under other names, since code in other modules checks each access to a stored property.

  /// Nil without a destination; then nothing is limited.
  package var state: DestinationState? {
    get { destination }
    set { destination = newValue }
  }

  /// A value that an observer keeps with the exchange.
  package var note: AnyObject? {
    get { kept }
    set { kept = newValue }
  }

  /// The facts about the exchange for the first question for a slot; nil from the second question on.
  func takeStart(isObserved: Bool) -> DestinationState.Start? {
    if isCounted { return nil }
    isCounted = true
    return DestinationState.Start(earnsRetryBudget: earnsRetryBudget, isObserved: isObserved)
  }

  /// The facts about the exchange for load control; nil if the destination has none.
  func caller(at now: MonotonicTime) -> OverloadGate.Caller? {
    guard let settings = controls.overload else { return nil }
    return OverloadGate.Caller(
      settings: settings, priority: priority, timeout: callerLeaves.map { $0.seconds(since: now) })
  }

  /// Whether the circuit would reject another attempt now.
  private func isRejected(at now: MonotonicTime) -> Bool {
    guard controls.circuitBreaker != nil, let state else { return false }
    return state.isRejecting(at: now)
  }

  /// The exchange's use of its destination's pace.
  func use(of destination: DestinationState) -> PaceUse {
    if let paceUse { return paceUse }
    let use = PaceUse(of: destination)
    paceUse = use
    return use
  }

  /// Bounds the waits for the pace by the time of the whole exchange, where the destination has a pace. The client's is
  /// ``callerLeaves``.
  package func limitWaits(to deadline: MonotonicTime) {
    if controls.pace != nil, let destination { use(of: destination).deadline = deadline }
  }

  /// The priority in the queue for a turn: the caller's counts where it does for load control.
  var pacePriority: Int { controls.overload?.priority ?? false ? priority : 3 }

  /// The verdict on a retry that rules or retriers wish for: what the body, the deadline, the circuit, load control, the
  /// pace and the budget say, in this order, so that a retry that is denied for another reason costs no budget. Its turn is
  /// taken when it begins.
  ///
  /// - Parameter isFree: Whether the retry needs no budget, as it is no sign of a destination in trouble.
  package func verdict(
    on wish: RetryDecision, canReplayBody: Bool, deadline: MonotonicTime, at now: MonotonicTime = .now,
    isFree: () -> Bool = { false }
  ) -> RetryDecision {
    let decision = wish.permitted(canReplayBody: canReplayBody, deadline: deadline, now: now)
    guard case .retry(let delay, _, _, _) = decision, let state else { return decision }
    if isRejected(at: now) { return .deny(.breaker) }
    let isFree = isFree()
    if !isFree, controls.overload != nil, !state.allowsRetry { return .deny(.overload) }
    if let pace = controls.pace,
      !use(of: state).promisesRetry(by: pace, after: delay, until: deadline, isRepair: isFree, at: now)
    {
      return .deny(.pace)
    }
    if isFree || state.grantsRetry(by: retryBudget, at: now) { return decision }
    paceUse?.forgetsRetry()
    return .deny(.budget)
  }

  /// Whether there would be room for a second attempt now.
  package func mayHedge(at now: MonotonicTime = .now) -> Bool {
    guard let state else { return true }
    return !isRejected(at: now) && state.hasPlaceBeside && state.hasRetry(by: retryBudget, at: now)
  }

  /// Takes a slot and a retry of the budget for a second attempt; takes neither if one of them is missing.
  package func takesHedge(at now: MonotonicTime = .now) -> Bool {
    guard let state else { return true }
    guard !isRejected(at: now), state.takePlaceBeside() else { return false }
    let hasTurn = controls.pace.map { use(of: state).takesRivalTurn(by: $0, at: now) } ?? true
    if hasTurn, state.grantsRetry(by: retryBudget, at: now) { return true }
    paceUse?.leavesRivalTurn(at: now)
    state.release()
    return false
  }

  /// Seconds after which a second attempt starts beside a slow one; nil if none does.
  package func seconds(of delay: HedgeDelay) -> Double? {
    switch delay {
    case .seconds(let seconds): max(0, seconds)
    case .quantile(let share): state?.latency(quantile: share)
    }
  }
}

/// Limits on the attempts of a request at its destination: the settings of a session, or of a gateway's route. It is an
/// object, as every request refers to it.
package final class DestinationControls: Sendable {
  /// Nil means unlimited retries.
  package let retryBudget: RetryBudget?
  /// Nil means no circuit.
  package let circuitBreaker: CircuitBreaker?
  /// Nil means that the number of slots is the only limit.
  package let overload: OverloadSettings?
  /// Nil means that attempts begin as soon as they may.
  package let pace: PaceSettings?
  /// Greater than that of all controls that were made before.
  let order = DestinationControls.orders.wrappingAdd(1, ordering: .relaxed).newValue

  private static let orders = Atomic<UInt64>(0)

  package init(
    retryBudget: RetryBudget?, circuitBreaker: CircuitBreaker? = nil, overload: OverloadSettings? = nil,
    pace: PaceSettings? = nil
  ) {
    self.retryBudget = retryBudget
    self.circuitBreaker = circuitBreaker
    self.overload = overload
    self.pace = pace
  }
}
