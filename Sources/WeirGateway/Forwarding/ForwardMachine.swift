import WeirTransport

/// One forwarded request as a value: whether an attempt is under way, whether its head has gone to the client, and the
/// next action.
///
/// ```
/// idle ─► trying ─► deciding ─► passing ─► over
///           ▲  └────────┤          │
///           │           ▼          ▼ taken back
///           └─ delaying ◄─ discarding, or a failure was decided about
/// ```
/// `end` leads from every stage to `over`. While attempts run, it leads there by `ending`, until they have reported
/// their ends. Inputs return the action to perform. There is no lock, clock or I/O in here. Several attempts run only
/// in a race (``HedgeRace``), in which one of them is the *present* one. The others end without a decision, or take its
/// place.
struct ForwardMachine: Sendable {
  enum Stage: Hashable, Sendable {
    /// The request's body is being gathered.
    case idle
    /// Attempts wait for a slot or for a head.
    case trying
    /// The rules are being asked about the present attempt's head, or about its failure.
    case deciding(atHead: Bool)
    /// The body of the present attempt's response is being discarded; the retry that follows waits for `delay` seconds.
    case discarding(delay: Double)
    case delaying
    /// The present attempt's head has gone to the client.
    case passing
    /// The request has ended, but the present attempt has not reported its end yet.
    case ending
    case over
  }

  enum Action: Hashable, Sendable {
    case none
    /// Begin an attempt.
    case attempt
    /// Ask the rules about a retry.
    case decide
    /// Pass the present attempt's head and body on to the client.
    case passOn
    /// Discard the body of the present attempt's response.
    case discard
    /// Retry after this many seconds.
    case wait(Double)
    /// Cancel the present attempt, and end all others.
    case cancel
    /// Report the outcome, and answer the client.
    case settle
  }

  private(set) var stage = Stage.idle
  private(set) var present = 0
  private(set) var retries = 0
  /// The number of attempts that were begun.
  private(set) var attempts = 0
  private(set) var race: HedgeRace?
  /// Whether a denied retry was reported for the present attempt.
  private(set) var hasDenied = false
  /// Whether the destination has refused retries. Then the rules are not asked about further ones.
  private var isRefusedRetries = false
  /// Whether anything may be retried.
  private let mayRetry: Bool
  private let hedges: Int

  /// - Parameters:
  ///   - mayRetry: Whether anything may be retried.
  ///   - hedges: The number of second attempts allowed.
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

  /// Whether an attempt that gets a slot may start. False if the attempt is no longer wanted.
  func mayStart(_ number: Int) -> Bool { stage == .trying && number == present }

  // MARK: The race

  /// The attempt is on the wire. Returns whether a second one may follow, after the delay.
  mutating func isOnWire(_ number: Int) -> Bool {
    guard hedges > 0, number == present else { return false }
    if race == nil { race = HedgeRace(limit: hedges) }
    race?.begins(number)
    return mayHedge
  }

  /// Whether there may be a second attempt now.
  var mayHedge: Bool { stage == .trying && race?.mayHedge ?? false }

  /// Allows a second attempt to begin, if there is room for it.
  mutating func grantHedge() { race?.grant() }

  /// Begins a second attempt beside the present one, and returns its number.
  mutating func hedge() -> Int {
    attempts += 1
    race?.joins(attempts)
    return attempts
  }

  /// The verdict of the race on a final head; nil if there is no race, or if it is over.
  mutating func raceHears(_ number: Int, status: Int) -> HedgeRace.Verdict? {
    follow(race?.headArrived(number, status: status), number)
  }

  /// The verdict of the race on an attempt's end before its final head.
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

  /// Whether an interim head of the attempt goes to the client (RFC 9110 §15.2). It does as long as this attempt is the
  /// only one, so that the client does not hear of a response that loses the race. A retry may still follow, and brings
  /// interim heads of its own: they are hints, of which none is a part of the response.
  func passesInterim(_ number: Int) -> Bool {
    stage == .trying && number == present && race?.runners.count ?? 1 <= 1
  }

  /// The present attempt's final head has come.
  ///
  /// - Parameter isRetryable: Whether the rules may want another attempt.
  mutating func headArrived(isRetryable: Bool) -> Action {
    guard stage == .trying else { return .none }
    guard isRetryable, asks else { return pass() }
    stage = .deciding(atHead: true)
    return .decide
  }

  /// The upstream has switched to another protocol, and its head has gone to the client. The request is over.
  mutating func tunnelOpened() -> Action { stage == .trying ? settle() : .none }

  private var asks: Bool { mayRetry && !isRefusedRetries }

  private mutating func pass() -> Action {
    stage = .passing
    return .passOn
  }

  /// The rules and the destination have decided. Nil: there is no rule for what happened.
  mutating func decided(_ decision: RetryDecision?) -> Action {
    guard case .deciding(let atHead) = stage else { return .none }
    switch decision {
    case nil: return atHead ? pass() : settle()
    case .retry(let delay, _, _, _)?:
      stage = atHead ? .discarding(delay: delay) : .delaying
      return atHead ? .discard : .wait(delay)
    case .deny(let reason)?:
      hasDenied = true
      if reason.isDestinations { isRefusedRetries = true }
      return atHead ? pass() : settle()
    }
  }

  /// The present attempt is over.
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

  /// The destination did not admit the attempt.
  mutating func rejected() -> Action { stage == .trying ? settle() : .none }

  /// The delay before the retry is over.
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
