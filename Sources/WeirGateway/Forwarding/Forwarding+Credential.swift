import WeirIO
import WeirServer
import WeirTransport

/// A forwarded request's wait for its credential: before an attempt, or after the upstream has refused the one that the
/// attempt carried.
struct CredentialWait {
  let credential: OutboundCredential
  let ticket: OutboundCredential.Machine.Ticket
  let began: MonotonicTime
  /// Whether an attempt's response is held meanwhile.
  let isRepair: Bool
}

extension Forwarding {
  /// Whether the present attempt has to wait for its credential, or has ended for want of it.
  func awaitsCredential(of outgoing: OutgoingRequest) -> Bool {
    guard let fields = plan.secretFields(of: outgoing.route), let credential = fields.credential else { return false }
    if fields.isReady(at: exchange.loop.turnTime) { return false }
    let now = MonotonicTime.now
    switch credential.adapt(at: now, waiter()) {
    case .ready: return false
    case .wait(let ticket):
      startWaiting(for: credential, ticket, isRepair: false, at: now)
      return true
    case .refuse(let refusal):
      refuse(refusal, after: 0)
      return true
    }
  }

  /// Whether the upstream has refused the credential of an attempt, and another one may help: twice at most, and not after
  /// one that was fetched for this request.
  func isRepairable(_ attempt: Attempt?) -> Bool {
    guard let attempt, attempt.status == 401, attempt.credentialVersion > 0 else { return false }
    return failure == nil && repairs < Self.mostRepairs && attempt.credentialVersion != ownCredential
  }

  private static let mostRepairs = 2

  /// Gets another credential for a request that was refused. Returns false if there will be none, or if the request can't
  /// be sent again.
  func repairs(_ attempt: Attempt?) -> Bool {
    guard let attempt, let credential = outgoing?.route.credential else { return false }
    let now = MonotonicTime.now
    guard canReplayBody else {
      credential.refused(attempt.credentialVersion, at: now)
      return false
    }
    switch credential.repair(attempt.credentialVersion, at: now, waiter()) {
    case .none: return false
    case .again:
      repair()
      return true
    case .wait(let ticket):
      attempt.hold(.verdict)
      startWaiting(for: credential, ticket, isRepair: true, at: now)
      return true
    }
  }

  /// Has the request sent again, with the credential that there is now. That takes nothing from the budget.
  private func repair() {
    let verdict = admission.verdict(
      on: .retry(after: 0, source: .backoff), canReplayBody: canReplayBody, deadline: tally.deadline, isFree: { true })
    if case .retry = verdict { repairs += 1 }
    judged(verdict, dueTo: RetryReason(rawValue: "401"))
    attempt?.release(.verdict)
  }

  // MARK: The wait

  private func waiter() -> OutboundCredential.Waiter {
    let bound = LoopBound(confining: self, on: exchange.loop)
    let step = machine.step
    return OutboundCredential.Waiter(loop: exchange.loop) { outcome in bound.value.credentialCame(outcome, step) }
  }

  private func startWaiting(
    for credential: OutboundCredential, _ ticket: OutboundCredential.Machine.Ticket, isRepair: Bool,
    at now: MonotonicTime
  ) {
    credentialWait = CredentialWait(credential: credential, ticket: ticket, began: now, isRepair: isRepair)
    exchange.loop.schedule(delayTimer, at: now.advanced(bySeconds: credential.wait), handler: self)
  }

  private func credentialCame(_ outcome: RefreshOutcome, _ step: ExchangeMachine.Step) {
    guard step == machine.step, let wait = endCredentialWait() else { return }
    let now = MonotonicTime.now
    let seconds = now.seconds(since: wait.began)
    switch outcome {
    case .proceed(let version):
      ownCredential = version
      tell(of: wait.credential, seconds, failed: nil)
      if wait.isRepair { repair() } else { isPrepared() }
    case .fail(let error): give(up: wait, wait.credential.refusal(error, at: now), after: seconds)
    case .excessiveRefresh, .again:
      give(up: wait, wait.credential.lateness(at: now), after: seconds)
    }
  }

  /// The request has waited for as long as it may.
  func credentialIsLate() {
    guard let wait = endCredentialWait() else { return }
    let now = MonotonicTime.now
    give(up: wait, wait.credential.lateness(at: now), after: now.seconds(since: wait.began))
  }

  /// The response that refused the credential goes to the client; a request that was not sent is refused.
  private func give(up wait: CredentialWait, _ refusal: CredentialRefusal, after seconds: Double) {
    guard wait.isRepair else { return refuse(refusal, after: seconds) }
    tell(of: wait.credential, seconds, failed: refusal.reason)
    perform(machine.decided(nil))
    attempt?.release(.verdict)
  }

  private func refuse(_ refusal: CredentialRefusal, after seconds: Double) {
    guard let credential = outgoing?.route.credential else { return }
    credential.noteRefused(refusal)
    tell(of: credential, seconds, failed: refusal.reason)
    fail(.unauthenticated(refusal))
  }

  private func tell(of credential: OutboundCredential, _ seconds: Double, failed: AdaptationFailure?) {
    observer?.exchange(self, didAdaptUsing: credential.name, duration: seconds, failed: failed)
  }

  /// Returns the wait, which is over.
  @discardableResult
  func endCredentialWait() -> CredentialWait? {
    guard let wait = credentialWait else { return nil }
    credentialWait = nil
    exchange.loop.cancel(delayTimer)
    wait.credential.leave(wait.ticket)
    return wait
  }
}
