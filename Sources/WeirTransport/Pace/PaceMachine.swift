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
/// since the pause, plus one, until as many came as attempts were under way before it and none waits any more. If those
/// that are under way hang, another one goes. So a limit that was hit once more costs few answers of 429.
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

  /// The rate, and what has begun by it.
  private struct Rate {
    var terms: TokenBucket.Terms
    var bucket = TokenBucket()
    /// The attempt that took the last token. No other one gives its token back: later ones have begun by the rate since.
    var last: Ticket?

    mutating func take(for ticket: Ticket, at now: MonotonicTime, _ hasWaited: Bool) {
      let due = bucket.time(after: 0, by: terms, at: MonotonicTime(nanoseconds: 0))
      let isLate = hasWaited && now.seconds(since: due) <= PaceSettings.lateness
      _ = bucket.take(by: terms, at: isLate ? due : now)
      last = ticket
    }
  }

  /// A pause, and the time after it in which the machine returns to its steady state.
  private struct Pause {
    /// No attempt begins before.
    var end: MonotonicTime
    /// The attempts that were under way at its beginning.
    let before: Int
    /// The answers to attempts that began after its end.
    var answers = 0
    /// The attempts under way that began after its end.
    var underWay = 0
    /// When the last of them began.
    var last: MonotonicTime

    var hasRoom: Bool { underWay <= answers }
  }

  /// The most attempts that wait.
  static let mostWaiting = 10_000
  /// Attempts that hang for so many seconds, or twice the usual time if that is more, no longer keep another one back.
  private static let hangs = 1.0
  /// The priority of retries, for which the answer before was given up.
  private static let ofRetries = 0

  private(set) var settings: PaceSettings
  private(set) var attempts = InFlightTable()
  /// Nil for any rate.
  private var rate: Rate?
  /// Nil in the steady state.
  private var pause: Pause?
  /// Seconds that an answer takes, as a mean in which later ones count more; nil before the first.
  private var usual: Double?
  /// The latest time of a call.
  private var clock: MonotonicTime
  /// The pauses that have begun.
  private(set) var pauses = 0
  /// The attempts that were refused.
  private(set) var refusals = 0
  /// The retries that were granted and have not asked for their turns yet.
  private var promised = 0

  init(_ settings: PaceSettings, at now: MonotonicTime) {
    self.settings = settings
    rate = settings.terms.map { Rate(terms: $0) }
    clock = now
  }

  /// Takes other settings. Attempts that wait keep their bounds, and a pause its end unless none is obeyed any more.
  mutating func follow(_ settings: PaceSettings, at now: MonotonicTime) {
    if settings == self.settings { return }
    self.settings = settings
    if settings.obey.isEmpty { pause = nil }
    guard let terms = settings.terms else { return rate = nil }
    let now = advance(to: now)
    let bucket = rate.map { $0.bucket.changed(from: $0.terms, to: terms, at: now) } ?? TokenBucket()
    rate = Rate(terms: terms, bucket: bucket, last: rate?.last)
  }
}

// MARK: Calls

extension PaceMachine {
  /// An attempt wants to begin.
  ///
  /// - Parameters:
  ///   - priority: 0 to 7, the lower the sooner.
  ///   - timeout: Seconds for which its caller waits from now on; nil if unknown.
  ///   - isRetry: Whether it is a retry, which waits with the first priority.
  mutating func arrived(
    priority: Int = 3, timeout: Double? = nil, isRetry: Bool = false, at now: MonotonicTime
  ) -> Arrival {
    let now = advance(to: now)
    if attempts.waiting == 0, mayGo(at: now) { return .goes(send(at: now)) }
    let priority = isRetry ? Self.ofRetries : min(max(priority, 0), InFlightTable.priorities - 1)
    let ahead = attempts.waiting(upTo: priority) + promised
    let bound = now.advanced(bySeconds: min(settings.boundedWait, timeout ?? .infinity))
    guard bound > now, turn(after: ahead, from: now) <= bound, attempts.waiting < Self.mostWaiting else {
      return .refused(refuse(after: ahead, at: now))
    }
    return .waits(attempts.wait(priority, until: bound, at: now))
  }

