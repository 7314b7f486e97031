import Synchronization
import WeirIO

// How the ends of attempts reach a destination's circuit and its adaptive limit.
extension DestinationState {
  /// Asks the circuit for a pass.
  ///
  /// - Parameter pass: The pass from before the wait for a slot; it is kept if the circuit has not changed since.
  /// - Returns: The answer, and for monitors the state that the circuit has entered, if it has changed.
  func passCircuit(
    _ pass: Circuit.Pass?, _ settings: CircuitBreaker, at now: MonotonicTime
  ) -> (answer: Circuit.Answer, entered: CircuitState?) {
    fields.withLock { fields in
      var circuit = fields.circuit ?? Circuit(at: now)
      let before = fields.circuit?.state
      let answer = pass.flatMap { circuit.isValid($0) ? .admitted($0) : nil } ?? circuit.ask(settings, at: now)
      fields.circuit = circuit
      return (answer, circuit.state == before ? nil : circuit.state)
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
  func isRejecting(_ settings: CircuitBreaker, at now: MonotonicTime) -> Bool {
    fields.withLock { $0.circuit?.rejection(settings, at: now) != nil }
  }

  /// An answer came after this many seconds, or was waited for as long in vain.
  ///
  /// - Returns: The limit, at most once a second, for monitors; else nil.
  func answered(
    after seconds: Double, inVain: Bool, _ settings: AdaptiveConcurrency, at now: MonotonicTime
  ) -> Int? {
    let (through, report) = fields.withLock { fields -> ([Admission<Waiter>.Entry], Int?) in
      // Nil if ``forgetLimit()`` has removed it meanwhile.
      guard var limit = fields.limit else { return ([], nil) }
      let hasStepped = limit.answered(
        after: seconds, inVain: inVain, underWay: fields.admission.taken, settings, at: now)
      fields.limit = limit
      let through = hasStepped ? fields.admission.resize(to: limit.slots) : []
      guard hasStepped || fields.lastLimitReport == nil else { return (through, nil) }
      if let last = fields.lastLimitReport, now.nanoseconds - last.nanoseconds < 1_000_000_000 { return (through, nil) }
      fields.lastLimitReport = now
      return (through, limit.slots)
    }
    for entry in through { entry.waiter() }
    return report
  }

  /// Forgets the adaptive limit: the number of slots is again the one without a limit.
  func forgetLimit() {
    let through = fields.withLock { fields in
      fields.limit = nil
      return fields.admission.slots == slots ? [] : fields.admission.resize(to: slots)
    }
    for entry in through { entry.waiter() }
  }
}
