import Synchronization
import WeirIO

/// The state that a process keeps per destination. Sessions of one process may share it, so it is locked, not
/// loop-confined.
package final class DestinationState: Sendable {
  /// Tells a waiter that it has a slot, or why it is refused one: by posting a job to its loop, never at once. Slots are
  /// given up in the middle of other steps. If thousands of waiters ended as soon as they were admitted, each would do
  /// so inside the one before.
  typealias Waiter = @Sendable (ShedReason?) -> Void

  /// A request's first question for a slot, by which the request counts as started.
  struct Start {
    /// False for a request that is itself another client's retry.
    var earnsRetryBudget = true
    /// Whether the asking session reports on its destinations.
    var isObserved = false
  }

  /// The answer to the question for an attempt's first slot.
  struct Answer {
    enum Decision {
      /// With the ticket of load control, if there is one.
      case granted(OverloadMachine.Ticket?)
      case waiting(SlotTicket)
      case queueFull
      case refused(ShedReason)
    }

    var decision: Decision
    /// When to call ``DestinationState/wokeOverload(at:)`` at the latest; nil without load control.
    var wake: MonotonicTime?
    /// The state that load control has entered, if it has changed.
    var entered: OverloadState?
    /// Whether the asker is to report on the destination from now on, as no other session does.
    var beginsWatch = false
  }

  // Internal, as the extensions on the circuit and on load control use them.
  struct Fields: Sendable {
    var admission: Admission<Waiter>
    var retries: RetryLedger
    /// Whether a session reports on the destination.
    var isWatched = false
    /// The budget that is reported.
    var reportedBudget: RetryBudget?
    /// Whether it was reported after the last request that counts in it had left its window.
    var isBudgetSettled = false
    var lastAsked: MonotonicTime
    /// Nil until a request comes with a circuit breaker.
    var circuit: Circuit?
    /// Nil until a request comes with load control.
    var gate: OverloadGate?
  }

  package let destination: Destination
  let fields: Mutex<Fields>
  /// Nil until an attempt comes with a pace.
  let pace = Mutex<PaceGate?>(nil)
  /// Nil, and not consulted, until a request hedges by a quantile.
  private let latencies = Mutex<RecentLatencies?>(nil)
  private let watchesLatencies = Atomic(false)

  init(
    destination: Destination, slots: Int, maximumWaiting: Int, maximumParked: Int = TransportLimits.usualParked,
    now: MonotonicTime = .now
  ) {
    self.destination = destination
    fields = Mutex(
      Fields(
        admission: Admission(slots: slots, maximumWaiting: maximumWaiting, maximumParked: maximumParked),
        retries: RetryLedger(at: now), lastAsked: now))
  }

  package convenience init(_ destination: Destination, limits: TransportLimits) {
    self.init(
      destination: destination, slots: limits.slots, maximumWaiting: limits.waiting, maximumParked: limits.parked)
  }

  // MARK: Slots

  /// The numbers of slots taken, transfers parked, and attempts waiting for their first slot.
  var occupancy: [Int] { fields.withLock { [$0.admission.taken, $0.admission.parked, $0.admission.waiting] } }

  /// Whether no attempt is under way, or waits for load control or a slot.
  package var isIdle: Bool {
    fields.withLock { fields in
      fields.admission.taken + fields.admission.parked + fields.admission.waiting == 0 && fields.gate?.isIdle ?? true
    }
  }

  /// Takes other numbers of slots and of parked transfers. Attempts that wait get the slots that are free now.
  ///
  /// - Parameter limits: Called under the lock: of threads that resize at once, the last one takes the latest numbers. Nil
  ///   if nothing changes.
  package func resize(_ limits: () -> (slots: Int, parked: Int)?) {
    let (admitted, departed, answers) = fields.withLock { fields in
      var admitted: [Admission<Waiter>.Entry] = []
      if let (slots, parked) = limits() {
        admitted = fields.admission.resize(slots: slots, maximumParked: parked)
        fields.gate?.machine.resize(slots: fields.admission.slots)
      }
      return (admitted, fields.admission.takeDeparted(), fields.answers(at: .now))
    }
    withExtendedLifetime(departed) {}
    for entry in admitted { entry.waiter(nil) }
    for each in answers { each.waiter(each.refusal) }
  }

  /// When a first slot was last asked for, or the destination became known.
  var lastAsked: MonotonicTime { fields.withLock { $0.lastAsked } }

  /// Asks for an attempt's first slot.
  ///
  /// - Parameters:
  ///   - start: Nil when the request counts as started already.
  ///   - caller: Nil without load control.
  func ask(
    _ start: Start?, _ caller: OverloadGate.Caller?, at now: MonotonicTime, _ waiter: () -> Waiter
  ) -> Answer {
    let (answer, answers) = fields.withLock { fields in
      fields.lastAsked = now
      // Once requests come without load control, it lives on only for the attempts that began with it.
      fields.gate?.isRetired = caller == nil
      var answer = Answer(decision: fields.ask(caller, at: now, waiter))
      if let start {
        answer.beginsWatch = (start.isObserved || caller != nil) && !fields.isWatched
        if answer.beginsWatch {
          fields.isWatched = true
          fields.isBudgetSettled = false
        }
        switch answer.decision {
        case .granted, .waiting: fields.retries.started(at: now, earnsRetryBudget: start.earnsRetryBudget)
        // A request that is turned away puts nothing on the destination that would have to be retried.
        case .queueFull, .refused: break
        }
      }
      guard caller != nil else { return (answer, [OverloadGate.Answer]()) }
      let answers = fields.answers(at: now)
      answer.entered = fields.gate?.takeNewState()
      answer.wake = fields.gate?.nextWake
      return (answer, answers)
    }
    for each in answers { each.waiter(each.refusal) }
    return answer
  }

  func askAgain(_ waiter: @autoclosure () -> Waiter) -> Admission<Waiter>.Answer {
    fields.withLock { $0.admission.askAgain(waiter()) }
  }

  /// Whether a second attempt may start beside another one now.
  var hasPlaceBeside: Bool { fields.withLock { $0.hasPlaceBeside } }

  /// Takes a slot for a second attempt beside another one, if it may start.
  func takePlaceBeside() -> Bool { fields.withLock { $0.hasPlaceBeside && $0.admission.take() } }

  /// Returns whether the slot was given up; if not, the transfer keeps it.
  func park() -> Bool {
    let (isParked, next) = changeAdmission { $0.park() }
    next?.waiter(nil)
    return isParked
  }

  func unpark() {
    fields.withLock { $0.admission.unpark() }
  }

  /// Returns whether the slot was given up for good; if not, the reader is one of those that are ended.
  func drain(to reader: SlowReader) -> Bool {
    let (next, ended) = changeAdmission { $0.drain(to: reader) }
    next?.waiter(nil)
    for each in ended { each.end() }
    return !ended.contains { $0 === reader }
  }

  func forget(_ reader: SlowReader) {
    fields.withLock { $0.admission.forget(reader) }
  }

  func release() {
    changeAdmission { $0.release() }?.waiter(nil)
  }

  /// An attempt that waits for a slot leaves. If load control has let it through already, its slot comes and goes back.
  /// Returns the state that load control has entered, if observers don't know it yet.
  @discardableResult
  func withdraw(
    _ ticket: SlotTicket, _ ending: AttemptEnding, at now: @autoclosure () -> MonotonicTime
  ) -> OverloadState? {
    switch ticket {
    case .first(let ticket): changeAdmission { $0.withdraw(ticket) }
    case .again(let ticket): changeAdmission { $0.withdrawAgain(ticket) }
    case .controlled(let ticket):
      let now = now()
      var left: Waiter?
      let (answers, entered) = fields.withLock { fields in
        fields.control(at: now) { left = $0.leave(ticket, ending, at: now) }
      }
      for each in answers { each.waiter(each.refusal) }
      // The waiter holds objects of the caller, which must not be deallocated under the lock.
      withExtendedLifetime(left) {}
      return entered
    }
    return nil
  }

  /// Changes the admission. Entries that left the queue are released after the lock, as they hold objects of the
  /// caller. A slot that is free now may go to an attempt that waits for load control.
  private func changeAdmission<Answer>(_ change: (inout Admission<Waiter>) -> Answer) -> Answer {
    let (answer, departed, answers) = fields.withLock {
      (change(&$0.admission), $0.admission.takeDeparted(), $0.answers(at: .now))
    }
    withExtendedLifetime(departed) {}
    for each in answers { each.waiter(each.refusal) }
    return answer
  }

  // MARK: Retries

  /// Whether a retry is within the budget; a nil budget is unlimited. If it is, it counts from now on.
  func grantsRetry(by budget: RetryBudget?, at now: MonotonicTime) -> Bool {
    fields.withLock { fields in
      if let budget { fields.reportedBudget = budget }
      return fields.retries.grant(by: budget, at: now)
    }
  }

  /// Whether a retry would be within the budget.
  func hasRetry(by budget: RetryBudget?, at now: MonotonicTime) -> Bool {
    guard let budget else { return true }
    return fields.withLock { $0.retries.available(of: budget, at: now) >= 1 }
  }

  /// Sets the budget that is reported, until a retry is asked for with another one.
  func reportsRetries(of budget: RetryBudget?) {
    fields.withLock { $0.reportedBudget = budget }
  }

  /// The reports that are due, at most once a second.
  struct Reports {
    /// The retries that the budget would grant.
    var availableRetries: Double?
    var overload: OverloadReport?
    /// The state that load control has entered, if it has changed.
    var entered: OverloadState?
    /// Whether there is nothing left to report. If so, the next request's session begins to report again.
    var areLast = false
    /// The pauses of its pace; nil if there is nothing new.
    var pause: PauseReport?
  }

  /// Seconds without a request after which load control forgets the destination.
  static let overloadMemory = 600.0
  /// The same for a session that reports on more destinations than a table remembers.
  static let shortOverloadMemory = 30.0

  /// Reports on the destination, and lets its load control see that time has passed.
  ///
  /// - Parameter isOneOfMany: Whether the session reports on more destinations than a table remembers.
  func takeReports(at now: MonotonicTime, isOneOfMany: Bool = false) -> Reports {
    let pause = pace.withLock { $0?.takeReport(at: now) }
    let memory = isOneOfMany ? Self.shortOverloadMemory : Self.overloadMemory
    let (reports, answers) = fields.withLock { fields in
      var reports = Reports(pause: pause)
      let window = fields.reportedBudget?.boundedWindow ?? RetryBudget.windows.lowerBound
      let isQuiet = fields.retries.isQuiet(for: window, at: now)
      if let budget = fields.reportedBudget, !isQuiet || !fields.isBudgetSettled {
        reports.availableRetries = fields.retries.available(of: budget, at: now)
      }
      fields.isBudgetSettled = isQuiet
      let (answers, entered) = fields.control(at: now) { $0.machine.woke(at: now) }
      reports.overload = fields.gate?.machine.takeReport(at: now)
      reports.entered = entered
      let isUnused = now.seconds(since: fields.lastAsked) >= memory
      if let gate = fields.gate, gate.isIdle, gate.isRetired || isUnused {
        fields.gate = nil
        if gate.machine.state != .normal { reports.entered = .normal }
        // No answer has ended this silence.
        if gate.machine.state == .silent { reports.overload?.silence = nil }
        reports.overload?.state = .normal
        // Nothing is limited any more, and no later report would say so.
        reports.overload?.limit = fields.admission.slots
        reports.overload?.used = 0
      }
      reports.areLast = isQuiet && fields.gate == nil && pause?.left ?? 0 == 0
      if reports.areLast { fields.isWatched = false }
      return (reports, answers)
    }
    for each in answers { each.waiter(each.refusal) }
    return reports
  }

  /// Lets go of what is reported soon after the last attempt, unless another one comes.
  package func retire() {
    fields.withLock { fields in
      fields.reportedBudget = nil
      fields.gate?.isRetired = true
    }
  }

  /// The reporting session stops reporting.
  func isWatchedNoMore() {
    fields.withLock { $0.isWatched = false }
  }
}

