import WeirIO

/// Decides which attempts one destination gets at once, which wait and which are refused, so that it stays as fast as
/// its callers wait for it. A value without clock and chance; the shell keeps it under the destination's lock.
///
/// ```
///            callers lose, and answers are slow for this upstream
///   free ──────────────────────────────────────────────────────────► controlled
///        ◄──────────────────────────────────────────────────────────
///            for 10 s + 2 × average the limit was not needed
/// ```
/// *Free*: the slots are the only limit; the machine only watches. *Controlled*: a limit, which follows from how long
/// answers take, and a waiting room with bounds. In both, an upstream may turn out to be silent.
///
/// After each call the shell asks for ``verdict(hasFreeSlot:at:)`` until there is none, and then for ``nextWake``.
/// Attempts that wait to be let through wait here, and in no other queue.
///
/// The words of its formulas. Times are seconds, and an answer takes from when its attempt was sent to its final head.
///
/// | word | meaning | value |
/// |---|---|---|
/// | window | answers that are judged together | 10 or more in 0.25 s, or 3 or more in 1 s |
/// | window's mean | time of its answers; most of them slow: of the callers that gave up, too | 0 without an answer |
/// | average | mean of the last average and the last window's mean | at first a window's mean |
/// | least latency | lowest mean of 30 answers in 2 s; fades twofold in 60 s | at first a window's mean |
/// | callers' timeout | lower quartile of the times after which callers gave up | of 5 to 32 in the last 30 s |
/// | baseline | time of an answer for which no limit is needed | at first the least latency * |
/// | tolerated | time of an answer with which the limit does not shrink | `tolerance` (2) × baseline ** |
/// | limit | attempts that may count at once | `minimum` (2) to the slots; at first `initial` (8) *** |
/// | service rate | answers per second while the limit is used | forgotten after 10 s |
/// | bound of a wait | longest wait for the limit | `wait` (1.5), overloaded `waitOverloaded` (0.1) |
/// | gap | time of answers over 1.2 × tolerated before a probe | 1, doubled by each that was faster, to 6 |
/// | probe's mean | time of an answer under the limit ÷ 2.5 | faster below 0.8 × the time before |
/// | silence | time without a sign of the upstream | `silence` (2), more than 20 × average |
///
/// \* Within 0.1 to 0.25 × the callers' timeout, where that is known.
/// \** Baseline + 0.01 if that is more.
/// \*** 2 × baseline × service rate, where that is known.
struct OverloadMachine: Sendable {
  typealias Ticket = InFlightRecords.Ticket

  enum Arrival: Sendable, Hashable {
    case letThrough(Ticket)
    case waits(Ticket)
    case refused(ShedReason)
  }

  /// The decision about an attempt that has waited.
  struct Verdict: Sendable, Hashable {
    let ticket: Ticket
    /// Nil: it is let through.
    var refusal: ShedReason?
  }

  /// Counts since the machine was made.
  struct Totals: Sendable {
    var arrivals = 0
    /// Final heads, and failures without one.
    var heads = 0
    var shed = Shed()
    var probes = OverloadReport.Probes()
  }

  /// Refused requests by reason.
  struct Shed: Sendable {
    private(set) var overload = 0
    private(set) var waited = 0
    private(set) var silent = 0

    mutating func count(_ reason: ShedReason) {
      switch reason {
      case .overload: overload += 1
      case .waited: waited += 1
      case .silent: silent += 1
      case .paused, .pace: break
      }
    }
  }

  private(set) var settings: OverloadSettings
  private(set) var slots: Int
  // Internal for the extensions.
  var inFlight = InFlightTable()
  var recent: RecentSlots
  var window: OverloadWindow
  var silence: Silence
  var callerTimeout = CallerTimeout()
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
  var totals = Totals()
  /// What the last report has told.
  private var reported: (totals: Totals, silence: Silence.Ended?) = (Totals(), nil)
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

