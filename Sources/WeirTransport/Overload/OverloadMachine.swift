import WeirIO

/// Decides which attempts one destination gets at once, which wait and which are refused, so that it stays as fast as its
/// callers wait for it. A value without clock and chance; the shell keeps it under the destination's lock.
///
/// ```
///            callers lose, and answers are slow for this upstream
///   free ──────────────────────────────────────────────────────────► controlled
///        ◄──────────────────────────────────────────────────────────
///            for 10 s + 2 A the limit was not needed
/// ```
/// *Free*: the slots are the only limit; the machine only watches. *Controlled*: a limit, which follows from how long
/// answers take, and a waiting room with bounds. In both, an upstream may turn out to be silent.
///
/// After each call the shell asks for ``verdict(hasFreeSlot:at:)`` until there is none, and then for ``nextWake``.
/// Attempts that wait to be let through wait here, and in no other queue.
struct OverloadMachine: Sendable {
  typealias Ticket = AttemptLedger.Ticket

  typealias Refusal = ShedReason

  enum Arrival: Sendable, Hashable {
    case letThrough(Ticket)
    case waits(Ticket)
    case refused(Refusal)
  }

  /// The decision about an attempt that has waited.
  enum Verdict: Sendable, Hashable {
    case letThrough(Ticket)
    case refused(Ticket, Refusal)
  }

  /// How an attempt ended without an answer.
  enum Ending: Sendable, Hashable {
    /// The upstream refused or broke the connection.
    case failed
    /// It ran into weir's own limit of time.
    case timedOut
    /// It says nothing of the destination: a hedge that lost, or a session that ended.
    case withdrawn
  }

  private(set) var settings: OverloadSettings
  private(set) var slots: Int
  // Internal for the extensions.
  var ledger = AttemptLedger()
  var recent: RecentSlots
  var window: OverloadWindow
  var silence: Silence
  var patience = Patience()
  var losses = CallerLosses()
  var latency: UpstreamLatency?
  var rate = ServiceRate()
  /// Nil in the free mode.
  var limit: OverloadLimit?
  /// The limit's slots, kept apart because each call asks and would copy the limit; see ``limitChanged()``.
  var places = Int.max
  var isProbing = false
  /// Since when the destination is overloaded.
  var overloadedSince: MonotonicTime?
  /// Slots in a row in which too many arrivals were lost.
  var lossySlots = 0
  /// Since when the limit has not been needed.
  var calmSince: MonotonicTime?
  var probes = Report.Probes()
  var totals = Report.Totals()
  /// When the attempt was sent, of all that have their heads, that was sent last.
  var latestAnswered: MonotonicTime
  /// Until when time is accounted for.
  var clock: MonotonicTime

  init(_ settings: OverloadSettings, slots: Int, at now: MonotonicTime) {
    self.settings = settings
    self.slots = slots
    recent = RecentSlots(at: now)
    window = OverloadWindow(at: now, counted: 0)
    silence = Silence(at: now)
    latestAnswered = now
    clock = now
  }

  /// Takes other settings and keeps what has been learned. An attempt that waits keeps its bound, and the limit comes into
  /// its new bounds at the end of the next window.
  mutating func follow(_ settings: OverloadSettings) {
    self.settings = settings
    if settings.silence == nil, silence.isSilent { silence.forget(at: clock) }
  }

  /// The destination has another number of slots.
  mutating func resize(slots: Int) {
    self.slots = slots
    limit?.resize(slots: slots)
  }
}

// MARK: Calls

extension OverloadMachine {
  /// An attempt wants to go to the destination.
  ///
  /// - Parameters:
  ///   - priority: 0 to 7, the lower the sooner.
  ///   - timeout: Seconds for which its caller has announced to wait from now on.
  ///   - hasFreeSlot: Whether it could be let through at once.
  mutating func arrived(
    priority: Int = 3, timeout: Double? = nil, hasFreeSlot: Bool, at now: MonotonicTime
  ) -> Arrival {
    let now = advance(to: now)
    recent.present.arrivals += 1
    totals.arrivals += 1
    if silence.refuses {
      guard hasFreeSlot, silence.letsThrough(at: now) else { return refuse(.silent) }
      return .letThrough(send(at: now))
    }
    if ledger.waiting == 0, hasFreeSlot, hasPlace { return .letThrough(send(at: now)) }
    let priority = settings.priority ? min(max(priority, 0), AttemptLedger.priorities - 1) : 3
    // While the control is free, only the shell's own limit of time ends a wait.
    if places == .max { return .waits(ledger.wait(priority, until: .distantFuture, at: now)) }
    let bound = bound(timeout: timeout)
    let ahead = Double(ledger.waiting(upTo: priority) + 1)
    if bound < 0 { return refuse(.overload) }
    if let rate = serviceRate(at: now), ahead > bound * rate { return refuse(.overload) }
    return .waits(ledger.wait(priority, until: now.advanced(bySeconds: bound), at: now))
  }

