import Synchronization
import WeirIO

// The pace of a destination's attempts. It has a lock of its own, as attempts ask it before they ask for a slot.
extension DestinationState {
  /// An attempt asks for its turn.
  ///
  /// - Parameters:
  ///   - order: That of the controls that have the settings.
  ///   - isPromised: Whether it is a retry that ``promisesRetry(by:after:until:isRepair:at:)`` has granted.
  /// - Returns: The answer, and when to call ``wokePace(at:)`` at the latest.
  func askPace(
    _ settings: PaceSettings, order: UInt64, priority: Int, timeout: Double?, isRetry: Bool, isPromised: Bool,
    at now: MonotonicTime, _ waiter: () -> PaceGate.Waiter
  ) -> (arrival: PaceMachine.Arrival, wake: MonotonicTime?) {
    let (arrival, answers, wake) = withPace(settings, at: now) { gate in
      gate.follow(settings, order: order, at: now)
      if isPromised { gate.machine.promise(false) }
      let arrival = gate.arrived(priority: priority, timeout: timeout, isRetry: isRetry, at: now, waiter)
      return (arrival, gate.answers(at: now), gate.machine.nextWake(at: now))
    }
    for answer in answers { answer.waiter(answer.refusal) }
    return (arrival, wake)
  }

  /// Takes a turn for a second attempt beside another one; nil if it would have to wait.
  func takeTurn(_ settings: PaceSettings, at now: MonotonicTime) -> PaceMachine.Ticket? {
    withPace(settings, at: now) { $0.machine.takeTurn(at: now) }
  }

  /// Whether a retry would get its turn in time. If so, it counts as waiting until it asks, or ``forgetsRetry()``.
  func promisesRetry(
    by settings: PaceSettings, after delay: Double, waited: Double = 0, until deadline: MonotonicTime, isRepair: Bool,
    at now: MonotonicTime
  ) -> Bool {
    withPace(settings, at: now) { gate in
      let isAllowed = gate.machine.allowsRetry(
        after: delay, waited: waited, by: deadline, isRepair: isRepair, at: now)
      if isAllowed { gate.machine.promise(true) }
      return isAllowed
    }
  }

  /// A retry that was promised will not ask.
  func forgetsRetry() { pace.withLock { $0?.machine.promise(false) } }

  /// An attempt has its turn, and waits for a slot.
  func awaitsSlot(_ ticket: PaceMachine.Ticket) { pace.withLock { $0?.machine.waitsForSlot(ticket) } }

  /// Whether the turn of an attempt that has waited for a slot still counts.
  func beginsTurn(_ ticket: PaceMachine.Ticket, at now: MonotonicTime) -> Bool {
    pace.withLock { $0?.machine.begins(ticket, at: now) ?? true }
  }

  /// An attempt has its final head. Returns the report of a pause that begins with it, and when to call
  /// ``wokePace(at:)``.
  func answeredPace(
    _ settings: PaceSettings, _ ticket: PaceMachine.Ticket?, pause: Double?, at now: MonotonicTime
  ) -> (report: PauseReport?, wake: MonotonicTime?) {
    let (report, answers, wake) = withPace(settings, at: now) { gate in
      let begins = gate.machine.answered(ticket, pause: pause, at: now)
      let report = begins ? gate.takeReport(at: now) : nil
      return (report, gate.answers(at: now), gate.machine.nextWake(at: now))
    }
    for answer in answers { answer.waiter(answer.refusal) }
    return (report, wake)
  }

  /// An attempt with a turn has ended without a final head. Returns when to call ``wokePace(at:)``.
  @discardableResult
  func endedPace(_ ticket: PaceMachine.Ticket, at now: MonotonicTime) -> MonotonicTime? {
    changePace(at: now) { $0.machine.ended(ticket, at: now) }
  }

  /// An attempt leaves that waits for its turn, or has sent nothing with it. Returns when to call ``wokePace(at:)``.
  @discardableResult
  func leavePace(_ ticket: PaceMachine.Ticket, at now: MonotonicTime) -> MonotonicTime? {
    var left: PaceGate.Waiter?
    // The waiter holds objects of the caller, which must not be deallocated under the lock.
    defer { withExtendedLifetime(left) {} }
    return changePace(at: now) { left = $0.leave(ticket, at: now) }
  }

  /// Time has passed while attempts wait for their turns. Returns when to call again; nil when none waits.
  func wokePace(at now: MonotonicTime) -> MonotonicTime? {
    changePace(at: now) { _ in }
  }

  private func changePace(at now: MonotonicTime, _ change: (inout PaceGate) -> Void) -> MonotonicTime? {
    let (answers, wake) = pace.withLock { gate in
      gate?.perform(change)
      return (gate?.answers(at: now) ?? [], gate?.machine.nextWake(at: now))
    }
    for answer in answers { answer.waiter(answer.refusal) }
    return wake
  }

  private func withPace<Answer>(
    _ settings: PaceSettings, at now: MonotonicTime, _ body: (inout PaceGate) -> Answer
  ) -> Answer {
    pace.withLock { gate in
      var present = gate.take() ?? PaceGate(settings, at: now)
      defer { gate = present }
      return body(&present)
    }
  }
}

extension PaceGate {
  /// Changes the gate in its place: an optional that is unwrapped otherwise is copied.
  fileprivate mutating func perform(_ change: (inout PaceGate) -> Void) { change(&self) }
}
