import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// The versions of credentials that an attempt carried; 0 for none.
struct CredentialVersions {
  /// That of the route's or its upstream's.
  var route: UInt64 = 0
  /// That of the proxy's on the way.
  var proxy: UInt64 = 0
}

/// The credentials of a forwarded request that waits for one, was refused with one, or has several attempts: which values
/// these carried, and the wait for another one.
final class CredentialUse {
  /// A wait: before an attempt, or after the upstream has refused the value that an attempt carried.
  struct Wait {
    let credential: OutboundCredential
    let ticket: OutboundCredential.Machine.Ticket
    let began: MonotonicTime
    /// Whether an attempt's response is held meanwhile.
    let isRepair: Bool
  }

  /// The versions that attempts carried, by their numbers.
  @exclusivity(unchecked) fileprivate var versions: [Int: CredentialVersions] = [:]
  @exclusivity(unchecked) var wait: Wait?
  /// How often the request was sent again, as the upstream had refused a value.
  @exclusivity(unchecked) var repairs = 0
  /// The version of the route's credential that was fetched for this request; 0 if none was.
  @exclusivity(unchecked) var own: UInt64 = 0
}

extension Forwarding {
  /// Made when it is first needed, as most requests have one attempt with a value that is there. Nil without a credential.
  private var credentialUse: CredentialUse? {
    if let credential { return credential }
    guard let route = outgoing?.route, route.credential != nil || route.proxyCredential != nil else { return nil }
    let use = CredentialUse()
    use.versions[1] = firstVersions
    credential = use
    return use
  }

  /// The fields with secrets of an attempt that begins now.
  func refresh(_ fields: SecretFields, for attempt: Attempt) {
    fields.refresh()
    if attempt.number == 1 {
      firstVersions = fields.versions
    } else {
      credentialUse?.versions[attempt.number] = fields.versions
    }
  }

  /// The versions of the credentials that an attempt carried.
  private func versions(of attempt: Attempt) -> CredentialVersions {
    attempt.number == 1 ? firstVersions : credential?.versions[attempt.number] ?? CredentialVersions()
  }

  /// The upstream has refused the value of an attempt that can't be sent again, or is of no use any more.
  func wasRefused(_ attempt: Attempt) { outgoing?.route.credential?.refused(versions(of: attempt).route, at: .now) }

  /// The proxy has refused the value that an attempt carried.
  func wasRefusedByProxy(_ attempt: Attempt) {
    outgoing?.route.proxyCredential?.refused(versions(of: attempt).proxy, at: .now)
  }

  /// Whether the present attempt has to wait for a credential, or has ended for want of it: for the route's, then for the
  /// proxy's.
  func awaitsCredential(of outgoing: OutgoingRequest) -> Bool {
    guard let fields = plan.secretFields(of: outgoing.route) else { return false }
    if !fields.isReady(at: exchange.loop.turnTime), awaits(outgoing.route.credential) { return true }
    return awaitsProxyCredential(of: outgoing)
  }

  private func awaitsProxyCredential(of outgoing: OutgoingRequest) -> Bool {
    guard let fields = plan.secretFields(of: outgoing.route), !fields.isProxyReady(at: exchange.loop.turnTime) else {
      return false
    }
    return awaits(outgoing.route.proxyCredential)
  }

  private func awaits(_ wanted: OutboundCredential?) -> Bool {
    guard let wanted, credentialUse != nil else { return false }
    let now = MonotonicTime.now
    switch wanted.adapt(at: now, waiter(for: wanted)) {
    case .ready: return false
    case .wait(let ticket):
      startWaiting(CredentialUse.Wait(credential: wanted, ticket: ticket, began: now, isRepair: false))
      return true
    case .refuse(let refusal):
      refuse(refusal, of: wanted, after: 0)
      return true
    }
  }

  /// Whether the upstream has refused the credential of an attempt, and another value may help: twice at most, and not
  /// after one that was fetched for this request.
  func isRepairable(_ attempt: Attempt) -> Bool {
    let version = versions(of: attempt).route
    guard attempt.status == 401, failure == nil, version > 0, let use = credentialUse else { return false }
    return use.repairs < Self.mostRepairs && version != use.own
  }

