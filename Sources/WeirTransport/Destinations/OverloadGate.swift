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

  enum Arrival {
    case letThrough(Ticket)
    case waits(Ticket)
    case refused(ShedReason)
    case queueFull
  }

  /// A decision about an attempt that has waited, for its waiter. It is told once the lock is free.
  struct Answer: Sendable {
    let waiter: Waiter
    /// Nil: it has a slot.
    let refusal: ShedReason?
  }

  /// The capacity for waiters that is kept while there are none.
  private static let idleCapacity = 16

  private(set) var machine: OverloadMachine
  /// Whether requests come without load control now.
  var isRetired = false
  private var waiters: [Ticket: Waiter] = [:]
  /// The state that observers know.
  private var told = OverloadState.normal
  private var reported: OverloadMachine.Report

  init(_ settings: OverloadSettings, slots: Int, at now: MonotonicTime) {
    machine = OverloadMachine(settings, slots: slots, at: now)
    reported = machine.report(at: now)
  }

  /// The destination has another number of slots.
  mutating func resize(slots: Int) { machine.resize(slots: slots) }

  // MARK: Waiting

  /// - Parameters:
  ///   - hasFreeSlot: Whether the attempt could have a slot at once.
  ///   - maximumWaiting: The number of attempts that may wait.
  mutating func arrived(
    _ caller: Caller, hasFreeSlot: Bool, maximumWaiting: Int, at now: MonotonicTime, _ waiter: () -> Waiter
  ) -> Arrival {
    machine.follow(caller.settings)
    if waiters.count >= maximumWaiting {
      // The time that has passed may have ended abandoned work, or shown that the upstream has ceased to answer.
      machine.woke(at: now)
      let waits = !machine.silence.refuses && !(hasFreeSlot && waiters.isEmpty && machine.hasPlace)
      if waits { return .queueFull }
    }
    switch machine.arrived(priority: caller.priority, timeout: caller.timeout, hasFreeSlot: hasFreeSlot, at: now) {
    case .letThrough(let ticket): return .letThrough(ticket)
    case .refused(let reason): return .refused(reason)
    case .waits(let ticket):
      waiters[ticket] = waiter()
      return .waits(ticket)
    }
  }

  /// The decisions that are due about waiting attempts. Each attempt that is let through takes a slot.
  mutating func answers(_ admission: inout Admission<Waiter>, at now: () -> MonotonicTime) -> [Answer] {
    if waiters.isEmpty { return [] }
    let now = now()
    var answers: [Answer] = []
    while let verdict = machine.verdict(hasFreeSlot: admission.hasFreeSlot, at: now) {
      let (ticket, refusal): (Ticket, ShedReason?) =
        switch verdict {
        case .letThrough(let ticket): (ticket, nil)
        case .refused(let ticket, let reason): (ticket, reason)
        }
      guard let waiter = takeWaiter(ticket) else { continue }
      if refusal == nil { _ = admission.take() }
      answers.append(Answer(waiter: waiter, refusal: refusal))
    }
    return answers
  }

  /// Takes an attempt out of the waiting room, and returns its waiter. Nil if the attempt no longer waits: the decision
  /// about it is on its way then, and the attempt counts as never sent.
  mutating func leave(_ ticket: Ticket, _ departure: Departure, at now: MonotonicTime) -> Waiter? {
    guard let waiter = takeWaiter(ticket) else {
      machine.neverSent(ticket, at: now)
      return nil
    }
    ended(ticket, departure, at: now)
    return waiter
  }

  private mutating func takeWaiter(_ ticket: Ticket) -> Waiter? {
    defer { if waiters.isEmpty, waiters.capacity > Self.idleCapacity { waiters = [:] } }
    return waiters.removeValue(forKey: ticket)
  }

  // MARK: On the wire

  mutating func joined(at now: MonotonicTime) -> Ticket { machine.joined(at: now) }

  mutating func neverSent(_ ticket: Ticket, at now: MonotonicTime) { machine.neverSent(ticket, at: now) }

  mutating func uploads(_ ticket: Ticket) { machine.uploads(ticket) }

  mutating func hasUploaded(_ ticket: Ticket, at now: MonotonicTime) { machine.hasUploaded(ticket, at: now) }

  mutating func answered(_ ticket: Ticket, status: Int, at now: MonotonicTime) {
    machine.answered(ticket, status: status, at: now)
  }

  mutating func ended(_ ticket: Ticket, _ departure: Departure, at now: MonotonicTime) {
    switch departure {
    case .callerGaveUp: machine.callerGaveUp(ticket, at: now)
    case .failed: machine.ended(ticket, .failed, at: now)
    case .timedOut: machine.ended(ticket, .timedOut, at: now)
    case .withdrawn: machine.ended(ticket, .withdrawn, at: now)
    }
  }

  // MARK: Time and reports

  mutating func woke(at now: MonotonicTime) { machine.woke(at: now) }

  var nextWake: MonotonicTime? { waiters.isEmpty ? nil : machine.nextWake }

  /// Whether no attempt waits, and none is on the wire without a head.
  var isIdle: Bool { waiters.isEmpty && machine.ledger.onWire == 0 }

  /// The state, if observers don't know it yet.
  mutating func takeNewState() -> OverloadState? {
    let state = machine.state
    if state == told { return nil }
    told = state
    return state
  }

  /// The values now, and what happened since the last report.
  mutating func takeReport(at now: MonotonicTime) -> OverloadReport {
    let present = machine.report(at: now)
    defer { reported = present }
    return OverloadReport(present, since: reported)
  }
}

extension OverloadReport {
  fileprivate init(_ present: OverloadMachine.Report, since last: OverloadMachine.Report) {
    self.init(
      state: present.state, limit: present.limit, used: present.used, baseline: present.baseline,
      serviceRate: present.rate)
    offered = present.totals.arrivals - last.totals.arrivals
    served = present.totals.heads - last.totals.heads
    for reason in ShedReason.allCases {
      let count = present.totals.refused[reason] - last.totals.refused[reason]
      if count > 0 { shed[reason] = count }
    }
    silence = present.silence ?? (present.lastSilence == last.lastSilence ? nil : present.lastSilence?.seconds)
    probes.faster = present.probes.faster - last.probes.faster
    probes.same = present.probes.same - last.probes.same
    probes.aborted = present.probes.aborted - last.probes.aborted
  }
}

/// How an attempt left its destination without an answer.
package enum Departure: Sendable {
  /// The client of the gateway left, or the user cancelled the request.
  case callerGaveUp
  /// The destination refused or broke the connection.
  case failed
  /// It ran into a time limit of this process.
  case timedOut
  /// The end says nothing about the destination: a second attempt lost, or the session ended.
  case withdrawn
}
