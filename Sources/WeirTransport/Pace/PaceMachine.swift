import WeirIO

/// Decides when attempts begin at a destination that has a pace: by its rate, and after the pauses that it asks for. A value
/// without clock; the shell keeps it under a lock.
///
/// ```
/// steady ─► paused ─► returning ─► steady
///             ▲           │
///             └───────────┘ asked for again
/// ```
/// *Paused*: no attempt begins. *Returning*: one attempt goes first. After that as many may be under way as answers came
/// since the pause, plus one, until as many came as attempts were under way before it and none waits any more. If all that
/// are under way hang, another one goes. So a limit that was hit once more costs few answers of 429.
///
/// After each call the shell asks for ``verdict(at:)`` until there is none, and then for ``nextWake(at:)``.
struct PaceMachine: Sendable {
  typealias Ticket = InFlightRecords.Ticket

  /// Why an attempt does not get a turn in time, and the seconds after which there will be one.
  struct Refusal: Hashable, Sendable {
    /// ``ShedReason/paused`` or ``ShedReason/pace``.
    let reason: ShedReason
    let retryAfter: Double
  }

  enum Arrival: Hashable, Sendable {
    case goes(Ticket)
    case waits(Ticket)
    case refused(Refusal)
  }

  /// The decision about an attempt that has waited.
  struct Verdict: Hashable, Sendable {
    let ticket: Ticket
    /// Nil: it goes.
    var refusal: Refusal?
  }

  private enum Stage {
    case steady
    /// - Parameter before: The attempts that were under way when the pause began.
    case paused(until: MonotonicTime, before: Int)
    case returning(Return)
  }

  /// The time after a pause.
  private struct Return {
    let began: MonotonicTime
    /// The attempts that were under way before the pause.
    let before: Int
    var answers = 0
    /// The attempts under way that were sent after the pause.
    var underWay = 0
    /// The attempts that go although earlier ones hang.
    var further = 0
    /// When an attempt was last sent, or was last allowed for ones that hang.
    var last: MonotonicTime

    var hasRoom: Bool { underWay < answers + 1 + further }
  }

  /// The most attempts that wait.
  static let mostWaiting = 10_000
  /// Attempts that hang for so many seconds, or twice the usual time if that is more, no longer keep another one back.
  private static let hangs = 1.0
  /// The priority of retries, for which the answer before was given up.
  private static let ofRetries = 0

  private(set) var settings: PaceSettings
  private var terms: TokenBucket.Terms?
  private var bucket = TokenBucket()
  private var attempts = InFlightTable()
  private var stage = Stage.steady
  /// Seconds that an answer takes, as a mean in which later ones count more; nil before the first.
  private var usual: Double?
  /// Until when time is accounted for.
  private var clock: MonotonicTime
  /// The pauses that have begun.
  private(set) var pauses = 0

  init(_ settings: PaceSettings, at now: MonotonicTime) {
    self.settings = settings
    terms = settings.terms
    clock = now
  }

  /// Takes other settings. Attempts that wait keep their bounds, and a pause its end.
  mutating func follow(_ settings: PaceSettings, at now: MonotonicTime) {
    if settings == self.settings { return }
    self.settings = settings
    let after = settings.terms
    // A bucket counts in parts of its terms, and means nothing by others.
    bucket = if let terms, let after { bucket.changed(from: terms, to: after, at: now) } else { TokenBucket() }
    terms = after
  }
}

// MARK: Calls

