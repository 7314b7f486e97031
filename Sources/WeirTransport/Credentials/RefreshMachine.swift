package import WeirIO

/// The life of a credential as a value: which requests may use it, which wait for a new one, and when to fetch that.
///
/// There is no lock, clock or user code in here. Facts that only the credential and its owner know are asked for
/// beforehand, and come with the credential's version. So facts about an outdated credential are recognized.
///
/// ```
/// idle ─► refreshing ─► idle                    failed ─► idle   by a request whose credential looks valid
///              └──────► failed ─► refreshing    any ─► idle      by a credential that is set
/// ```
/// There is one call at a time. If a credential is set during a call, the call's result is no longer wanted, but the
/// next call can begin only once it has ended. Until then, the next call is *due*.
///
/// Where credentials *age*, the next one is fetched while the one before is still good, and nobody waits for that. After
/// a failure there is a *silence*, in which no call begins; and the limit of calls counts only those that a refusal
/// began.
package struct RefreshMachine<Credential: Sendable, Waiter: Sendable>: Sendable {
  /// A number that changes with each credential.
  package typealias Version = UInt64
  package typealias Ticket = UInt64

  private enum State {
    case idle, refreshing, due
    case failed(any Error)
  }

  /// The facts that requests decide by.
  package struct Look {
    package let credential: Credential?
    package let version: Version
    /// Whether a credential that needs no refresh may be used without asking the machine.
    package let isIdle: Bool
  }

  /// A new credential is to be fetched.
  package struct Call {
    package let number: UInt64
    package let credential: Credential
    /// Whether it counts against the limit.
    let counts: Bool
  }

  package enum AdaptAnswer {
    /// The call, if any, begins a refresh for which nobody waits.
    case apply(Credential, Call?)
    /// The adaptation waits; the call, if any, begins the refresh.
    case wait(Ticket, Call?)
    /// The last refresh has failed, and the next one does not begin yet.
    case refuse(any Error)
    case missingCredential
    case excessiveRefresh
    /// The credential has changed since the request looked at it.
    case lookAgain
  }

  package enum RetryAnswer {
    case retry(Version)
    /// The retry waits; the call, if any, begins the refresh.
    case wait(Ticket, Call?)
    case refuse(any Error)
    case missingCredential
    case excessiveRefresh
  }

  package enum Action {
    case none
    /// Waiters in the order in which they came.
    case release([Waiter], RefreshOutcome)
    /// The refresh that was due begins, on behalf of the first waiter.
    case refresh(Call, for: Waiter)
  }

  private var credential: Credential?
  private var version: Version = 0
  private var state = State.idle
  /// The call that has not ended.
  private var call: Call?
  private var callCount: UInt64 = 0
  /// Nil if any number of refreshes may begin.
  private var times: RefreshTimes?
  private let ages: Bool
  private var silence = RefreshSilence()
  private var waiters: [Ticket: (waiter: Waiter, isDeferred: Bool)] = [:]
  private var deferredCount = 0
  private var lastTicket: Ticket = 0

  /// - Parameter ages: Whether credentials age.
  package init(credential: Credential?, times: RefreshTimes?, ages: Bool = false) {
    self.credential = credential
    self.times = times
    self.ages = ages
  }

  package var waiterCount: Int { waiters.count }

  /// User values that the next input may drop. The caller releases them after its lock.
  package var belongings: (Credential?, (any Error)?) {
    guard case .failed(let error) = state else { return (credential, nil) }
    return (credential, error)
  }

  package func look() -> Look {
    let isIdle = if case .idle = state { true } else { false }
    return Look(credential: credential, version: version, isIdle: isIdle)
  }

  /// The error of the last refresh, unless another one has begun since, or the credential is used again.
  package var failure: (any Error)? { if case .failed(let error) = state { error } else { nil } }

  /// Seconds until the next refresh may begin; 0 outside of a silence.
  package func silenceLeft(at now: MonotonicTime) -> Double { silence.left(at: now) }

  /// Whether the call has not ended.
  package func isRunning(_ number: UInt64) -> Bool { call?.number == number }

  /// Whether the call's result will be used.
  package func isWanted(_ number: UInt64) -> Bool {
    if case .refreshing = state { call?.number == number } else { false }
  }

  // MARK: Requests

  /// A request is about to be sent.
  ///
  /// - Parameters:
  ///   - version: The version of the credential that the request looked at.
  ///   - need: Whether that credential needs a refresh.
  package mutating func adapt(
    _ waiter: Waiter, seen version: Version, _ need: RefreshNeed, at now: MonotonicTime
  ) -> AdaptAnswer {
    guard version == self.version else { return .lookAgain }
    if isRefreshing, deferredCount > 0 || need == .now || isStale {
      return .wait(enlist(waiter, isDeferred: true), nil)
    }
    guard let credential else { return .missingCredential }
    let isSilent = silence.left(at: now) > 0
    switch need {
    case .none:
      if case .failed = state, !isSilent { state = .idle }
      return .apply(credential, nil)
    case .soon: return .apply(credential, fetch(at: now))
    case .now:
      if isSilent, let failure { return .refuse(failure) }
      guard let call = begin(with: credential, isRefused: false, at: now) else { return .excessiveRefresh }
      return .wait(enlist(waiter, isDeferred: true), call)
    }
  }

  /// A request that carried the credential of this version was refused.
  ///
  /// - Parameter need: Whether that credential needs a refresh anyway, which then does not count as begun by a refusal.
  package mutating func retry(
    _ waiter: Waiter, seen version: Version, _ need: RefreshNeed = .none, at now: MonotonicTime
  ) -> RetryAnswer {
    guard version == self.version else { return .retry(self.version) }
    if case .failed(let error) = state, !ages || silence.left(at: now) > 0 { return .refuse(error) }
    if isRefreshing { return .wait(enlist(waiter, isDeferred: false), nil) }
    guard let credential else { return .missingCredential }
    guard let call = begin(with: credential, isRefused: need != .now, at: now) else { return .excessiveRefresh }
    return .wait(enlist(waiter, isDeferred: false), call)
  }

  /// A new credential is wanted, and nobody waits for it. Returns nil if one is being fetched, or can't be yet.
  package mutating func fetch(at now: MonotonicTime) -> Call? {
    guard !isRefreshing, call == nil, silence.left(at: now) == 0, let credential else { return nil }
    return begin(with: credential, isRefused: false, at: now) ?? nil
  }

  /// The cause of the last failure may be mended: the next refresh may begin at once.
  package mutating func endSilence() { silence.end() }

  /// A request that nobody waits for was refused, such as a check. Returns nil if its credential has changed since, or
  /// another one is being fetched, or can't be yet.
  package mutating func refuse(seen version: Version, at now: MonotonicTime) -> Call? {
    guard version == self.version, !isRefreshing, call == nil, silence.left(at: now) == 0, let credential else {
      return nil
    }
    return begin(with: credential, isRefused: true, at: now) ?? nil
  }

  /// A waiter's request has ended for another reason. Returns the waiter if it still waited.
  package mutating func leave(_ ticket: Ticket) -> Waiter? {
    guard let left = waiters.removeValue(forKey: ticket) else { return nil }
    if left.isDeferred { deferredCount -= 1 }
    return left.waiter
  }

  // MARK: Credentials

  /// A credential was set. It takes precedence over the result of a refresh under way.
  package mutating func set(_ credential: Credential?) -> Action {
    self.credential = credential
    version += 1
    silence.end()
    let hadRefresh = isRefreshing
    state = .idle
    return hadRefresh ? release(.proceed(version)) : .none
  }

  /// The call has ended.
  ///
  /// - Parameters:
  ///   - discards: Whether the credential is discarded after a failure.
  ///   - retryAfter: Seconds that the failure asks to wait for; nil if it says nothing of that.
  ///   - random: 0 to 1, for the length of the silence.
  package mutating func ended(
    _ number: UInt64, _ result: Result<Credential, any Error>, discards: Bool, retryAfter: Double? = nil,
    random: Double = 0.5, at now: MonotonicTime
  ) -> Action {
    guard isRunning(number) else { return .none }
    call = nil
    switch state {
    case .idle, .failed: return .none
    case .due: return beginDue(at: now)
    case .refreshing: break
    }
    switch result {
    case .success(let new):
      credential = new
      version += 1
      state = .idle
      silence.end()
      return release(.proceed(version))
    case .failure(let error):
      if discards { credential = nil }
      state = .failed(error)
      if ages { silence.begin(atLeast: retryAfter, random: random, at: now) }
      return release(.fail(error))
    }
  }

  /// The call was not made, and does not count, because its session is gone. Waiters of other sessions ask again.
  package mutating func withdrew(_ number: UInt64, at now: MonotonicTime) -> Action {
    guard let withdrawn = call, withdrawn.number == number else { return .none }
    call = nil
    if withdrawn.counts { times?.withdraw() }
    switch state {
    case .idle, .failed: return .none
    case .due: return beginDue(at: now)
    case .refreshing:
      state = .idle
      return release(.again)
    }
  }

  // MARK: Steps

  /// Whether a credential that ages was refused, and the next one is being fetched: nobody uses it meanwhile.
  package var isStale: Bool { ages && isRefreshing && call?.counts == true }

  package var isRefreshing: Bool {
    switch state {
    case .refreshing, .due: true
    case .idle, .failed: false
    }
  }

  /// Returns nil if there were too many refreshes, and `.some(nil)` if the call has to wait for the end of the one
  /// before.
  private mutating func begin(with credential: Credential, isRefused: Bool, at now: MonotonicTime) -> Call?? {
    if call != nil {
      state = .due
      return .some(nil)
    }
    let counts = isRefused || !ages
    if counts, times?.begin(at: now) == false {
      // One that ages may be good still.
      if !ages { state = .failed(ExcessiveRefresh()) }
      return nil
    }
    callCount += 1
    let next = Call(number: callCount, credential: credential, counts: counts)
    call = next
    state = .refreshing
    return next
  }

  private mutating func beginDue(at now: MonotonicTime) -> Action {
    // The requests that wanted the refresh may have gone.
    guard let credential, let first = waiters.min(by: { $0.key < $1.key })?.value.waiter else {
      state = .idle
      return .none
    }
    guard case .some(let call?) = begin(with: credential, isRefused: false, at: now) else {
      return release(.excessiveRefresh)
    }
    return .refresh(call, for: first)
  }

  private mutating func enlist(_ waiter: Waiter, isDeferred: Bool) -> Ticket {
    lastTicket += 1
    waiters[lastTicket] = (waiter, isDeferred)
    if isDeferred { deferredCount += 1 }
    return lastTicket
  }

  private mutating func release(_ outcome: RefreshOutcome) -> Action {
    let released = waiters.sorted { $0.key < $1.key }.map(\.value.waiter)
    waiters = [:]
    deferredCount = 0
    return .release(released, outcome)
  }
}

