import WeirCurl
package import WeirIO

// An attempt's way to its first slot, by the queue of its destination or by load control. Its turn by the pace comes before.
extension Attempt {
  func askForSlot() {
    let now = MonotonicTime.now
    if let rejection = passCircuit(at: now) { return reject(withdrawn: rejection) }
    let start = admission.takeStart(isObserved: transport.watchesDestinations)
    let answer = lease.ask(start, admission.caller(at: now), at: now, waiter)
    if let state = lease.destination {
      if answer.beginsWatch { transport.watch(state, budget: admission.retryBudget) }
      if let wake = answer.wake { transport.wake(state, at: wake) }
    }
    switch answer.decision {
    case .granted: granted(machine.question, now)
    case .waiting:
      startTimer(seconds: transport.limits.admissionTimeout)
      if turn != nil { holdsTurn() }
    case .queueFull: reject(.queueFull)
    case .refused(let reason): shed(reason, retryAfter: Self.repeatAfter)
    }
    tell(answer.entered)
  }

  /// Makes the closure to call when the slot for the present question is there, or refused.
  func waiter() -> DestinationState.Waiter {
    let bound = LoopBound(confining: self, on: transport.loop)
    return { [question = machine.question] refusal in
      bound.loop.post {
        if let refusal { bound.value.refused(question, refusal) } else { bound.value.granted(question, .now) }
      }
    }
  }

  /// Load control refuses the attempt after a wait. The caller may have left meanwhile.
  private func refused(_ question: AttemptMachine.Question, _ reason: ShedReason) {
    guard machine.awaits(question) else { return }
    stopTimer()
    perform(machine.withdraw())
    shed(reason, retryAfter: Self.repeatAfter)
  }

  /// Seconds after which a request that load control refused may be repeated.
  private static let repeatAfter = 1.0

  func shed(_ reason: ShedReason, retryAfter: Double) {
    exchange.observer?.exchange(exchange, wasShed: reason)
    reject(.overloaded(reason: reason, retryAfter: retryAfter))
  }

  /// The destination has a slot for the attempt. If the attempt no longer waits, or the caller has just cancelled, the
  /// slot goes back at once. Load control has been told by ``withdraw()`` then; the attempt may have asked again since.
  private func granted(_ question: AttemptMachine.Question, _ now: MonotonicTime) {
    guard machine.awaits(question) else { return lease.release() }
    if machine.wait == .first {
      // The circuit may have opened meanwhile.
      if let rejection = passCircuit(at: now) {
        lease.giveBack()
        return reject(withdrawn: rejection)
      }
      guard let delegate, delegate.attemptMayStart(self) else {
        if turn != nil { returnTurn() }
        return lease.giveBack()
      }
      if turn != nil, !hasTurn(at: now) { return }
      stopTimer()
    } else {
      if let waited = lease.waited(until: now) { costs.waited(waited) }
      countsAgain()
    }
    lease.granted(at: now)
    steer(machine.granted())
  }

  func withdraw() {
    if turn != nil, !machine.hasStarted { returnTurn() }
    tell(lease.withdraw(cancelReason))
    if !machine.hasStarted { stopTimer() }
  }

  private func reject(withdrawn reason: Rejection) {
    perform(machine.withdraw())
    reject(reason)
  }

  func reject(_ reason: Rejection) { delegate?.attempt(self, wasRejected: reason) }
}

extension Attempt: TimerHandler {
  package func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if let limit, timer === limit.timer {
      limitIsReached(limit)
    } else if machine.stage == .draining {
      unwanted.isGivenUp = true
      delegate?.attemptReceiverIsLate(self)
    } else if machine.hasStarted {
      // The rest of an unwanted body does not come: a new connection is cheaper than waiting.
      unwanted.isGivenUp = true
      transfer?.cancel()
    } else if machine.wait == .first, delegate?.attemptAwaitsSlot(self) ?? false {
      cancelReason = .timedOut
      perform(machine.withdraw())
      reject(.admissionTimeout)
    }
  }
}

