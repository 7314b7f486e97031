import WeirCurl
import WeirIO

// What an attempt asks of its destination's circuit, and what the destination learns of its end.
extension Attempt {
  /// What the end of an attempt without a final head says of its destination.
  package struct Ending {
    let outcome: RequestOutcome
    let isSilence: Bool

    /// - Parameters:
    ///   - outcome: That of the failure.
    ///   - isSilence: Whether the transfer itself took too long, and not the exchange.
    package init(_ outcome: RequestOutcome, isSilence: Bool) {
      self.outcome = outcome
      self.isSilence = isSilence
    }
  }

  /// Asks the circuit for a pass, or whether the one from before the wait for a slot still counts. Returns why not.
  func passCircuit(at now: MonotonicTime) -> Rejection? {
    guard let breaker = controls.circuitBreaker, let destination = lease.destination else { return nil }
    let (answer, entered) = destination.passCircuit(pass, breaker, at: now)
    if let entered { transport.tell(destination.destination, entered) }
    switch answer {
    case .admitted(let pass):
      self.pass = pass
      return nil
    case .rejected(let retryAfter):
      pass = nil
      return .circuitOpen(retryAfter: retryAfter)
    }
  }

  /// Gives the pass back without having used it.
  func returnPass() {
    if pass != nil { end(.abandoned, at: .now) }
  }

  /// Notes how long the final head took, or that it took longer, for those who hedge by that.
  package func noteLatency() {
    if let destination = lease.destination, destination.watchesLatency {
      destination.note(latency: tally.elapsed(.now))
    }
  }

  /// Tells the destination of the final head. The body's fate, and how soon the receiver takes it, shows nothing of the
  /// destination's health.
  package func answered(_ status: Int) {
    hasAnswered = true
    guard pass != nil || controls.adaptiveConcurrency != nil else { return }
    let now = MonotonicTime.now
    let ending: Circuit.Ending = status >= 500 ? .failed : .succeeded
    if pass != nil { end(ending, at: now) }
    if ending == .succeeded, let seconds = transfer?.report().phases[.processing] {
      answered(after: seconds, inVain: false, at: now)
    }
  }

  /// Whether the destination wants to know of an end without a final head.
  var hearsOfEnds: Bool { !hasAnswered && (pass != nil || controls.adaptiveConcurrency != nil) }

  /// Tells the destination how an attempt ended that had no final head.
  ///
  /// - Parameter ending: Nil where it says nothing of the destination.
  func tellEnd(_ ending: Ending?, _ report: AttemptReport, at now: MonotonicTime) {
    if pass != nil { end(circuitEnding(ending, report), at: now) }
    // A server that breaks off at once is no fast one; a wait in vain shows that answers take longer.
    if ending?.outcome == .timeout, let seconds = report.phases[.processing] {
      answered(after: seconds, inVain: true, at: now)
    }
  }

  private func answered(after seconds: Double, inVain: Bool, at now: MonotonicTime) {
    guard let adaptive = controls.adaptiveConcurrency, let destination = lease.destination else { return }
    if let limit = destination.answered(after: seconds, inVain: inVain, adaptive, at: now) {
      transport.tell(destination.destination, concurrencyLimit: limit)
    }
  }

  private func end(_ ending: Circuit.Ending, at now: MonotonicTime) {
    guard let pass, let breaker = controls.circuitBreaker, let destination = lease.destination else { return }
    self.pass = nil
    if let entered = destination.ended(pass, ending, breaker, at: now) {
      transport.tell(destination.destination, entered)
    }
  }

  private func circuitEnding(_ ending: Ending?, _ report: AttemptReport) -> Circuit.Ending {
    guard let ending else { return .abandoned }
    switch ending.outcome {
    // The deadline, in the middle of the request's body: it may have been the caller who was slow. A silence is the other
    // side's, as it does not count while the body waits for its source.
    case .timeout where !ending.isSilence && report.phases[.send] != nil && report.phases[.processing] == nil:
      return .abandoned
    case .transportError, .timeout, .tlsError: return .failed
    default: return .abandoned
    }
  }
}
