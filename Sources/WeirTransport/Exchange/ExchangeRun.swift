/// An exchange under way. It does what its ``ExchangeMachine`` says: one attempt after another, with the delays between
/// them, and a second attempt beside a slow one. A client's request and a forwarded request are one each, and so are
/// those of the simulations, with scripted attempts and time.
///
/// The exchange provides the attempts, the time, and the steps that differ. The machine is a part of what it guards:
/// each input is made by ``change(_:)``, and what the machine answers is done by ``perform(_:)``. Confined to the loop.
package protocol ExchangeRun: TransportExchange {
  associatedtype Running: HedgeRunner

  /// The machine as it is now.
  var machine: ExchangeMachine { get }
  func change<Answer>(_ input: (inout ExchangeMachine) -> Answer) -> Answer

  /// The present attempt, from its preparation on.
  var attempt: Running? { get set }
  /// The attempts beside the present one.
  var rivals: [Running] { get set }
  /// The delay and the number of second attempts; nil if none starts beside a slow one.
  var hedge: HedgePlan? { get }
  /// The reason for which the next attempt was granted.
  var grantedReason: RetryReason? { get set }

  // MARK: Steps

  /// Makes the request of the present attempt; `prepared()` or `preparationFailed()` follows.
  func prepare()
  /// Begins the present attempt, which asks for its slot.
  func admit()
  /// Asks for the verdict on what has happened; ``judged(_:dueTo:)`` follows.
  func askForVerdict()
  /// A retry begins: what the attempt before has left is of no use any more.
  func forgetAttempt()
  /// Passes the present attempt's response on to the caller.
  func passOn()
  /// Drops the body of the present attempt's response.
  func discardBody()
  /// Ends the present attempt, as the exchange was ended from outside.
  func cancelAttempt()
  /// The attempts are over.
  func settle()

  // MARK: Second attempts

  /// Whether two attempts at once would have the effect of one now.
  var mayRunTwice: Bool { get }
  /// Makes the request of a second attempt; ``startRival(_:)`` follows, or nothing.
  func prepareRival()
  /// Whether the destination has room for a second attempt.
  func hasRoomForRival() -> Bool
  /// Takes that room. Returns false if there is none any more.
  func takesRoomForRival() -> Bool
  /// The attempt has taken the place of the present one.
  func shows(_ attempt: Running)
  /// Ends an attempt that is of no use any more, since another one gives the answer.
  func abandon(_ rival: Running)

  // MARK: Time

  /// Calls ``retryIsDue()`` or ``hedgeIsDue()`` after so many seconds.
  func wait(_ seconds: Double, for event: ExchangeTimer)
  func stopWaiting(for event: ExchangeTimer)
}

/// The two waits of an exchange: for the time of a retry, and for that of a second attempt.
package enum ExchangeTimer: Sendable {
  case retry, hedge
}

/// A runner of a ``HedgeRace``: an attempt of an exchange, as far as the race needs it.
package protocol HedgeRunner: AnyObject {
  /// 1 for the first.
  var number: Int { get }
  /// Has a slot from its beginning, without asking.
  func beginsWithSlot()
  /// Goes on the wire with that slot, beside another attempt.
  func startBesideAnother()
  /// Tells the observer what became of it, if it started beside another one.
  func decideHedge(_ event: HedgeEvent)
}

extension Attempt: HedgeRunner {}

extension ExchangeRun {
  package func passOn() {}
  package func discardBody() {}
  package func shows(_ attempt: Running) {}
  package func hasRoomForRival() -> Bool { admission.mayHedge() }
  package func takesRoomForRival() -> Bool { admission.takesHedge() }

  package func perform(_ action: ExchangeMachine.Action) {
    switch action {
    case .none: break
    case .prepare: prepare()
    case .attempt: admit()
    case .decide: askForVerdict()
    case .passOn: passOn()
    case .discard: discardBody()
    case .wait(let delay): wait(delay, for: .retry)
    case .cancel:
      endRace()
      cancelAttempt()
    case .settle: settle()
    }
  }

