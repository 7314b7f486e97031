import WeirIO

/// The load control of one destination, with the waiters of the attempts that it lets wait. A value under the
/// destination's lock.
struct OverloadGate: Sendable {
  typealias Waiter = DestinationState.Waiter
  typealias Ticket = OverloadMachine.Ticket

  /// An attempt that asks to be let through.
  struct Caller {
    let settings: OverloadSettings
    /// 0 to 7, the lower the sooner.
    let priority: Int
    /// Seconds for which the caller has announced to wait from now on; nil if it has not.
    let timeout: Double?
  }

  /// A decision about an attempt that has waited, for its waiter. It is told once the lock is free.
  struct Answer: Sendable {
    let waiter: Waiter
    /// Nil: it has a slot.
    let refusal: ShedReason?
  }

  /// The capacity for waiters that is kept while there are none.
  private static let idleCapacity = 16

  var machine: OverloadMachine
  /// Whether requests come without load control now.
  var isRetired = false
  private var waiters: [Ticket: Waiter] = [:]
  /// The state that observers know.
  private var told = OverloadState.normal

  init(_ settings: OverloadSettings, slots: Int, at now: MonotonicTime) {
    machine = OverloadMachine(settings, slots: slots, at: now)
  }

  /// An attempt asks to be let through. If it is, it takes a slot.
  mutating func arrived(
    _ caller: Caller, _ admission: inout Admission<Waiter>, at now: MonotonicTime, _ waiter: () -> Waiter
  ) -> DestinationState.Answer.Decision {
    machine.follow(caller.settings)
    let hasFreeSlot = admission.hasFreeSlot
    if waiters.count >= admission.maximumWaiting {
      // The time that has passed may have ended abandoned work, or shown that the upstream has ceased to answer.
      machine.woke(at: now)
      let waits = !machine.silence.refuses && !(hasFreeSlot && waiters.isEmpty && machine.hasPlace)
      if waits { return .queueFull }
    }
    switch machine.arrived(priority: caller.priority, timeout: caller.timeout, hasFreeSlot: hasFreeSlot, at: now) {
    case .letThrough(let ticket):
      _ = admission.take()
      return .granted(ticket)
    case .refused(let reason): return .refused(reason)
    case .waits(let ticket):
      waiters[ticket] = waiter()
      return .waiting(.controlled(ticket))
    }
  }

  /// The decisions that are due about waiting attempts. Each attempt that is let through takes a slot.
  mutating func answers(_ admission: inout Admission<Waiter>, at now: () -> MonotonicTime) -> [Answer] {
    if waiters.isEmpty { return [] }
    let now = now()
    var answers: [Answer] = []
    while let verdict = machine.verdict(hasFreeSlot: admission.hasFreeSlot, at: now) {
      guard let waiter = takeWaiter(verdict.ticket) else { continue }
      if verdict.refusal == nil { _ = admission.take() }
      answers.append(Answer(waiter: waiter, refusal: verdict.refusal))
    }
    return answers
  }

  /// Takes an attempt out of the waiting room, and returns its waiter. Nil if the attempt no longer waits: the decision
  /// about it is on its way then, and the attempt counts as never sent.
  mutating func leave(_ ticket: Ticket, _ ending: AttemptEnding, at now: MonotonicTime) -> Waiter? {
    guard let waiter = takeWaiter(ticket) else {
      machine.neverSent(ticket, at: now)
      return nil
    }
    machine.ended(ticket, ending, at: now)
    return waiter
  }

  private mutating func takeWaiter(_ ticket: Ticket) -> Waiter? {
    defer { if waiters.isEmpty, waiters.capacity > Self.idleCapacity { waiters = [:] } }
    return waiters.removeValue(forKey: ticket)
  }

  var nextWake: MonotonicTime? { waiters.isEmpty ? nil : machine.nextWake }

  /// Whether no attempt waits, and none is on the wire without a head.
  var isIdle: Bool { waiters.isEmpty && machine.inFlight.onWire == 0 }

  /// The state, if observers don't know it yet.
  mutating func takeNewState() -> OverloadState? {
    let state = machine.state
    if state == told { return nil }
    told = state
    return state
  }
}