extension PaceMachine {
  /// An attempt wants to begin.
  ///
  /// - Parameters:
  ///   - priority: 0 to 7, the lower the sooner.
  ///   - timeout: Seconds for which its caller waits from now on; nil if unknown.
  ///   - isRetry: Whether it is a retry, which goes before all first attempts.
  mutating func arrived(
    priority: Int = 3, timeout: Double? = nil, isRetry: Bool = false, at now: MonotonicTime
  ) -> Arrival {
    let now = advance(to: now)
    if attempts.waiting == 0, mayGo(at: now) { return .goes(send(at: now)) }
    let priority = isRetry ? Self.ofRetries : min(max(priority, 0), InFlightTable.priorities - 1)
    let turn = secondsToTurn(after: attempts.waiting(upTo: priority), at: now)
    let bound = min(settings.boundedWait, timeout ?? .infinity)
    guard turn <= bound, attempts.waiting < Self.mostWaiting else { return .refused(refusal(turn)) }
    return .waits(attempts.wait(priority, until: now.advanced(bySeconds: bound), at: now))
  }

  /// The next decision about an attempt that waits; nil when there is none.
  mutating func verdict(at now: MonotonicTime) -> Verdict? {
    if attempts.waiting == 0 { return nil }
    let now = advance(to: now)
    if mayGo(at: now), let ticket = attempts.sendFirst(at: now) {
      sent(at: now)
      return Verdict(ticket: ticket)
    }
    guard let ticket = attempts.popOverdue(at: now) else { return nil }
    return Verdict(ticket: ticket, refusal: refusal(secondsToTurn(after: attempts.waiting, at: now)))
  }

  /// Takes a turn for a second attempt beside another one; nil if it would have to wait.
  mutating func takeTurn(at now: MonotonicTime) -> Ticket? {
    let now = advance(to: now)
    return attempts.waiting == 0 && mayGo(at: now) ? send(at: now) : nil
  }

  /// The final head came.
  ///
  /// - Parameters:
  ///   - ticket: Nil for an attempt that began without a turn.
  ///   - pause: Seconds for which the destination asks that no attempt begins; nil if it does not.
  /// - Returns: Whether a pause has begun.
  @discardableResult
  mutating func answered(_ ticket: Ticket?, pause: Double? = nil, at now: MonotonicTime) -> Bool {
    let now = advance(to: now)
    if let ticket, let attempt = attempts.end(ticket) {
      let seconds = now.seconds(since: attempt.sent)
      if pause == nil { usual = usual.map { $0 + (seconds - $0) / 8 } ?? seconds }
      left(attempt, answers: pause == nil ? 1 : 0)
    }
    guard let pause, pause > 0 else { return false }
    return self.pause(for: min(pause, PaceSettings.longestPause), at: now)
  }

  /// An attempt ended without a final head, waiting or under way.
  mutating func ended(_ ticket: Ticket, at now: MonotonicTime) {
    _ = advance(to: now)
    if let attempt = attempts.end(ticket) { left(attempt, answers: 0) } else { _ = attempts.leave(ticket) }
  }

  /// An attempt that waited, or had a turn, was not sent. The turn goes to another one.
  mutating func neverSent(_ ticket: Ticket, at now: MonotonicTime) {
    _ = advance(to: now)
    if attempts.leave(ticket) != nil { return }
    guard let attempt = attempts.end(ticket) else { return }
    left(attempt, answers: 0)
    if let terms { bucket.giveBack(by: terms) }
  }
}

// MARK: Questions

extension PaceMachine {
  /// Whether no attempt waits or is under way, and no pause is obeyed: the machine has nothing to remember but its rate.
  var isIdle: Bool {
    if case .steady = stage { attempts.waiting == 0 && attempts.onWire == 0 } else { false }
  }

  var waiting: Int { attempts.waiting }

  /// The seconds until the end of the present pause; nil without one.
  func pauseLeft(at now: MonotonicTime) -> Double? {
    guard case .paused(let until, _) = stage, until > now else { return nil }
    return until.seconds(since: now)
  }

  /// Whether a retry after so many seconds would get its turn within the longest wait, and before a deadline.
  ///
  /// - Parameter isRepair: Whether it is one with a new credential, for which no pause is waited for.
  func allowsRetry(
    after delay: Double, by deadline: MonotonicTime, isRepair: Bool = false, at now: MonotonicTime
  ) -> Bool {
    if isRepair, pauseLeft(at: now) != nil { return false }
    let begin = now.advanced(bySeconds: delay)
    var turn = begin
    if case .paused(let until, _) = stage { turn = max(turn, until) }
    if let terms {
      let ahead = attempts.waiting(upTo: Self.ofRetries)
      turn = turn.advanced(bySeconds: bucket.seconds(after: ahead, by: terms, at: turn))
    }
    return turn.seconds(since: begin) <= settings.boundedWait && turn < deadline
  }