  private static let mostRepairs = 2

  /// Gets another value for an attempt that was refused. Returns false if there will be none, or if the request can't be
  /// sent again.
  func repairs(_ attempt: Attempt) -> Bool {
    guard let own = outgoing?.route.credential else { return false }
    guard canReplayBody else {
      wasRefused(attempt)
      return false
    }
    let now = MonotonicTime.now
    switch own.repair(versions(of: attempt).route, at: now, waiter(for: own)) {
    case .none: return false
    case .again:
      repair()
      return true
    case .wait(let ticket):
      body.hold()
      attempt.hold(.verdict)
      attempt.park(for: .verdict)
      startWaiting(CredentialUse.Wait(credential: own, ticket: ticket, began: now, isRepair: true))
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

  private func waiter(for wanted: OutboundCredential) -> OutboundCredential.Waiter {
    // A fallback has a machine and a credential of its own, whose steps begin anew.
    let bound = LoopBound(confining: (forwarding: self, use: credential), on: exchange.loop)
    let step = machine.step
    return OutboundCredential.Waiter(loop: exchange.loop) { outcome in
      let (forwarding, use) = bound.value
      guard forwarding.credential === use, use?.wait?.credential === wanted else { return }
      forwarding.credentialCame(outcome, step)
    }
  }

  var isWaitingForCredential: Bool { credential?.wait != nil }

  private func startWaiting(_ wait: CredentialUse.Wait) {
    credential?.wait = wait
    // One that was refused to others may still be good for this request.
    let isStale = !wait.isRepair && wait.credential.isGood(at: wait.began)
    let seconds = min(wait.credential.wait, isStale ? Self.longestStaleWait : .infinity)
    exchange.loop.schedule(delayTimer, at: wait.began.advanced(bySeconds: seconds), handler: self)
  }

  /// Seconds for which requests wait at most while a token that has not expired is fetched anew: a single path that
  /// answers 401 must not hold up all others for long.
  private static let longestStaleWait = 1.0

  private func credentialCame(_ outcome: RefreshOutcome, _ step: ExchangeMachine.Step) {
    guard step == machine.step, let wait = endCredentialWait() else { return }
    let now = MonotonicTime.now
    switch outcome {
    case .proceed(let version):
      if wait.credential === outgoing?.route.credential { credential?.own = version }
      tell(of: wait.credential, now.seconds(since: wait.began), failed: nil)
      if wait.isRepair { repair() } else { goOn(after: wait) }
    case .fail(let error): give(up: wait, wait.credential.refusal(error, at: now), at: now)
    case .excessiveRefresh, .again: give(up: wait, wait.credential.lateness(at: now), at: now)
    }
  }

  /// The attempt has one of its credentials. The proxy's comes last.
  private func goOn(after wait: CredentialUse.Wait) {
    if let outgoing, wait.credential !== outgoing.route.proxyCredential, awaitsProxyCredential(of: outgoing) { return }
    makePresentAttempt()
  }

  /// The request has waited for as long as it may.
  func credentialIsLate() {
    guard let wait = endCredentialWait() else { return }
    let now = MonotonicTime.now
    give(up: wait, wait.credential.lateness(at: now), at: now)
  }

  /// The response that refused the credential goes to the client; a request that was not sent is refused.
  private func give(up wait: CredentialUse.Wait, _ refusal: CredentialRefusal, at now: MonotonicTime) {
    let seconds = now.seconds(since: wait.began)
    if !wait.isRepair, wait.credential.isGood(at: now) {
      tell(of: wait.credential, seconds, failed: nil)
      return goOn(after: wait)
    }
    guard wait.isRepair else { return refuse(refusal, of: wait.credential, after: seconds) }
    // The exchange goes on, with the refusal.
    tell(of: wait.credential, seconds, failed: nil)
    releaseBody()
    perform(machine.decided(nil))
    attempt?.release(.verdict)
  }

  private func refuse(_ refusal: CredentialRefusal, of wanted: OutboundCredential, after seconds: Double) {
    wanted.noteRefused(refusal)
    tell(of: wanted, seconds, failed: refusal.reason)
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
    wait.credential.leave(wait.ticket)
    return wait
  }
}