/// Whether a credential needs a refresh.
package enum RefreshNeed: Hashable, Sendable {
  case none
  /// It is good, and the next one is to be fetched.
  case soon
  /// It is of no use.
  case now
}

/// The result for the requests that waited.
package enum RefreshOutcome: Sendable {
  /// Deferred adaptations ask again; retries take place, with the credential of this version.
  case proceed(UInt64)
  case fail(any Error)
  case excessiveRefresh
  /// The requests ask again, as if they had not asked yet. Those whose session is gone fail instead.
  case again
}

/// The error of a machine whose last refresh did not begin, since there were too many.
package struct ExcessiveRefresh: Error {}

/// The times at which refreshes began; their number within an interval is limited.
package struct RefreshTimes: Sendable {
  /// Seconds.
  let interval: Double
  let maximumAttempts: Int
  private(set) var times: [MonotonicTime] = []

  package init(interval: Double, maximumAttempts: Int) {
    self.interval = interval
    self.maximumAttempts = maximumAttempts
  }

  /// Whether another refresh may begin; if so, it counts.
  mutating func begin(at now: MonotonicTime) -> Bool {
    times.removeAll { now.seconds(since: $0) > interval }
    guard times.count < maximumAttempts else { return false }
    times.append(now)
    return true
  }

  /// Removes the last time: that refresh did not take place.
  mutating func withdraw() {
    _ = times.popLast()
  }
}

/// The time after a failed refresh in which no other one begins: a second, doubled with each failure in a row.
struct RefreshSilence: Sendable {
  static let longest = 60.0

  private var failures = 0
  private var until = MonotonicTime(nanoseconds: 0)

  /// - Parameters:
  ///   - least: Seconds that the failure asks for; at most ``longest`` of them count.
  ///   - random: 0 to 1: ±20 % of the time.
  mutating func begin(atLeast least: Double?, random: Double, at now: MonotonicTime) {
    let seconds = failures < 6 ? Double(1 << failures) : Self.longest
    failures += 1
    until = now.advanced(bySeconds: max(seconds * (0.8 + 0.4 * random), min(least ?? 0, Self.longest)))
  }

  mutating func end() { self = RefreshSilence() }

  func left(at now: MonotonicTime) -> Double { max(0, until.seconds(since: now)) }
}
