import WeirIO

/// An exchange's use of its destination's pace: what it has waited, and what it has been promised. An object, so that an
/// exchange at a destination without a pace stays small. Confined to the loop.
final class PaceUse {
  private let destination: DestinationState
  /// When the exchange has to be over.
  @exclusivity(unchecked) var deadline = MonotonicTime.distantFuture
  /// Seconds that its attempts have waited for their turns.
  @exclusivity(unchecked) var waited = 0.0
  /// The turn that was taken for a second attempt, until that begins.
  @exclusivity(unchecked) private var rivalTurn: PaceMachine.Ticket?
  /// Whether a retry has been promised a turn and has not asked for it.
  @exclusivity(unchecked) private var hasPromise = false

  init(of destination: DestinationState) {
    self.destination = destination
  }

  deinit { forgetsRetry() }

  /// Whether a retry would get its turn in time. If so, it is promised.
  func promisesRetry(
    by settings: PaceSettings, after delay: Double, until deadline: MonotonicTime, isRepair: Bool,
    at now: MonotonicTime
  ) -> Bool {
    if hasPromise { return true }
    hasPromise = destination.promisesRetry(
      by: settings, after: delay, waited: waited, until: deadline, isRepair: isRepair, at: now)
    return hasPromise
  }

  /// Whether an attempt has been promised its turn, for which it asks now.
  func takePromise() -> Bool {
    defer { hasPromise = false }
    return hasPromise
  }

  func forgetsRetry() {
    if takePromise() { destination.forgetsRetry() }
  }

  /// Takes a turn for a second attempt; false if it would have to wait.
  func takesRivalTurn(by settings: PaceSettings, at now: MonotonicTime) -> Bool {
    rivalTurn = destination.takeTurn(settings, at: now)
    return rivalTurn != nil
  }

  func takeRivalTurn() -> PaceMachine.Ticket? { rivalTurn.take() }

  func leavesRivalTurn(at now: MonotonicTime) {
    if let turn = takeRivalTurn() { destination.leavePace(turn, at: now) }
  }
}
