import Synchronization
import WeirIO

// How the ends of attempts reach a destination's circuit.
extension DestinationState {
  /// Asks the circuit for a pass.
  ///
  /// - Parameter pass: The pass from before the wait for a slot; it is kept if the circuit has not changed since.
  /// - Returns: The answer, and for monitors the state that the circuit has entered, if it has changed.
  func passCircuit(
    _ pass: Circuit.Pass?, at now: MonotonicTime
  ) -> (answer: Circuit.Answer, entered: CircuitState?) {
    fields.withLock { fields in
      var circuit = fields.circuit ?? Circuit(at: now)
      let before = fields.circuit?.state
      let answer = pass.flatMap { circuit.isValid($0) ? .admitted($0) : nil } ?? circuit.ask(at: now)
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
  func isRejecting(at now: MonotonicTime) -> Bool {
    fields.withLock { $0.circuit?.rejects(at: now) ?? false }
  }
}
