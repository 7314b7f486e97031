import WeirCurl
package import WeirHTTP
import WeirIO

// An attempt's questions to its destination's circuit, and its reports to the circuit and to load control.
extension Attempt {
  /// What an end without a final head says about the destination: the outcome of the failure, and whether the transfer
  /// itself took too long, and not the exchange.
  package typealias Failure = (outcome: RequestOutcome, isSilence: Bool)

  /// Asks the circuit for a pass, or whether the pass from before the wait for a slot is still valid. Returns the
  /// rejection, if there is one.
  func passCircuit(at now: MonotonicTime) -> Rejection? {
    guard controls.circuitBreaker != nil, let destination = lease.destination else { return nil }
    let (pass, entered) = destination.passCircuit(pass, at: now)
    if let entered { transport.observer?.destination(destination.destination, entered: entered) }
    self.pass = pass
    return pass == nil ? .circuitOpen(retryAfter: nil) : nil
  }

  /// Gives the pass back unused.
  func returnPass() {
    if pass != nil { end(.abandoned, at: .now) }
  }

  /// Records the time to the final head, or until the attempt was given up, for hedges by quantile.
  package func noteLatency() {
    if let destination = lease.destination, destination.watchesLatency {
      destination.note(latency: costs.elapsed(.now))
    }
  }

  // MARK: The request's body

  /// The request's body takes as long as its source wants, and the way through a proxy as long as that. The attempt does
  /// not count as load meanwhile.
  func uploads() {
    isUploading = true
    setAside()
  }

  /// The request has been sent as a whole, or the next hop's request needs no source.
  func hasUploaded() {
    guard isUploading else { return }
    isUploading = false
    count()
  }

  /// The attempt is parked: it waits for the caller's code, and not for the destination.
  func countsNoMore() {
    guard !isUploading else { return }
    isSetAside = true
    setAside()
  }

  /// The attempt goes on with a slot of its own.
  func countsAgain() {
    guard isSetAside else { return }
    isSetAside = false
    count()
  }

  private func setAside() {
    if let ticket = lease.pass { lease.destination?.setsAside(ticket) }
  }

  private func count() {
    guard let ticket = lease.pass else { return }
    let now = MonotonicTime.now
    tell(lease.destination?.control(at: now) { $0.hasUploaded(ticket, at: now) })
  }

  // MARK: The end

  /// Tells the destination of the final head. How the body goes, and how soon the receiver takes it, says nothing about
  /// the destination's health.
  ///
  /// - Parameter head: Nil for a head that asks for no pause.
  package func answered(_ status: Int, _ head: ResponseHead? = nil) {
    hasAnswered = true
    if let limit {
      limit.hasHead = true
      steerClock()
    }
    let ticket = lease.takePass()
    let isPaced = controls.pace != nil
    guard pass != nil || ticket != nil || selection != nil || isPaced else { return }
    let now = MonotonicTime.now
    let isObeyed = isPaced && obeys(status, head, at: now)
    let failed = Self.isFailure(status) && !isObeyed
    tellEndpoint(failed: failed, at: now)
    if pass != nil { end(failed ? .failed : .succeeded, at: now) }
    if let ticket {
      tell(lease.destination?.control(at: now) { $0.answered(ticket, status: status, at: now) })
    }
  }

  /// Whether a final head's status is a failure of the destination. One below 200 is an Upgrade that was not asked for.
  static func isFailure(_ status: Int) -> Bool { status >= 500 || status < 200 }

  /// Whether the destination, or the endpoint, has a use for an end without a final head. A hop to another origin asks
  /// the destination nothing, as the redirect was its answer. But the hop may have an endpoint there, which has to hear.
  var hearsOfEnds: Bool {
    if let selection, !selection.isTold { return true }
    return !hasAnswered && (pass != nil || lease.pass != nil)
  }

  /// Tells the destination how an attempt without a final head ended.
  ///
  /// - Parameter failure: Nil where the end says nothing about the destination.
  func tellEnd(_ failure: Failure?, _ report: AttemptReport, at now: MonotonicTime) {
    let ending = ending(by: failure, report)
    if pass != nil { end(circuitEnding(ending, at: now), at: now) }
    // Asked before the endpoint hears of this end, which might make it no member of its set.
    let isAtSlowEndpoint = ending == .callerGaveUp && isAtSlowEndpoint(at: now)
    tellEndpoint(ending, report, at: now)
    guard let ticket = lease.takePass() else { return }
    if machine.hasStarted {
      let ending = isAtSlowEndpoint ? .withdrawn : ending
      tell(lease.destination?.control(at: now) { $0.ended(ticket, ending, at: now) })
    } else {
      lease.destination?.control(at: now) { $0.neverSent(ticket, at: now) }
    }
  }

  func tell(_ entered: OverloadState?) {
    guard let entered, let destination = lease.destination else { return }
    transport.observer?.destination(destination.destination, entered: entered)
  }

  private func end(_ ending: Circuit.Ending, at now: MonotonicTime) {
    guard let pass, let breaker = controls.circuitBreaker, let destination = lease.destination else { return }
    self.pass = nil
    if let entered = destination.ended(pass, ending, breaker, at: now) {
      transport.observer?.destination(destination.destination, entered: entered)
    }
  }

  private func ending(by failure: Failure?, _ report: AttemptReport) -> AttemptEnding {
    // While a body is sent, the caller may have been the slow one. But a silence is the server's: the time in which the
    // body waits for its source does not count as silence.
    let isSending = report.phases[.send] != nil && report.phases[.processing] == nil && !(failure?.isSilence ?? false)
    if cancelReason == .callerGaveUp { return isUploading || isSetAside || isSending ? .withdrawn : .callerGaveUp }
    switch failure?.outcome {
    case .timeout?: return isSending || isProxied && report.hasNoWay ? .withdrawn : .timedOut
    case .transportError?, .tlsError?: return .failed
    default: return .withdrawn
    }
  }

  private func circuitEnding(_ ending: AttemptEnding, at now: MonotonicTime) -> Circuit.Ending {
    switch ending {
    case .failed, .timedOut: .failed
    case .callerGaveUp:
      machine.hasStarted && lease.destination?.isFailure(givenUpAfter: costs.elapsed(now)) ?? false
        ? .failed : .abandoned
    case .withdrawn: .abandoned
    }
  }

  /// Where the exchange is if its caller leaves now.
  package var abandonedPhase: AbandonedPhase {
    if machine.stage == .serving { return .body }
    if machine.stage == .ended || !machine.hasStarted { return .queue }
    return hasAnswered && !discardsBody ? .body : .upstream
  }
}