  /// The next decision about an attempt that waits; nil when there is none.
  mutating func verdict(at now: MonotonicTime) -> Verdict? {
    if attempts.waiting == 0 { return nil }
    let now = advance(to: now)
    if mayGo(at: now), let ticket = attempts.sendFirst(at: now) {
      sent(ticket, at: now, hasWaited: true)
      return Verdict(ticket: ticket)
    }
    guard let ticket = attempts.popOverdue(at: now) else { return nil }
    return Verdict(ticket: ticket, refusal: refuse(after: attempts.waiting, at: now))
  }

  /// Takes a turn for a second attempt beside another one; nil if it would have to wait.
  mutating func takeTurn(at now: MonotonicTime) -> Ticket? {
    let now = advance(to: now)
    return attempts.waiting == 0 && mayGo(at: now) ? send(at: now) : nil
  }

  /// A retry is granted, and asks for its turn later, or gives that up.
  mutating func promise(_ isGranted: Bool) { promised = max(0, promised + (isGranted ? 1 : -1)) }

  /// An attempt has its turn and waits for a slot.
  mutating func waitsForSlot(_ ticket: Ticket) { _ = attempts.uploads(ticket) }

  /// An attempt that has waited for a slot is to be sent. Returns false if its turn counts no more: a pause has begun since,
  /// or so much time has passed that too many such attempts might go at once.
  mutating func begins(_ ticket: Ticket, at now: MonotonicTime) -> Bool {
    let now = advance(to: now)
    guard let attempt = attempts.sent(ticket), pauseLeft(at: now) == nil, attempt.sent >= pause?.end ?? attempt.sent,
      rate == nil || now.seconds(since: attempt.sent) <= PaceSettings.lateness
    else { return false }
    return attempts.hasUploaded(ticket, at: now)
  }

  /// The final head came.
  ///
  /// - Parameters:
  ///   - ticket: Nil for an attempt that began without a turn.
  ///   - seconds: For which the destination asks that no attempt begins; nil if it does not.
  /// - Returns: Whether a pause has begun.
  @discardableResult
  mutating func answered(_ ticket: Ticket?, pause seconds: Double? = nil, at now: MonotonicTime) -> Bool {
    let now = advance(to: now)
    if let ticket, let attempt = attempts.end(ticket) {
      if seconds == nil { noteUsual(now.seconds(since: attempt.sent)) }
      left(attempt, answers: seconds == nil ? 1 : 0)
    }
    return seconds.map { begin(until: now.advanced(bySeconds: $0), at: now) } ?? false
  }

  /// An attempt ended without a final head, waiting or under way.
  mutating func ended(_ ticket: Ticket, at now: MonotonicTime) {
    _ = advance(to: now)
    if let attempt = attempts.end(ticket) { left(attempt, answers: 0) } else { _ = attempts.leave(ticket) }
  }

  /// An attempt that waited, or had a turn, was not sent. The turn goes to another one.
  mutating func neverSent(_ ticket: Ticket, at now: MonotonicTime) {
    ended(ticket, at: now)
    guard let terms = rate?.terms, rate?.last == ticket else { return }
    rate?.bucket.giveBack(by: terms)
    rate?.last = nil
  }
}

// MARK: Questions

extension PaceMachine {
  /// The seconds until the end of the present pause; nil without one.
  func pauseLeft(at now: MonotonicTime) -> Double? {
    guard let end = pause?.end, end > now else { return nil }
    return end.seconds(since: now)
  }