// The latencies of responses, for hedges by quantile.
extension DestinationState {
  /// Whether latencies are to be recorded.
  var watchesLatency: Bool { watchesLatencies.load(ordering: .relaxed) }

  func note(latency seconds: Double) {
    latencies.withLock { $0?.note(seconds, at: .now) }
  }

  /// The latency that this share of the recent responses did not exceed, in seconds; nil when too few are known. The
  /// first call starts the recording.
  func latency(quantile share: Double) -> Double? {
    latencies.withLock { latencies in
      if latencies == nil { latencies = RecentLatencies() }
      watchesLatencies.store(true, ordering: .relaxed)
      return latencies?.quantile(share, at: .now)
    }
  }
}

extension DestinationState.Fields {
  fileprivate mutating func ask(
    _ caller: OverloadGate.Caller?, at now: MonotonicTime, _ waiter: () -> DestinationState.Waiter
  ) -> DestinationState.Answer.Decision {
    guard let caller else {
      return switch admission.ask(waiter()) {
      case .admitted: .granted(nil)
      case .waiting(let ticket): .waiting(.first(ticket))
      case .queueFull: .queueFull
      }
    }
    if gate == nil { gate = OverloadGate(caller.settings, slots: admission.slots, at: now) }
    return gate?.arrived(caller, &admission, at: now, waiter) ?? .queueFull
  }

