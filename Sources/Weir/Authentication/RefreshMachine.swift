import WeirIO

/// The life of a credential as a value: which requests may use it, which wait for a new one, and when to call the
/// authenticator.
///
/// There is no lock, clock or user code in here. Facts that only the authenticator and the credential know are asked
/// for beforehand, and come with the credential's version. So facts about an outdated credential are recognized.
///
/// ```
/// idle ─► refreshing ─► idle                    failed ─► idle   by a request whose credential looks valid
///              └──────► failed ─► refreshing    any ─► idle      by a credential that is set
/// ```
/// There is one call to the authenticator at a time. If a credential is set during a call, the call's result is no
/// longer wanted, but the next call can begin only once it has ended. Until then, the next call is *due*.
struct RefreshMachine<Credential: Sendable, Waiter: Sendable>: Sendable {
  /// A number that changes with each credential.
  typealias Version = UInt64
  typealias Ticket = UInt64

  private enum State {
    case idle, refreshing, due
    case failed(any Error)
  }

  /// The facts that requests decide by.
  struct Look {
    let credential: Credential?
    let version: Version
    /// Whether a credential that needs no refresh may be used without asking the machine.
    let isIdle: Bool
  }

  /// The authenticator is to be called.
  struct Call {
    let number: UInt64
    let credential: Credential
  }

  enum AdaptAnswer {
    case apply(Credential)
    /// The adaptation waits; the call, if any, begins the refresh.
    case wait(Ticket, Call?)
    case missingCredential
    case excessiveRefresh
    /// The credential has changed since the request looked at it.
    case lookAgain
  }

  enum RetryAnswer {
    case retry(Version)
    /// The retry waits; the call, if any, begins the refresh.
    case wait(Ticket, Call?)
    case refuse(any Error)
    case missingCredential
    case excessiveRefresh
  }

  enum Action {
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
  private var call: UInt64?
  private var callCount: UInt64 = 0
  /// Nil if any number of refreshes may begin.
  private var times: RefreshTimes?
  private var waiters: [Ticket: (waiter: Waiter, isDeferred: Bool)] = [:]
  private var deferredCount = 0
  private var lastTicket: Ticket = 0

  init(credential: Credential?, times: RefreshTimes?) {
    self.credential = credential
    self.times = times
  }

  var waiterCount: Int { waiters.count }

  /// User values that the next input may drop. The caller releases them after its lock.
  var belongings: (Credential?, (any Error)?) {
    guard case .failed(let error) = state else { return (credential, nil) }
    return (credential, error)
  }

  func look() -> Look {
    let isIdle = if case .idle = state { true } else { false }
    return Look(credential: credential, version: version, isIdle: isIdle)
  }

  /// Whether the call has not ended.
  func isRunning(_ number: UInt64) -> Bool { call == number }

  /// Whether the call's result will be used.
  func isWanted(_ number: UInt64) -> Bool {
    if case .refreshing = state { call == number } else { false }
  }

  // MARK: Requests

  /// A request is about to be sent.
  ///
  /// - Parameters:
  ///   - version: The version of the credential that the request looked at.
  ///   - requiresRefresh: Whether that credential needs a refresh.
  mutating func adapt(
    _ waiter: Waiter, seen version: Version, requiresRefresh: Bool, at now: MonotonicTime
  ) -> AdaptAnswer {
    guard version == self.version else { return .lookAgain }
    if isRefreshing, deferredCount > 0 || requiresRefresh { return .wait(enlist(waiter, isDeferred: true), nil) }
    guard let credential else { return .missingCredential }
    guard requiresRefresh else {
      if case .failed = state { state = .idle }
      return .apply(credential)
    }
    guard let call = begin(with: credential, at: now) else { return .excessiveRefresh }
    return .wait(enlist(waiter, isDeferred: true), call)
  }

  /// A request that carried the credential of this version was refused.
  mutating func retry(_ waiter: Waiter, seen version: Version, at now: MonotonicTime) -> RetryAnswer {
    guard version == self.version else { return .retry(self.version) }
    if case .failed(let error) = state { return .refuse(error) }
    if isRefreshing { return .wait(enlist(waiter, isDeferred: false), nil) }
    guard let credential else { return .missingCredential }
    guard let call = begin(with: credential, at: now) else { return .excessiveRefresh }
    return .wait(enlist(waiter, isDeferred: false), call)
  }

  /// A waiter's request has ended for another reason. Returns the waiter if it still waited.
  mutating func leave(_ ticket: Ticket) -> Waiter? {
    guard let left = waiters.removeValue(forKey: ticket) else { return nil }
    if left.isDeferred { deferredCount -= 1 }
    return left.waiter
  }

  // MARK: Credentials

  /// A credential was set. It takes precedence over the result of a refresh under way.
  mutating func set(_ credential: Credential?) -> Action {
    self.credential = credential
    version += 1
    let hadRefresh = isRefreshing
    state = .idle
    return hadRefresh ? release(.proceed(version)) : .none
  }

  /// The authenticator has answered.
  ///
  /// - Parameter discards: Whether the credential is discarded after a failure.
  mutating func ended(
    _ number: UInt64, _ result: Result<Credential, any Error>, discards: Bool, at now: MonotonicTime
  ) -> Action {
    guard call == number else { return .none }
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
      return release(.proceed(version))
    case .failure(let error):
      if discards { credential = nil }
      state = .failed(error)
      return release(.fail(error))
    }
  }

  /// The call was not made, and does not count, because its session is gone. Waiters of other sessions ask again.
  mutating func withdrew(_ number: UInt64, at now: MonotonicTime) -> Action {
    guard call == number else { return .none }
    call = nil
    times?.withdraw()
    switch state {
    case .idle, .failed: return .none
    case .due: return beginDue(at: now)
    case .refreshing:
      state = .idle
      return release(.again)
    }
  }

  // MARK: Steps

  private var isRefreshing: Bool {
    switch state {
    case .refreshing, .due: true
    case .idle, .failed: false
    }
  }

  /// Returns nil if there were too many refreshes, and `.some(nil)` if the call has to wait for the end of the one
  /// before.
  private mutating func begin(with credential: Credential, at now: MonotonicTime) -> Call?? {
    if call != nil {
      state = .due
      return .some(nil)
    }
    guard times?.begin(at: now) ?? true else {
      state = .failed(AuthenticationError.excessiveRefresh)
      return nil
    }
    callCount += 1
    call = callCount
    state = .refreshing
    return Call(number: callCount, credential: credential)
  }

  private mutating func beginDue(at now: MonotonicTime) -> Action {
    // The requests that wanted the refresh may have gone.
    guard let credential, let first = waiters.min(by: { $0.key < $1.key })?.value.waiter else {
      state = .idle
      return .none
    }
    guard case .some(let call?) = begin(with: credential, at: now) else { return release(.excessiveRefresh) }
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

/// The result for the requests that waited.
enum RefreshOutcome: Sendable {
  /// Deferred adaptations ask again; retries take place, with the credential of this version.
  case proceed(UInt64)
  case fail(any Error)
  case excessiveRefresh
  /// The requests ask again, as if they had not asked yet. Those whose session is gone fail instead.
  case again
}

/// The times at which refreshes began; their number within an interval is limited.
struct RefreshTimes: Sendable {
  /// Seconds.
  let interval: Double
  let maximumAttempts: Int
  private(set) var times: [MonotonicTime] = []

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
