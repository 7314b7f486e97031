/// An exchange between a caller and a destination as a value: one attempt after another, each prepared, tried and judged,
/// until one gives the answer. It says which step comes next, and ``ExchangeRun`` does it.
///
/// ```
/// idle ─► preparing ─► trying ─► deciding ─► passing ─► over
///             ▲           └─────────┤          │
///             │                     ▼          ▼ taken back
///             └─ delaying ◄─ discarding, or a failure was decided about
/// ```
/// `end` leads from every stage to `over`. While attempts run, it leads there by `ending`, until they have reported
/// their ends. An exchange that is over may be opened again by `reopen`. There is no lock, clock or I/O in here. Several
/// attempts run only in a race (``HedgeRace``), in which one of them is the *present* one. The others end without a
/// decision, or take its place.
///
/// A stage that waits for an answer from elsewhere has a *step* number, which the answer must bring back.
package struct ExchangeMachine: Sendable {
  package typealias Step = UInt32

  package enum Stage: Hashable, Sendable {
    /// Nothing is asked for yet.
    case idle
    /// The present attempt's request is being made.
    case preparing
    /// Attempts wait for a slot or for a head. A client's request, whose verdict is about the whole response, stays here
    /// until the present attempt has ended.
    case trying
    /// There may be another attempt: that is being decided about the present attempt's head, or about its failure.
    case deciding(atHead: Bool)
    /// The body of the present attempt's response is being discarded; the retry that follows waits for `delay` seconds.
    case discarding(delay: Double)
    case delaying
    /// The present attempt's head has gone to the gateway's client.
    case passing
    /// The exchange was ended from outside, but the present attempt has not reported its end yet.
    case ending
    case over

    /// Whether the exchange is over, or was ended from outside.
    package var isEnding: Bool {
      switch self {
      case .ending, .over: true
      default: false
      }
    }
  }

  package enum Action: Hashable, Sendable {
    case none
    /// Make the present attempt's request.
    case prepare
    /// Begin the present attempt.
    case attempt
    /// Ask for the verdict about a retry.
    case decide
    /// Pass the present attempt's head and body on to the caller.
    case passOn
    /// Discard the body of the present attempt's response.
    case discard
    /// Retry after this many seconds.
    case wait(Double)
    /// Cancel the present attempt, and end all others.
    case cancel
    /// Report the outcome.
    case settle
  }

  package private(set) var stage = Stage.idle
  package private(set) var step: Step = 0
  /// The number of the present attempt, 1 for the first.
  package private(set) var present = 0
  /// The number of attempts that were begun.
  package private(set) var attempts = 0
  package private(set) var retries = 0
  package private(set) var race: HedgeRace?
  /// Whether a denied retry was reported for the present attempt.
  package private(set) var hasDenied = false
  /// Whether the caller has left and those who run the exchange have not heard of it. Until then nothing is decided and
  /// no attempt begins; a request that is being made is made, and what was asked to end ends.
  package private(set) var isInterrupted = false
  /// Whether the destination has refused retries. Then no further one is asked for.
  private var isRefusedRetries = false
  /// Whether anything may be retried.
  package var mayRetry: Bool

  package init(mayRetry: Bool = true) {
    self.mayRetry = mayRetry
  }

  /// Whether failures may be asked about.
  package var asks: Bool { mayRetry && !isRefusedRetries }

  // MARK: One attempt after another

  package mutating func begin() -> Action {
    stage == .idle ? beginAttempt() : .none
  }

  private mutating func beginAttempt() -> Action {
    hasDenied = false
    attempts += 1
    present = attempts
    return enter(.preparing, .prepare)
  }

  /// The present attempt's request is made. If a caller has left meanwhile, those who hear of it find an attempt to end.
  package mutating func prepared() -> Action {
    stage == .preparing ? enter(.trying, .attempt) : .none
  }

  /// The present attempt's request can't be made.
  package mutating func preparationFailed() -> Action {
    guard stage == .preparing, !isInterrupted else { return .none }
    return asks ? enter(.deciding(atHead: false), .decide) : settle()
  }

  /// The destination did not admit the attempt.
  package mutating func rejected() -> Action { stage == .trying && !isInterrupted ? settle() : .none }

  /// Whether an interim head of the attempt goes to the caller (RFC 9110 §15.2). It does as long as this attempt is the
  /// only one. A second attempt or a retry may still follow, and a retry brings interim heads of its own: they are hints,
  /// of which none is a part of the response.
  package func passesInterim(_ number: Int) -> Bool {
    stage == .trying && number == present && race?.runners.count ?? 1 <= 1
  }

  /// The present attempt's final head has come.
  ///
  /// - Parameter isRetryable: Whether the rules may want another attempt.
  package mutating func headArrived(isRetryable: Bool) -> Action {
    guard stage == .trying else { return .none }
    return isRetryable && asks ? enter(.deciding(atHead: true), .decide) : pass()
  }

  /// The upstream has switched to another protocol, and its head has gone to the caller. The exchange is over.
  package mutating func handedOver() -> Action { stage == .trying ? settle() : .none }

  private mutating func pass() -> Action { enter(.passing, .passOn) }

  /// The present attempt is over.
  ///
  /// - Parameter failed: Whether the exchange has an error now.
  package mutating func attemptEnded(failed: Bool) -> Action {
    if stage == .ending { return settle() }
    if isInterrupted { return .none }
    switch stage {
    case .discarding(let delay): return enter(.delaying, .wait(delay))
    case .trying, .passing: return failed && asks ? enter(.deciding(atHead: false), .decide) : settle()
    // The verdict is still awaited, and is about this failure now.
    case .deciding where failed:
      stage = .deciding(atHead: false)
      return .none
    case .idle, .preparing, .deciding, .delaying, .ending, .over: return .none
    }
  }

  /// The verdict about a retry. Nil: there is no rule for what happened.
  package mutating func decided(_ verdict: RetryDecision?) -> Action {
    guard case .deciding(let atHead) = stage, !isInterrupted else { return .none }
    switch verdict {
    case nil: return atHead ? pass() : settle()
    case .retry(let delay, _, _, _)?:
      return atHead ? enter(.discarding(delay: delay), .discard) : enter(.delaying, .wait(delay))
    case .deny(let reason)?:
      hasDenied = true
      if reason.isDestinations { isRefusedRetries = true }
      return atHead ? pass() : settle()
    }
  }

  /// The delay before the retry is over.
  package mutating func delayElapsed() -> Action {
    guard stage == .delaying, !isInterrupted else { return .none }
    retries += 1
    return beginAttempt()
  }

  // MARK: The race

  /// The attempt is on the wire. Returns whether a second one may follow, after the delay.
  ///
  /// - Parameter hedges: The number of second attempts allowed.
  package mutating func wentOnWire(_ number: Int, hedges: Int) -> Bool {
    guard hedges > 0, number == present else { return false }
    if race == nil { race = HedgeRace(limit: hedges) }
    race?.begins(number)
    return mayHedge
  }

  /// Whether there may be a second attempt now.
  package var mayHedge: Bool { stage == .trying && !isInterrupted && race?.mayHedge ?? false }

  /// Allows a second attempt to begin, if there is room for it.
  package mutating func grantHedge() { race?.grant() }

  /// Begins a second attempt beside the present one, and returns its number.
  package mutating func hedge() -> Int {
    attempts += 1
    race?.joins(attempts)
    return attempts
  }

  /// The verdict of the race on a final head; nil if there is no race, or if it is over.
  package mutating func raceHears(_ number: Int, status: Int) -> HedgeRace.Verdict? {
    follow(race?.headArrived(number, status: status), number)
  }

  /// The verdict of the race on an attempt's end before its final head.
  package mutating func raceHears(endOf number: Int) -> HedgeRace.Verdict? { follow(race?.fails(number), number) }

  private mutating func follow(_ verdict: HedgeRace.Verdict?, _ number: Int) -> HedgeRace.Verdict? {
    switch verdict {
    case .wins?:
      present = number
      race?.abandon()
    case .isLast?: race?.abandon()
    case .isOut(let successor)?: if number == present { present = successor }
    case nil: break
    }
    return verdict
  }

  // MARK: The end

  /// Ends the exchange from outside: its caller has left, its deadline has passed, its response can't be passed on.
  package mutating func end() -> Action {
    isInterrupted = false
    switch stage {
    case .idle, .preparing, .deciding(atHead: false), .delaying: return settle()
    case .trying, .deciding(atHead: true), .discarding, .passing:
      race?.abandon()
      return enter(.ending, .cancel)
    case .ending, .over: return .none
    }
  }

  /// The caller has left. Those who run the exchange will hear of it, and ``end()`` it.
  package mutating func interrupt() { isInterrupted = true }

  /// Something made of the response of an exchange that is over has failed, which may be worth another attempt.
  package mutating func reopen() -> Action {
    guard stage == .over, asks, !isInterrupted else { return .none }
    return enter(.deciding(atHead: false), .decide)
  }

  private mutating func settle() -> Action { enter(.over, .settle) }

  private mutating func enter(_ stage: Stage, _ action: Action) -> Action {
    self.stage = stage
    step &+= 1
    return action
  }
}
