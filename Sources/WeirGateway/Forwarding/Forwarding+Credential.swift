import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// A forwarded request's credential: which values its attempts carried, and its waits for another one.
final class CredentialUse {
  /// A wait: before an attempt, or after the upstream has refused the value that an attempt carried.
  struct Wait {
    let ticket: OutboundCredential.Machine.Ticket
    let began: MonotonicTime
    /// Whether an attempt's response is held meanwhile.
    let isRepair: Bool
  }

  let credential: OutboundCredential
  let fields: SecretFields
  /// The first attempt, and the version that it carried. There is mostly no other one.
  @exclusivity(unchecked) private var first: (attempt: Int, version: UInt64) = (0, 0)
  /// The versions that further attempts carried, by their numbers.
  @exclusivity(unchecked) private var others: [Int: UInt64]?
  @exclusivity(unchecked) var wait: Wait?
  /// How often the request was sent again, as the upstream had refused a value.
  @exclusivity(unchecked) var repairs = 0
  /// The version that was fetched for this request; 0 if none was.
  @exclusivity(unchecked) var own: UInt64 = 0

  /// Nil if the fields have no credential.
  init?(_ fields: SecretFields) {
    guard let credential = fields.credential else { return nil }
    self.credential = credential
    self.fields = fields
  }

  /// The fields of an attempt that begins now.
  func fields(of attempt: Int) -> HeaderBlock {
    let block = fields.current()
    if first.attempt == 0 {
      first = (attempt, fields.version)
    } else {
      others = others ?? [:]
      others?[attempt] = fields.version
    }
    return block
  }

  /// The version that an attempt carried; 0 before it has begun.
  func version(of attempt: Int) -> UInt64 { attempt == first.attempt ? first.version : others?[attempt] ?? 0 }

  /// The upstream has refused the value of an attempt that is of no use any more.
  func wasRefused(on attempt: Int) { credential.refused(version(of: attempt), at: .now) }
}

extension Forwarding {
  /// Whether the present attempt has to wait for its credential, or has ended for want of it.
  func awaitsCredential() -> Bool {
    guard let use = credential, !use.fields.isReady(at: exchange.loop.turnTime) else { return false }
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
    guard let use = credential, attempt.status == 401 else { return false }
    let version = use.version(of: attempt.number)
    return failure == nil && use.repairs < Self.mostRepairs && version > 0 && version != use.own
  }

  private static let mostRepairs = 2

  /// Gets another value for an attempt that was refused. Returns false if there will be none, or if the request can't be
  /// sent again.
  func repairs(_ attempt: Attempt) -> Bool {
    guard let use = credential else { return false }
    guard canReplayBody else {
      use.wasRefused(on: attempt.number)
      return false
    }
    let now = MonotonicTime.now
    switch use.credential.repair(use.version(of: attempt.number), at: now, waiter()) {
    case .none: return false
    case .again:
      repair()
      return true
    case .wait(let ticket):
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
    if case .retry = verdict { credential?.repairs += 1 }
    judged(verdict, dueTo: RetryReason(rawValue: "401"))
    attempt?.release(.verdict)
  }

  // MARK: The wait

  private func waiter() -> OutboundCredential.Waiter {
    let bound = LoopBound(confining: self, on: exchange.loop)
    let step = machine.step
    return OutboundCredential.Waiter(loop: exchange.loop) { outcome in bound.value.credentialCame(outcome, step) }
  }

  var isWaitingForCredential: Bool { credential?.wait != nil }

  private func startWaiting(_ ticket: OutboundCredential.Machine.Ticket, isRepair: Bool, at now: MonotonicTime) {
    guard let use = credential else { return }
    use.wait = CredentialUse.Wait(ticket: ticket, began: now, isRepair: isRepair)
    exchange.loop.schedule(delayTimer, at: now.advanced(bySeconds: use.credential.wait), handler: self)
  }

  private func credentialCame(_ outcome: RefreshOutcome, _ step: ExchangeMachine.Step) {
    guard step == machine.step, let use = credential, let wait = endCredentialWait() else { return }
    let now = MonotonicTime.now
    switch outcome {
    case .proceed(let version):
      use.own = version
      tell(of: use.credential, now.seconds(since: wait.began), failed: nil)
      if wait.isRepair { repair() } else { isPrepared() }
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
    guard wait.isRepair, let use = credential else { return refuse(refusal, after: seconds) }
    // The exchange goes on, with the refusal.
    tell(of: use.credential, seconds, failed: nil)
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
