import WeirTransport

/// One forwarded request as a value: whether an attempt is under way, whether its head has gone to the client, what comes
/// next.
///
/// ```
/// idle ─► trying ─► deciding ─► passing ─► over
///           ▲  └────────┤          │
///           │           ▼          ▼ taken back
///           └─ delaying ◄─ discarding, or a failure was decided about
/// ```
/// `end` leads from every stage to `over`, by `ending` while there are attempts, whose ends are heard first. Inputs return
/// what is to be done. There is no lock, clock or I/O in here. Several attempts run only in a race (``HedgeRace``), in which
/// one of them is the *present* one: the others end without a say, or take its place.
struct ForwardMachine: Sendable {
  enum Stage: Hashable, Sendable {
    /// The request's body is gathered.
    case idle
    /// Attempts wait for a slot or for a head.
    case trying
    /// The rules are asked about the present attempt's head, or about its failure.
    case deciding(atHead: Bool)
    /// The present attempt's response is of no use; the retry that follows waits so long.
    case discarding(delay: Double)
    case delaying
    /// The present attempt's head has gone to the client.
    case passing
    /// The request is ended, and the present attempt has still to report its end.
    case ending
    case over
  }

  enum Action: Hashable, Sendable {
    case none
    /// Begin an attempt.
    case attempt
    /// Ask the rules.
    case decide
    /// Pass the present attempt's head and body on to the client.
    case passOn
    /// Throw the body of the present attempt's response away.
    case discard
    /// Retry after so many seconds.
    case wait(Double)
    /// Cancel the present attempt, and end all others.
    case cancel
    /// Tell how it ended, and answer the client.
    case settle
  }

  private(set) var stage = Stage.idle
  private(set) var present = 0
  private(set) var retries = 0
  /// Attempts that were begun.
  private(set) var attempts = 0
  private(set) var race: HedgeRace?
  /// Whether a denial was told of the present attempt.
  private(set) var hasDenied = false
  /// Whether retries were refused for the destination's sake, so that the rules are not asked about further ones.
  private var isRefusedRetries = false
  /// Whether there are rules to ask.
  private let mayRetry: Bool
  private let hedges: Int

  /// - Parameters:
  ///   - mayRetry: Whether there are rules about retries.
  ///   - hedges: How many second attempts there may be.
  init(mayRetry: Bool, hedges: Int = 0) {
    self.mayRetry = mayRetry
    self.hedges = hedges
  }

  /// Whether a head has gone to the client.
  var isPassing: Bool { stage == .passing }
  /// Whether the request was ended from outside.
  var isEnding: Bool { stage == .ending || stage == .over }

  mutating func begin() -> Action {
    guard stage == .idle else { return .none }
    return beginAttempt()
  }

  private mutating func beginAttempt() -> Action {
    stage = .trying
    hasDenied = false
    attempts += 1
    present = attempts
    return .attempt
  }

  /// The destination has a slot for an attempt. False: it is not wanted any more.
  func mayStart(_ number: Int) -> Bool { stage == .trying && number == present }

  // MARK: The race

  /// The present attempt is on the wire. True: a second one may follow, after the delay.
  mutating func isOnWire(_ number: Int) -> Bool {
    guard hedges > 0, number == present else { return false }
    if race == nil { race = HedgeRace(limit: hedges) }
    race?.begins(number)
    return mayHedge
  }

  /// Whether there may be a second attempt now.
  var mayHedge: Bool { stage == .trying && race?.mayHedge ?? false }

  /// A second attempt is let begin, if there is room for it.
  mutating func grantHedge() { race?.grant() }

  /// A second attempt begins beside the present one; its number.
  mutating func hedge() -> Int {
    attempts += 1
    race?.joins(attempts)
    return attempts
  }

  /// What the race says to a final head: nil where there is none, or it is over.
  mutating func raceHears(_ number: Int, status: Int) -> HedgeRace.Verdict? {
    follow(race?.headArrived(number, status: status), number)
  }

  /// What the race says to an end before the final head.
  mutating func raceHears(endOf number: Int) -> HedgeRace.Verdict? { follow(race?.fails(number), number) }

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

  // MARK: The present attempt

  /// Its final head has come.
  ///
  /// - Parameter isRetryable: Whether the rules may want another attempt.
  mutating func headArrived(isRetryable: Bool) -> Action {
    guard stage == .trying else { return .none }
    guard isRetryable, asks else { return pass() }
    stage = .deciding(atHead: true)
    return .decide
  }

  private var asks: Bool { mayRetry && !isRefusedRetries }

  private mutating func pass() -> Action {
    stage = .passing
    return .passOn
  }

  /// The rules and the destination have decided.
  mutating func decided(_ decision: RetryDecision) -> Action {
    guard case .deciding(let atHead) = stage else { return .none }
    switch decision {
    case .retry(let delay, _, _, _):
      stage = atHead ? .discarding(delay: delay) : .delaying
      return atHead ? .discard : .wait(delay)
    case .deny(let reason):
      hasDenied = true
      if reason.isDestinations { isRefusedRetries = true }
      return atHead ? pass() : settle()
    }
  }

  /// It is over.
  ///
  /// - Parameter failed: Whether the request has an error now.
  mutating func attemptEnded(failed: Bool) -> Action {
    switch stage {
    case .discarding(let delay):
      stage = .delaying
      return .wait(delay)
    case .trying, .passing:
      guard failed, asks else { return settle() }
      stage = .deciding(atHead: false)
      return .decide
    case .ending: return settle()
    case .idle, .deciding, .delaying, .over: return .none
    }
  }

  /// The destination did not admit it.
  mutating func rejected() -> Action { stage == .trying ? settle() : .none }

  /// The retry's time has come.
  mutating func delayElapsed() -> Action {
    guard stage == .delaying else { return .none }
    retries += 1
    return beginAttempt()
  }

  // MARK: The end

  /// Ends the request from outside: its client has left, its deadline has passed, its response can't be passed on.
  mutating func end() -> Action {
    switch stage {
    case .idle, .deciding(atHead: false), .delaying: return settle()
    case .trying, .deciding(atHead: true), .discarding, .passing:
      stage = .ending
      race?.abandon()
      return .cancel
    case .ending, .over: return .none
    }
  }

  private mutating func settle() -> Action {
    stage = .over
    return .settle
  }
}
