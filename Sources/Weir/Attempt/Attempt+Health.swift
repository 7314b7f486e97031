import Foundation
import Synchronization
import WeirCurl
import WeirIO

// What an attempt asks of its destination's circuit, and what the destination learns of its end.
extension Attempt {
  /// Asks the circuit for a pass, or whether the one from before the wait for a slot still counts. Returns why not.
  func passCircuit(at now: MonotonicTime) -> WeirError.RequestRejectionReason? {
    guard let breaker = pipeline.controls.circuitBreaker, let destination = lease.destination else { return nil }
    let (answer, entered) = destination.passCircuit(pass, breaker, at: now)
    if let entered { core.tell(destination.destination, entered) }
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
  func noteLatency() {
    if let destination = lease.destination, destination.watchesLatency {
      destination.note(latency: tally.elapsed(.now))
    }
  }

  /// Tells the destination of the final head, where it wants to know: what comes of the body, and how soon the receiver
  /// takes it, is nothing that the destination's health shows in.
  func tellHead(_ status: Int) {
    hasAnswered = true
    guard pass != nil || pipeline.controls.adaptiveConcurrency != nil else { return }
    let now = MonotonicTime.now
    let ending: Circuit.Ending = status >= 500 ? .failed : .succeeded
    if pass != nil { end(ending, at: now) }
    if ending == .succeeded, let seconds = transfer?.report().phases[.processing] {
      answered(after: seconds, inVain: false, at: now)
    }
  }

  /// Tells the destination how an attempt ended that had no final head, where it wants to know.
  func tellEnd(_ metrics: TransferMetrics, _ error: (any Error)?, at now: MonotonicTime) {
    guard !hasAnswered, pass != nil || pipeline.controls.adaptiveConcurrency != nil else { return }
    let outcome = outcome(error)
    if pass != nil { end(ending(outcome, metrics, error), at: now) }
    // A server that breaks off at once is no fast one; who has waited in vain knows that answers take longer.
    if outcome == .timeout, let seconds = metrics.processing { answered(after: seconds, inVain: true, at: now) }
  }

  private func answered(after seconds: Double, inVain: Bool, at now: MonotonicTime) {
    guard let adaptive = pipeline.controls.adaptiveConcurrency, let destination = lease.destination else { return }
    if let limit = destination.answered(after: seconds, inVain: inVain, adaptive, at: now) {
      core.tell(destination.destination, concurrencyLimit: limit)
    }
  }

  private func end(_ ending: Circuit.Ending, at now: MonotonicTime) {
    guard let pass, let breaker = pipeline.controls.circuitBreaker, let destination = lease.destination else { return }
    self.pass = nil
    if let entered = destination.ended(pass, ending, breaker, at: now) { core.tell(destination.destination, entered) }
  }

  /// What the attempt came to without a final head; nil where that says nothing of the destination.
  private func outcome(_ error: (any Error)?) -> RequestOutcome? {
    // What ended the attempt from outside stands in the request: a deadline, say, while the task was cancelled.
    let (isCancelled, own) = request.fields.withLock { ($0.machine.state == .cancelled, $0.error) }
    guard machine.hasStarted, !isCancelled, let error else { return nil }
    if let error = error as? URLError, error.isDestinationRefused || error.isOwnDefect { return nil }
    return RequestOutcome(error: own ?? .sessionTaskFailed(error: error), status: nil)
  }

  private func ending(_ outcome: RequestOutcome?, _ metrics: TransferMetrics, _ error: (any Error)?) -> Circuit.Ending {
    switch outcome {
    // The deadline, in the middle of the request's body: it may have been the caller who was slow. A silence is the other
    // side's, as it does not count while the body waits for its source.
    case .timeout where !isTimeout(error) && metrics.send != nil && metrics.processing == nil: .abandoned
    case .transportError, .timeout, .tlsError: .failed
    default: .abandoned
    }
  }

  private func isTimeout(_ error: (any Error)?) -> Bool { (error as? URLError)?.code == .timedOut }
}
