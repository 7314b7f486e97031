import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// The credential of a forwarded request that waits for it, was refused with it, or has several attempts: which values these
/// carried, and the wait for another one.
final class CredentialUse {
  /// A wait: before an attempt, or after the upstream has refused the value that an attempt carried.
  struct Wait {
    let ticket: OutboundCredential.Machine.Ticket
    let began: MonotonicTime
    /// Whether an attempt's response is held meanwhile.
    let isRepair: Bool
  }

  let credential: OutboundCredential
  /// The versions that attempts carried, by their numbers.
  @exclusivity(unchecked) fileprivate var versions: [Int: UInt64] = [:]
  @exclusivity(unchecked) var wait: Wait?
  /// How often the request was sent again, as the upstream had refused a value.
  @exclusivity(unchecked) var repairs = 0
  /// The version that was fetched for this request; 0 if none was.
  @exclusivity(unchecked) var own: UInt64 = 0

  init(_ credential: OutboundCredential) {
    self.credential = credential
  }
}

extension Forwarding {
  /// Made when it is first needed, as most requests have one attempt with a value that is there. Nil without a credential.
  private var credentialUse: CredentialUse? {
    if let credential { return credential }
    guard let own = outgoing?.route.credential else { return nil }
    let use = CredentialUse(own)
    if firstVersion > 0 { use.versions[1] = firstVersion }
    credential = use
    return use
  }

  /// The fields with secrets of an attempt that begins now.
  func refresh(_ fields: SecretFields, for attempt: Attempt) {
    fields.refresh()
    if attempt.number == 1 {
      firstVersion = fields.version
    } else {
      credentialUse?.versions[attempt.number] = fields.version
    }
  }

  /// The version of the credential that an attempt carried; 0 without one.
  private func version(of attempt: Attempt) -> UInt64 {
    attempt.number == 1 ? firstVersion : credential?.versions[attempt.number] ?? 0
  }

  /// The upstream has refused the value of an attempt that can't be sent again, or is of no use any more.
  func wasRefused(_ attempt: Attempt) { outgoing?.route.credential?.refused(version(of: attempt), at: .now) }

  /// Whether the present attempt has to wait for its credential, or has ended for want of it.
  func awaitsCredential(of outgoing: OutgoingRequest) -> Bool {
    guard let fields = plan.secretFields(of: outgoing.route), !fields.isReady(at: exchange.loop.turnTime),
      let use = credentialUse
    else { return false }
    let now = MonotonicTime.now
    switch use.credential.adapt(at: now, waiter()) {
    case .ready: return false
    case .wait(let ticket):
      startWaiting(ticket, isRepair: false, at: now)
      return true
    case .refuse(let refusal):
      refuse(refusal, after: 0)
      return true
    }
  }

  /// Whether the upstream has refused the credential of an attempt, and another value may help: twice at most, and not
  /// after one that was fetched for this request.
  func isRepairable(_ attempt: Attempt) -> Bool {
    let version = version(of: attempt)
    guard attempt.status == 401, failure == nil, version > 0, let use = credentialUse else { return false }
    return use.repairs < Self.mostRepairs && version != use.own
  }

  private static let mostRepairs = 2

  /// Gets another value for an attempt that was refused. Returns false if there will be none, or if the request can't be
  /// sent again.
  func repairs(_ attempt: Attempt) -> Bool {
    guard let use = credential else { return false }
    guard canReplayBody else {
      wasRefused(attempt)
      return false
    }
    let now = MonotonicTime.now
    switch use.credential.repair(version(of: attempt), at: now, waiter()) {
    case .none: return false
    case .again:
      repair()
      return true
    case .wait(let ticket):
      body.hold()
      attempt.hold(.verdict)
      attempt.park(for: .verdict)
      startWaiting(ticket, isRepair: true, at: now)
      return true
    }
  }