  /// Takes other settings and keeps what has been learned. An attempt that waits keeps its bound, and the limit comes
  /// into its new bounds at the end of the next window.
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
    if inFlight.waiting == 0, hasFreeSlot, hasPlace { return .letThrough(send(at: now)) }
    let priority = settings.priority ? min(max(priority, 0), InFlightTable.priorities - 1) : 3
    // While the control is free, only the shell's own limit of time ends a wait.
    if places == .max { return .waits(inFlight.wait(priority, until: .distantFuture, at: now)) }
    let bound = bound(timeout: timeout)
    let ahead = Double(inFlight.waiting(upTo: priority) + 1)
    if bound < 0 { return refuse(.overload) }
    if let rate = serviceRate(at: now), ahead > bound * rate { return refuse(.overload) }
    return .waits(inFlight.wait(priority, until: now.advanced(bySeconds: bound), at: now))
  }

  /// An attempt goes on the wire beside another of its request, a hedge that ``allowsHedge`` has granted.
  mutating func joined(at now: MonotonicTime) -> Ticket { send(at: advance(to: now)) }

  /// The next decision about an attempt that waits; nil when there is none.
  ///
  /// - Parameter hasFreeSlot: Whether one could be let through.
  mutating func verdict(hasFreeSlot: Bool, at now: MonotonicTime) -> Verdict? {
    if inFlight.waiting == 0 { return nil }
    let now = max(now, clock)
    if silence.refuses { return inFlight.popFirst().map { refuse($0, .silent) } }
    if let ticket = inFlight.popOverdue(at: now) { return refuse(ticket, .waited) }
    guard hasFreeSlot, hasPlace, let ticket = inFlight.sendFirst(at: now) else { return nil }
    noteSent(at: now)
    return Verdict(ticket: ticket)
  }

  /// The final head came.
  mutating func answered(_ ticket: Ticket, status: Int, at now: MonotonicTime) {
    let now = advance(to: now)
    guard let attempt = inFlight.end(ticket) else { return }
    heard(at: now)
    latestAnswered = max(latestAnswered, attempt.sent)
    setAsideOvertaken(at: now)
    let seconds = now.seconds(since: attempt.sent)
    let failedFast = (status == 429 || status >= 500) && seconds < 0.5 * (baseline ?? 0)
    if attempt.isCounted, !failedFast {
      noteAnswer(seconds)
      sample(seconds, sent: attempt.sent, at: now)
    }
  }

  /// An attempt ended without a final head, waiting or on the wire.
  mutating func ended(_ ticket: Ticket, _ ending: AttemptEnding, at now: MonotonicTime) {
    let now = advance(to: now)
    switch ending {
    case .callerGaveUp: lost(ticket, callerLeft: true, at: now)
    case .failed:
      if inFlight.end(ticket) != nil { heard(at: now) } else { _ = inFlight.leave(ticket) }
    case .timedOut: lost(ticket, callerLeft: false, at: now)
    case .withdrawn:
      if inFlight.leave(ticket) == nil { abandon(ticket, at: now) }
    }
  }

  /// An attempt that was let through has not been sent: its caller had left meanwhile, or its circuit is open. It
  /// leaves no trace.
  mutating func neverSent(_ ticket: Ticket, at now: MonotonicTime) {
    _ = advance(to: now)
    if inFlight.leave(ticket) == nil, inFlight.end(ticket) != nil { silence.neverSent() }
  }

  /// The time for which the shell had set its timer has come.
  mutating func woke(at now: MonotonicTime) { _ = advance(to: now) }

  /// When the shell is to call ``woke(at:)`` at the latest; nil: no attempt waits, and the next call will do.
  var nextWake: MonotonicTime? {
    guard let bound = inFlight.firstBound else { return nil }
    var wake = min(bound, recent.end)
    if let end = inFlight.firstWorkEnd { wake = min(wake, end) }
    if isProbing, let probe = limit?.probe {
      wake = min(wake, probe.end(average: latency?.average ?? 0))
      if let abort = abortTime(probe) { wake = min(wake, abort) }
    }
    return max(wake, clock)
  }

  /// The request's body is on its way, which takes as long as its source wants: the attempt does not count meanwhile.
  mutating func uploads(_ ticket: Ticket) {
    // Until the upstream has the request, its silence means nothing.
    if inFlight.uploads(ticket) { silence.neverSent() }
  }

  /// The request has been sent as a whole.
  mutating func hasUploaded(_ ticket: Ticket, at now: MonotonicTime) {
    let now = advance(to: now)
    if inFlight.hasUploaded(ticket, at: now) { noteSent(at: now) }
  }
}

// MARK: Questions

extension OverloadMachine {
  var state: OverloadState { silence.isSilent ? .silent : overloadedSince == nil ? .normal : .overloaded }

  /// The attempts that may count at once.
  var limitInUse: Int { min(places, slots) }

  /// The least latency while the control is free. Nil while it is unknown.
  var baseline: Double? { places == .max ? latency?.least : latency?.baseline }

  /// Whether load control lets a retry start. One that would have to wait for the limit might be refused, and the
  /// answer that it was to replace would be lost. The retry's budget is another question.
  var allowsRetry: Bool { state == .normal && (limit == nil || inFlight.waiting == 0 && hasPlace) }

  /// Whether an attempt may start beside another: it must not disturb a probe, nor take the place of one that waits.
  var allowsHedge: Bool { state == .normal && !isProbing && inFlight.waiting == 0 && hasPlace }

  /// Whether a give-up after so many seconds on the wire is a failure for the circuit.
  func isFailure(givenUpAfter seconds: Double) -> Bool { seconds > max(1, 3 * (latency?.least ?? 0)) }

  /// The values now, and what happened since the last report. For the machine itself no time passes.
  mutating func takeReport(at now: MonotonicTime) -> OverloadReport {
    var present = self
    let now = present.advance(to: now)
    let (totals, last, silence) = (present.totals, reported.totals, present.silence)
    var report = OverloadReport(
      state: present.state, limit: present.limitInUse, used: present.inFlight.counted,
      baseline: present.limit == nil ? present.latency?.least : present.latency?.withoutQueue,
      serviceRate: present.limit == nil ? nil : present.rate.value(at: now))
    report.offered = totals.arrivals - last.arrivals
    report.served = totals.heads - last.heads
    report.shed = [
      .overload: totals.shed.overload - last.shed.overload, .waited: totals.shed.waited - last.shed.waited,
      .silent: totals.shed.silent - last.shed.silent,
    ].filter { $0.value > 0 }
    report.silence = silence.seconds(at: now) ?? (silence.ended == reported.silence ? nil : silence.ended?.seconds)
    report.probes.faster = totals.probes.faster - last.probes.faster
    report.probes.same = totals.probes.same - last.probes.same
    report.probes.aborted = totals.probes.aborted - last.probes.aborted
    reported = (totals, silence.ended)
    return report
  }
}