  /// An attempt goes on the wire beside another of its request, a hedge that ``allowsHedge`` has granted.
  mutating func joined(at now: MonotonicTime) -> Ticket { send(at: advance(to: now)) }

  /// The next decision about an attempt that waits; nil when there is none.
  ///
  /// - Parameter hasFreeSlot: Whether one could be let through.
  mutating func verdict(hasFreeSlot: Bool, at now: MonotonicTime) -> Verdict? {
    if ledger.waiting == 0 { return nil }
    let now = max(now, clock)
    if silence.refuses { return ledger.popFirst().map { refuse($0, .silent) } }
    if let ticket = ledger.popOverdue(at: now) { return refuse(ticket, .waited) }
    guard hasFreeSlot, hasPlace, let ticket = ledger.sendFirst(at: now) else { return nil }
    noteSent(at: now)
    return .letThrough(ticket)
  }

  /// The final head came.
  mutating func answered(_ ticket: Ticket, status: Int, at now: MonotonicTime) {
    let now = advance(to: now)
    guard let attempt = ledger.end(ticket) else { return }
    heard(at: now)
    latestAnswered = max(latestAnswered, attempt.sent)
    setAsideOvertaken(at: now)
    let seconds = now.seconds(since: attempt.sent)
    let failedFast = (status == 429 || status >= 500) && seconds < 0.5 * (baseline ?? 0)
    if attempt.counted, !failedFast {
      noteAnswer(seconds)
      sample(seconds, sent: attempt.sent, at: now)
    }
  }

  /// An attempt ended without a final head, waiting or on the wire.
  mutating func ended(_ ticket: Ticket, _ ending: Ending, at now: MonotonicTime) {
    let now = advance(to: now)
    switch ending {
    case .failed:
      if ledger.end(ticket) != nil { heard(at: now) } else { _ = ledger.leave(ticket) }
    case .timedOut: lost(ticket, hasPatience: false, at: now)
    case .withdrawn:
      if ledger.leave(ticket) == nil { abandon(ticket, at: now) }
    }
  }

  /// An attempt that was let through has not been sent: its caller had left meanwhile, or its circuit is open. It leaves no
  /// trace.
  mutating func neverSent(_ ticket: Ticket, at now: MonotonicTime) {
    _ = advance(to: now)
    if ledger.leave(ticket) == nil, ledger.end(ticket) != nil { silence.neverSent() }
  }

  /// The caller left before the final head, while the attempt waited or was on the wire.
  mutating func callerGaveUp(_ ticket: Ticket, at now: MonotonicTime) {
    lost(ticket, hasPatience: true, at: advance(to: now))
  }

  /// The time for which the shell had set its timer has come.
  mutating func woke(at now: MonotonicTime) { _ = advance(to: now) }

  /// When the shell is to call ``woke(at:)`` at the latest; nil: no attempt waits, and the next call will do.
  var nextWake: MonotonicTime? {
    guard let bound = ledger.firstBound else { return nil }
    var wake = min(bound, recent.end)
    if let end = ledger.firstWorkEnd { wake = min(wake, end) }
    if isProbing, let probe = limit?.probe {
      wake = min(wake, probe.end(average: latency?.average ?? 0))
      if let abort = abortTime(probe) { wake = min(wake, abort) }
    }
    return max(wake, clock)
  }

  /// The request's body is on its way, which takes as long as its source wants: the attempt does not count meanwhile.
  mutating func uploads(_ ticket: Ticket) {
    // Until the upstream has the request, its silence means nothing.
    if ledger.uploads(ticket) { silence.neverSent() }
  }

  /// The request has been sent as a whole.
  mutating func hasUploaded(_ ticket: Ticket, at now: MonotonicTime) {
    let now = advance(to: now)
    if ledger.hasUploaded(ticket, at: now) { noteSent(at: now) }
  }
}
