import Foundation
import Synchronization
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

  /// Tells the destination how the attempt ended, where it wants to know.
  func tellEnd(_ metrics: TransferMetrics, _ error: (any Error)?, at now: MonotonicTime) {
    let adaptive = pipeline.controls.adaptiveConcurrency
    guard pass != nil || adaptive != nil else { return }
    let ending = ending(metrics.statusCode, error)
    if pass != nil { end(ending, at: now) }
    guard let adaptive, let destination = lease.destination, let seconds = metrics.processing else { return }
    // Without an answer, only one that was waited for in vain says how long they take.
    guard ending == .succeeded || ending == .failed && metrics.statusCode == nil else { return }
    if let limit = destination.answered(after: seconds, adaptive, at: now) {
      core.tell(destination.destination, concurrencyLimit: limit)
    }
  }

  private func end(_ ending: Circuit.Ending, at now: MonotonicTime) {
    guard let pass, let breaker = pipeline.controls.circuitBreaker, let destination = lease.destination else { return }
    self.pass = nil
    if let entered = destination.ended(pass, ending, breaker, at: now) { core.tell(destination.destination, entered) }
  }

  private func ending(_ status: Int?, _ error: (any Error)?) -> Circuit.Ending {
    // What ended the attempt from outside stands in the request: a deadline, say, while the task was cancelled.
    let (isCancelled, own) = request.fields.withLock { ($0.machine.state == .cancelled, $0.error) }
    guard machine.hasStarted, !isCancelled else { return .abandoned }
    if let status, status >= 500 { return .failed }
    guard let error else { return .succeeded }
    // Our own no says nothing of the destination.
    if (error as? URLError)?.isDestinationRefused == true { return .abandoned }
    return switch RequestOutcome(error: own ?? .sessionTaskFailed(error: error), status: status) {
    case .transportError, .timeout, .tlsError: .failed
    case .cancelled, .sessionEnded, .creationFailed: .abandoned
    default: .succeeded
    }
  }
}
