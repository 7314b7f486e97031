import Synchronization
import WeirIO

// How a destination's load control hears of its attempts.
extension DestinationState {
  /// Tells the machine of load control what has happened. Returns the state that it has entered, if observers don't know
  /// it yet.
  @discardableResult
  func control(at now: MonotonicTime, _ event: (inout OverloadMachine) -> Void) -> OverloadState? {
    let (answers, entered) = fields.withLock { $0.control(at: now) { event(&$0.machine) } }
    for answer in answers { answer.waiter(answer.refusal) }
    return entered
  }

  /// Puts an attempt on the wire beside another one. Returns its ticket; nil without load control.
  func joinsOverload(at now: MonotonicTime) -> OverloadMachine.Ticket? {
    fields.withLock { $0.gate?.machine.joined(at: now) }
  }

  /// The attempt counts no more until the machine hears `hasUploaded` of it.
  func setsAside(_ ticket: OverloadMachine.Ticket) {
    fields.withLock { $0.gate?.machine.uploads(ticket) }
  }

  /// Time has passed while attempts wait. Returns also when to call again at the latest; nil when none waits.
  func wokeOverload(at now: MonotonicTime) -> (entered: OverloadState?, next: MonotonicTime?) {
    let (answers, entered, next) = fields.withLock { fields in
      let (answers, entered) = fields.control(at: now) { $0.machine.woke(at: now) }
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