  /// Whether a retry after so many seconds would get its turn within the longest wait, and before a deadline.
  ///
  /// - Parameters:
  ///   - waited: The seconds of that wait that its request has used up.
  ///   - isRepair: Whether it is one with a new credential, for which no pause is waited for.
  func allowsRetry(
    after delay: Double, waited: Double = 0, by deadline: MonotonicTime, isRepair: Bool = false,
    at now: MonotonicTime
  ) -> Bool {
    if isRepair, pauseLeft(at: now) != nil { return false }
    let begin = now.advanced(bySeconds: delay)
    let turn = turn(after: attempts.waiting(upTo: Self.ofRetries) + promised, from: begin)
    return turn <= begin.advanced(bySeconds: settings.boundedWait - waited) && turn < deadline
  }

  /// When the shell is to ask for ``verdict(at:)`` at the latest; nil if none waits.
  func nextWake(at now: MonotonicTime) -> MonotonicTime? {
    attempts.firstBound.map { min($0, nextTurn(at: max(now, clock))) }
  }
}

// MARK: Rules

extension PaceMachine {
  /// Time has passed. Returns the time that counts: that of the last call, if a thread has read its clock before.
  private mutating func advance(to time: MonotonicTime) -> MonotonicTime {
    clock = max(clock, time)
    return clock
  }

  private func mayGo(at now: MonotonicTime) -> Bool { nextTurn(at: now) <= now }

  /// When the next attempt may begin, if no other one ends before.
  private func nextTurn(at now: MonotonicTime) -> MonotonicTime { turn(after: 0, from: max(now, opening ?? now)) }

  /// When an attempt gets its turn that is there from a time on, and before which so many others go, as far as it can be
  /// foreseen.
  private func turn(after ahead: Int, from begin: MonotonicTime) -> MonotonicTime {
    var begin = begin
    if let pause {
      // With each round of answers twice as many attempts go.
      let rounds = Int.bitWidth - 1 - (1 + ahead / (pause.answers + 1)).leadingZeroBitCount
      begin = max(begin, pause.end).advanced(bySeconds: Double(rounds) * (usual ?? 0))
    }
    return rate.map { $0.bucket.time(after: ahead, by: $0.terms, at: begin) } ?? begin
  }

  /// When the pause and the attempts that began after it let another one begin; nil in the steady state.
  private var opening: MonotonicTime? {
    pause.map { $0.hasRoom ? $0.end : $0.last.advanced(bySeconds: max(Self.hangs, 2 * (usual ?? 0))) }
  }

  private mutating func refuse(after ahead: Int, at now: MonotonicTime) -> Refusal {
    refusals += 1
    let opening = max(now, opening ?? now)
    return Refusal(
      reason: opening > now ? .paused : .pace, retryAfter: turn(after: ahead, from: opening).seconds(since: now))
  }

  private mutating func send(at now: MonotonicTime) -> Ticket {
    let ticket = attempts.send(at: now)
    sent(ticket, at: now)
    return ticket
  }

  private mutating func sent(_ ticket: Ticket, at now: MonotonicTime, hasWaited: Bool = false) {
    rate?.take(for: ticket, at: now, hasWaited)
    pause?.underWay += 1
    pause?.last = now
  }

  /// An attempt is no longer under way.
  private mutating func left(_ attempt: InFlightRecords.Record, answers: Int) {
    guard let end = pause?.end, attempt.sent >= end else { return }
    pause?.underWay -= 1
    pause?.answers += answers
    if let pause, pause.answers >= pause.before, attempts.waiting == 0 { self.pause = nil }
  }

  private mutating func noteUsual(_ seconds: Double) { usual = usual.map { $0 + (seconds - $0) / 8 } ?? seconds }

  /// Begins a pause, or extends the present one. Returns whether it has begun.
  private mutating func begin(until end: MonotonicTime, at now: MonotonicTime) -> Bool {
    if let present = pause?.end, present > now {
      pause?.end = max(present, end)
      return false
    }
    guard end > now else { return false }
    // The one that asks for it has just left.
    pause = Pause(end: end, before: attempts.counted + 1, last: end)
    pauses += 1
    return true
  }
}