  // MARK: Retries

  /// The verdict is there; nil if there is no rule for what has happened.
  package func judged(_ verdict: RetryDecision?, dueTo reason: @autoclosure () -> RetryReason) {
    switch verdict {
    case .retry(let delay, let source, _, _)?:
      let reason = reason()
      grantedReason = reason
      observer?.exchange(self, willRetryAfter: delay, source: source, reason: reason)
    case .deny(let reason)?:
      if !machine.hasDenied { observer?.exchange(self, didDenyRetry: reason) }
    case nil: break
    }
    perform(change { $0.decided(verdict) })
  }

  /// The delay before the retry is over.
  package func retryIsDue() {
    let action = change { $0.delayElapsed() }
    guard action != .none else { return }
    forgetAttempt()
    observer?.exchange(self, retriesDueTo: grantedReason)
    perform(action)
  }

  // MARK: The race

  /// An attempt is on the wire. A second one follows after the delay, if there may be one.
  package func wentOnWire(_ attempt: Running) {
    guard let hedge, change({ $0.wentOnWire(attempt.number, hedges: hedge.limit) }) else { return }
    awaitHedge()
  }

  /// Arms the timer of the next second attempt, if one may follow.
  package func awaitHedge() {
    guard let hedge, machine.mayHedge, let delay = admission.seconds(of: hedge.delay) else { return }
    wait(delay, for: .hedge)
  }

  /// No head has come during the delay.
  package func hedgeIsDue() {
    guard mayRunTwice, machine.mayHedge else { return }
    if hasRoomForRival() { prepareRival() } else { tellDeniedHedge() }
  }

  /// Begins a second attempt at once or not at all: one that waits for a slot would only add to the load. From now on
  /// counts the delay of the next one.
  ///
  /// - Parameter make: Makes the attempt of this number. It gives it away before anybody hears of it.
  package func startRival(_ make: (_ number: Int, _ keep: (Running) -> Void) -> Void) {
    guard machine.mayHedge else { return }
    change { $0.grantHedge() }
    defer { awaitHedge() }
    guard takesRoomForRival() else { return tellDeniedHedge() }
    let number = change { $0.hedge() }
    make(number) {
      $0.beginsWithSlot()
      rivals.append($0)
    }
    // The race may be over: observers have heard of the attempt.
    rivals.first { $0.number == number }?.startBesideAnother()
  }

  private func tellDeniedHedge() { observer?.exchange(self, hedge: .denied) }

  /// Whether an attempt goes on with its final head. If not it has lost, and is to be ended.
  package func goesOn(_ attempt: Running, status: Int) -> Bool {
    guard hedge != nil, let verdict = change({ $0.raceHears(attempt.number, status: status) }) else { return true }
    return follow(verdict, attempt)
  }

  /// Whether the end of an attempt is the exchange's. If not, another one still runs, and this one alone is to be ended.
  package func endsWith(_ attempt: Running) -> Bool {
    guard hedge != nil, let verdict = change({ $0.raceHears(endOf: attempt.number) }) else { return true }
    return follow(verdict, attempt)
  }

  private func follow(_ verdict: HedgeRace.Verdict, _ attempt: Running) -> Bool {
    switch verdict {
    case .wins:
      show(attempt)
      endRace()
      attempt.decideHedge(.won)
      return true
    case .isLast:
      endRace()
      return true
    case .isOut(let successor):
      if attempt === self.attempt, let next = rivals.first(where: { $0.number == successor }) { show(next) }
      rivals.removeAll { $0 === attempt }
      return false
    }
  }

  private func show(_ attempt: Running) {
    guard let previous = self.attempt, previous !== attempt else { return }
    rivals.removeAll { $0 === attempt }
    rivals.append(previous)
    self.attempt = attempt
    shows(attempt)
  }

  /// Ends all attempts but the present one.
  private func endRace() {
    guard hedge != nil else { return }
    stopWaiting(for: .hedge)
    while let rival = rivals.popLast() { abandon(rival) }
  }
}