/// An attempt's share of its destination's slots: a slot it holds, or a ticket for one.
///
/// Without a destination there is no slot to count, and every question is granted. Such an attempt fails soon for want
/// of a host.
struct SlotLease {
  let destination: DestinationState?
  private var ticket: SlotTicket?
  /// The ticket of an attempt that load control has let through, until its final head or its end.
  private(set) var pass: OverloadMachine.Ticket?
  /// When a slot was last asked for, and when that slot was granted.
  private var asked: MonotonicTime?
  private(set) var grantedAt: MonotonicTime?
  /// The slow receiver of the response, if there is one.
  var reader: SlowReader?

  init(_ destination: DestinationState?) {
    self.destination = destination
  }

  /// Seconds from the last question for a slot to the answer, or to `now`; nil when the attempt never asked.
  func waited(until now: MonotonicTime) -> Double? { asked.map { (grantedAt ?? now).seconds(since: $0) } }

  /// Asks for a first slot. If the attempt has to wait, the closure that `waiter` makes is called with the decision.
  ///
  /// - Parameters:
  ///   - start: Nil when the request counts as started already.
  ///   - caller: Nil without load control.
  mutating func ask(
    _ start: DestinationState.Start?, _ caller: OverloadGate.Caller?, at now: MonotonicTime,
    _ waiter: () -> DestinationState.Waiter
  ) -> DestinationState.Answer {
    asked = now
    grantedAt = nil
    guard let destination else { return DestinationState.Answer(decision: .granted(nil)) }
    let answer = destination.ask(start, caller, at: now, waiter)
    switch answer.decision {
    case .granted(let pass): self.pass = pass
    case .waiting(let ticket): self.ticket = ticket
    case .queueFull, .refused: break
    }
    return answer
  }

  /// Asks for a slot ahead of the attempts that never had one; true when it is granted at once.
  mutating func askAgain(_ waiter: @autoclosure () -> DestinationState.Waiter) -> Bool {
    guard case .waiting(let ticket)? = destination?.askAgain(waiter()) else { return true }
    self.ticket = .again(ticket)
    asked = .now
    grantedAt = nil
    return false
  }

  /// Takes the question back. Returns the state that load control has entered, if it has changed.
  mutating func withdraw(_ ending: AttemptEnding) -> OverloadState? {
    ticket.take().flatMap { destination?.withdraw($0, ending, at: .now) }
  }

  /// The slot that was asked for is there.
  mutating func granted(at now: MonotonicTime) {
    if case .controlled(let ticket)? = ticket { pass = ticket }
    ticket = nil
    grantedAt = now
  }

  /// The attempt has a slot that was taken for it, beside another attempt.
  mutating func joins(hasControl: Bool, at now: MonotonicTime) {
    if hasControl { pass = destination?.joinsOverload(at: now) }
    granted(at: now)
  }

  /// Gives back a slot with which nothing was sent.
  mutating func giveBack() {
    if pass == nil, case .controlled(let ticket)? = ticket { pass = ticket }
    ticket = nil
    if let unused = takePass() {
      let now = MonotonicTime.now
      destination?.control(at: now) { $0.neverSent(unused, at: now) }
    }
    release()
  }

  func release() { destination?.release() }

  /// Gives the slot up and keeps the connection; false when too many connections of the destination are parked.
  func park() -> Bool { destination?.park() ?? false }

  /// Gives the slot up for good, as the response drains to its slow reader; false if this is the reader to be ended.
  func drain() -> Bool { reader.flatMap { destination?.drain(to: $0) } ?? false }

  /// The connection is no longer parked.
  func unpark() {
    if let reader { destination?.forget(reader) } else { destination?.unpark() }
  }

  /// Takes the ticket with which load control is told of the attempt's end. Nil without load control, or once taken.
  mutating func takePass() -> OverloadMachine.Ticket? { pass.take() }
}
