import WeirCurl
import WeirIO

// An attempt's questions to its destination's circuit, and its reports on how it ended.
extension Attempt {
  /// The end of an attempt without a final head, as far as it says something about the destination.
  package struct Ending {
    let outcome: RequestOutcome
    let isSilence: Bool

    /// - Parameters:
    ///   - outcome: The outcome of the failure.
    ///   - isSilence: Whether the transfer itself took too long, and not the exchange.
    package init(_ outcome: RequestOutcome, isSilence: Bool) {
      self.outcome = outcome
      self.isSilence = isSilence
    }
  }

  /// Asks the circuit for a pass, or whether the pass from before the wait for a slot is still valid. Returns the
  /// rejection, if there is one.
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

  /// Gives the pass back unused.
  func returnPass() {
    if pass != nil { end(.abandoned, at: .now) }
  }

  /// Records the time to the final head, or until the attempt was given up, for hedges by quantile.
  package func noteLatency() {
    if let destination = lease.destination, destination.watchesLatency {
      destination.note(latency: tally.elapsed(.now))
    }
  }

  /// Tells the destination of the final head. How the body goes, and how soon the receiver takes it, says nothing about
  /// the destination's health.
  package func answered(_ status: Int) {
    hasAnswered = true
    guard pass != nil || controls.adaptiveConcurrency != nil else { return }
    let now = MonotonicTime.now
    // A final head below 200 is an Upgrade that was not asked for.
    let ending: Circuit.Ending = status >= 500 || status < 200 ? .failed : .succeeded
    if pass != nil { end(ending, at: now) }
    if ending == .succeeded, let seconds = transfer?.report().phases[.processing] {
      answered(after: seconds, inVain: false, at: now)
    }
  }

  /// Whether the destination has a use for an end without a final head.
  var hearsOfEnds: Bool { !hasAnswered && (pass != nil || controls.adaptiveConcurrency != nil) }

  /// Tells the destination how an attempt without a final head ended.
  ///
  /// - Parameter ending: Nil where the end says nothing about the destination.
  func tellEnd(_ ending: Ending?, _ report: AttemptReport, at now: MonotonicTime) {
    if pass != nil { end(circuitEnding(ending, report), at: now) }
    // A server that breaks off at once is not fast. A wait in vain shows that answers take longer.
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
    // The deadline passed while the request's body was sent: perhaps the caller was slow. A silence is the server's, as
    // the time in which the body waits for its source does not count as silence.
    case .timeout where !ending.isSilence && report.phases[.send] != nil && report.phases[.processing] == nil:
      return .abandoned
    case .transportError, .timeout, .tlsError: return .failed
    default: return .abandoned
    }
  }
}