  fileprivate var hasPlaceBeside: Bool {
    admission.hasFreeSlot && (gate.map { $0.isRetired || $0.machine.allowsHedge } ?? true)
  }
}

// How the ends of attempts reach a destination's circuit.
extension DestinationState {
  /// Asks the circuit for a pass.
  ///
  /// - Parameter pass: The pass from before the wait for a slot; it is kept if the circuit has not changed since.
  /// - Returns: The pass; nil if the circuit rejects. For monitors the state that the circuit has entered, if it has changed.
  func passCircuit(
    _ pass: Circuit.Pass?, at now: MonotonicTime
  ) -> (pass: Circuit.Pass?, entered: CircuitState?) {
    fields.withLock { fields in
      var circuit = fields.circuit ?? Circuit(at: now)
      let before = fields.circuit?.state
      let valid = pass.flatMap { circuit.isValid($0) ? $0 : nil } ?? circuit.ask(at: now)
      fields.circuit = circuit
      return (valid, circuit.state == before ? nil : circuit.state)
    }
  }

  /// Gives the pass back. Returns the state that the circuit has entered, if it has changed.
  func ended(
    _ pass: Circuit.Pass, _ ending: Circuit.Ending, _ settings: CircuitBreaker, at now: MonotonicTime
  ) -> CircuitState? {
    fields.withLock { fields in
      let before = fields.circuit?.state
      fields.circuit?.ended(pass, ending, settings, at: now)
      let after = fields.circuit?.state
      return after == before ? nil : after
    }
  }

  /// Whether an attempt would be rejected now.
  func isRejecting(at now: MonotonicTime) -> Bool {
    fields.withLock { $0.circuit?.rejects(at: now) ?? false }
  }
}

/// The place of an attempt that waits for a slot of its destination.
enum SlotTicket: Sendable {
  case first(UInt64)
  case again(UInt64)
  /// In the waiting room of load control.
  case controlled(OverloadMachine.Ticket)
}
