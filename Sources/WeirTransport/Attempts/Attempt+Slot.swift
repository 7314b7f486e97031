import WeirCurl
package import WeirIO

// An attempt's way to its first slot, by the queue of its destination or by load control.
extension Attempt {
  func ask() {
    let now = MonotonicTime.now
    if let rejection = passCircuit(at: now) { return reject(withdrawn: rejection) }
    let start = terms.takeStart(isObserved: transport.watchesDestinations)
    let answer = lease.ask(start, terms.caller(at: now), at: now, waiter)
    if let state = lease.destination {
      if answer.beginsWatch { transport.watch(state, budget: terms.retryBudget) }
      if let wake = answer.wake { transport.wake(state, at: wake) }
    }
    switch answer.decision {
    case .granted: granted(machine.question, now)
    case .waiting: startTimer(seconds: transport.limits.admissionTimeout)
    case .queueFull: reject(.queueFull)
    case .refused(let reason): shed(reason)
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
    shed(reason)
  }

  /// Seconds after which a refused request may be repeated.
  private static let repeatAfter = 1.0

  private func shed(_ reason: ShedReason) {
    exchange.observer?.exchange(exchange, wasShed: reason)
    reject(.overloaded(reason: reason, retryAfter: Self.repeatAfter))
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
      guard let delegate, delegate.attemptMayStart(self) else { return lease.giveBack() }
      stopTimer()
    } else {
      if let waited = lease.waited(until: now) { tally.waited(waited) }
      countsAgain()
    }
    lease.granted(at: now)
    perform(machine.granted())
  }

  func withdraw() {
    tell(lease.withdraw(departure))
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
    if machine.stage == .draining {
      unwanted.isGivenUp = true
      delegate?.attemptReceiverIsLate(self)
    } else if machine.hasStarted {
      // The rest of an unwanted body does not come: a new connection is cheaper than waiting.
      unwanted.isGivenUp = true
      transfer?.cancel()
    } else if machine.wait == .first, delegate?.attemptAwaitsSlot(self) ?? false {
      departure = .timedOut
      perform(machine.withdraw())
      reject(.admissionTimeout)
    }
  }
}