  /// When the shell is to ask for ``verdict(at:)`` at the latest; nil if none waits.
  func nextWake(at now: MonotonicTime) -> MonotonicTime? {
    guard let bound = attempts.firstBound else { return nil }
    let now = max(now, clock)
    var next = now
    switch stage {
    case .steady: break
    case .paused(let until, _): next = max(until, now)
    case .returning(let back): if !back.hasRoom { next = max(hangEnd(back), now) }
    }
    if let terms {
      let seconds = bucket.seconds(after: 0, by: terms, at: next)
      // A nanosecond more than the rounded time, so that the token is there.
      if seconds > 0 { next = MonotonicTime(nanoseconds: next.advanced(bySeconds: seconds).nanoseconds &+ 1) }
    }
    return min(bound, next)
  }
}

// MARK: Rules

extension PaceMachine {
  /// Time has passed. Returns the time that counts: that of the last call, if a thread has read its clock before.
  private mutating func advance(to time: MonotonicTime) -> MonotonicTime {
    clock = max(clock, time)
    if case .paused(let until, let before) = stage, until <= clock {
      stage = .returning(Return(began: until, before: before, last: clock))
    }
    if case .returning(var back) = stage, !back.hasRoom, hangEnd(back) <= clock {
      back.further += 1
      back.last = clock
      stage = .returning(back)
    }
    return clock
  }

  private func hangEnd(_ back: Return) -> MonotonicTime {
    back.last.advanced(bySeconds: max(Self.hangs, 2 * (usual ?? 0)))
  }

  private func mayGo(at now: MonotonicTime) -> Bool {
    switch stage {
    case .steady: break
    case .paused: return false
    case .returning(let back): if !back.hasRoom { return false }
    }
    return terms.map { bucket.seconds(after: 0, by: $0, at: now) == 0 } ?? true
  }

  private mutating func send(at now: MonotonicTime) -> Ticket {
    let ticket = attempts.send(at: now)
    sent(at: now)
    return ticket
  }

  private mutating func sent(at now: MonotonicTime) {
    if let terms { _ = bucket.take(by: terms, at: now) }
    guard case .returning(var back) = stage else { return }
    back.underWay += 1
    back.last = now
    stage = .returning(back)
  }

  /// An attempt is no longer under way.
  private mutating func left(_ attempt: InFlightRecords.Record, answers: Int) {
    guard case .returning(var back) = stage, attempt.sent >= back.began else { return }
    back.underWay -= 1
    back.answers += answers
    stage = back.answers >= back.before && attempts.waiting == 0 ? .steady : .returning(back)
  }

  private mutating func pause(for seconds: Double, at now: MonotonicTime) -> Bool {
    let end = now.advanced(bySeconds: seconds)
    if case .paused(let until, let before) = stage {
      stage = .paused(until: max(until, end), before: before)
      return false
    }
    stage = .paused(until: end, before: attempts.onWire + 1)
    pauses += 1
    return true
  }

  /// Seconds until the turn of an attempt before which so many others go, as far as it can be foreseen.
  private func secondsToTurn(after ahead: Int, at now: MonotonicTime) -> Double {
    let pause = pauseLeft(at: now) ?? 0
    guard let terms else { return pause }
    return pause + bucket.seconds(after: ahead, by: terms, at: now.advanced(bySeconds: pause))
  }

  private func refusal(_ seconds: Double) -> Refusal {
    if case .steady = stage { return Refusal(reason: .pace, retryAfter: seconds) }
    return Refusal(reason: .paused, retryAfter: seconds)
  }
}