  /// Has the request sent again, with the value that there is now. That takes nothing from the budget.
  private func repair() {
    let verdict = admission.verdict(
      on: .retry(after: 0, source: .backoff), canReplayBody: canReplayBody, deadline: tally.deadline, isFree: { true })
    if case .retry = verdict { credential?.repairs += 1 } else { releaseBody() }
    judged(verdict, dueTo: RetryReason(rawValue: "401"))
    attempt?.release(.verdict)
  }

  // MARK: The wait

  private func waiter() -> OutboundCredential.Waiter {
    // A fallback has a machine and a credential of its own, whose steps begin anew.
    let bound = LoopBound(confining: (forwarding: self, use: credential), on: exchange.loop)
    let step = machine.step
    return OutboundCredential.Waiter(loop: exchange.loop) { outcome in
      let (forwarding, use) = bound.value
      if forwarding.credential === use { forwarding.credentialCame(outcome, step) }
    }
  }

  var isWaitingForCredential: Bool { credential?.wait != nil }

  private func startWaiting(_ ticket: OutboundCredential.Machine.Ticket, isRepair: Bool, at now: MonotonicTime) {
    guard let use = credential else { return }
    use.wait = CredentialUse.Wait(ticket: ticket, began: now, isRepair: isRepair)
    // One that was refused to others may still be good for this request.
    let isStale = !isRepair && use.credential.isGood(at: now)
    let seconds = min(use.credential.wait, isStale ? Self.longestStaleWait : .infinity)
    exchange.loop.schedule(delayTimer, at: now.advanced(bySeconds: seconds), handler: self)
  }

  /// Seconds for which requests wait at most while a token that has not expired is fetched anew: a single path that
  /// answers 401 must not hold up all others for long.
  private static let longestStaleWait = 1.0

  private func credentialCame(_ outcome: RefreshOutcome, _ step: ExchangeMachine.Step) {
    guard step == machine.step, let use = credential, let wait = endCredentialWait() else { return }
    let now = MonotonicTime.now
    switch outcome {
    case .proceed(let version):
      use.own = version
      tell(of: use.credential, now.seconds(since: wait.began), failed: nil)
      if wait.isRepair { repair() } else { makePresentAttempt() }
    case .fail(let error): give(up: wait, use.credential.refusal(error, at: now), at: now)
    case .excessiveRefresh, .again: give(up: wait, use.credential.lateness(at: now), at: now)
    }
  }

  /// The request has waited for as long as it may.
  func credentialIsLate() {
    guard let use = credential, let wait = endCredentialWait() else { return }
    let now = MonotonicTime.now
    give(up: wait, use.credential.lateness(at: now), at: now)
  }

  /// The response that refused the credential goes to the client; a request that was not sent is refused.
  private func give(up wait: CredentialUse.Wait, _ refusal: CredentialRefusal, at now: MonotonicTime) {
    let seconds = now.seconds(since: wait.began)
    guard let use = credential else { return }
    if !wait.isRepair, use.credential.isGood(at: now) {
      tell(of: use.credential, seconds, failed: nil)
      return makePresentAttempt()
    }
    guard wait.isRepair else { return refuse(refusal, after: seconds) }
    // The exchange goes on, with the refusal.
    tell(of: use.credential, seconds, failed: nil)
    releaseBody()
    perform(machine.decided(nil))
    attempt?.release(.verdict)
  }

  private func refuse(_ refusal: CredentialRefusal, after seconds: Double) {
    guard let use = credential else { return }
    use.credential.noteRefused(refusal)
    tell(of: use.credential, seconds, failed: refusal.reason)
    fail(.unauthenticated(refusal))
  }

  private func tell(of credential: OutboundCredential, _ seconds: Double, failed: AdaptationFailure?) {
    observer?.exchange(self, didAdaptUsing: credential.name, duration: seconds, failed: failed)
  }

  /// Returns the wait, which is over.
  @discardableResult
  func endCredentialWait() -> CredentialUse.Wait? {
    guard let use = credential, let wait = use.wait else { return nil }
    use.wait = nil
    exchange.loop.cancel(delayTimer)
    use.credential.leave(wait.ticket)
    return wait
  }
}
