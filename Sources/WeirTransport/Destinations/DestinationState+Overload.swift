import Synchronization
import WeirIO

// How a destination's load control hears of its attempts. Each call returns the state that the control has entered, if
// observers don't know it yet.
extension DestinationState {
  /// Puts an attempt on the wire beside another one. Returns its ticket; nil without load control.
  func joinsOverload(at now: MonotonicTime) -> OverloadMachine.Ticket? {
    fields.withLock { $0.gate?.joined(at: now) }
  }

  /// An attempt that waits leaves. If it was let through already, its slot comes and goes back.
  func leave(
    _ ticket: OverloadMachine.Ticket, _ departure: Departure, at now: MonotonicTime
  ) -> OverloadState? {
    var left: Waiter?
    let entered = control(at: now) { left = $0.leave(ticket, departure, at: now) }
    // The waiter holds objects of the caller, which must not be deallocated under the lock.
    withExtendedLifetime(left) {}
    return entered
  }

  /// An attempt that was let through is not sent.
  func neverSent(_ ticket: OverloadMachine.Ticket, at now: MonotonicTime) {
    control(at: now) { $0.neverSent(ticket, at: now) }
  }

  func uploads(_ ticket: OverloadMachine.Ticket) {
    fields.withLock { $0.gate?.uploads(ticket) }
  }

  @discardableResult
  func hasUploaded(_ ticket: OverloadMachine.Ticket, at now: MonotonicTime) -> OverloadState? {
    control(at: now) { $0.hasUploaded(ticket, at: now) }
  }

  func answered(_ ticket: OverloadMachine.Ticket, status: Int, at now: MonotonicTime) -> OverloadState? {
    control(at: now) { $0.answered(ticket, status: status, at: now) }
  }

  func ended(_ ticket: OverloadMachine.Ticket, _ departure: Departure, at now: MonotonicTime) -> OverloadState? {
    control(at: now) { $0.ended(ticket, departure, at: now) }
  }

  /// Time has passed while attempts wait. Returns also when to call again at the latest; nil when none waits.
  func wokeOverload(at now: MonotonicTime) -> (entered: OverloadState?, next: MonotonicTime?) {
    let (answers, entered, next) = fields.withLock { fields in
      let (answers, entered) = fields.control(at: now) { $0.woke(at: now) }
      return (answers, entered, fields.gate?.nextWake)
    }
    for answer in answers { answer.waiter(answer.refusal) }
    return (entered, next)
  }

  /// Whether load control lets a retry start. The retry's budget is another question.
  var allowsRetry: Bool { fields.withLock { $0.gate?.machine.allowsRetry ?? true } }

  /// Whether a give-up after so many seconds on the wire is a failure of the destination.
  func isFailure(givenUpAfter seconds: Double) -> Bool {
    fields.withLock { $0.gate?.machine.isFailure(givenUpAfter: seconds) } ?? (seconds > 1)
  }

  @discardableResult
  private func control(at now: MonotonicTime, _ change: (inout OverloadGate) -> Void) -> OverloadState? {
    let (answers, entered) = fields.withLock { $0.control(at: now, change) }
    for answer in answers { answer.waiter(answer.refusal) }
    return entered
  }
}

extension DestinationState.Fields {
  mutating func control(
    at now: MonotonicTime, _ change: (inout OverloadGate) -> Void
  ) -> (answers: [OverloadGate.Answer], entered: OverloadState?) {
    gate?.perform(change)
    return (answers(at: now), gate?.takeNewState())
  }

  /// The decisions that are due about attempts that wait for load control. To be told once the lock is free.
  mutating func answers(at now: @autoclosure () -> MonotonicTime) -> [OverloadGate.Answer] {
    gate?.answers(&admission, at: now) ?? []
  }
}

extension OverloadGate {
  /// Changes the gate in its place: an optional that is unwrapped otherwise is copied.
  fileprivate mutating func perform(_ change: (inout OverloadGate) -> Void) { change(&self) }
}
