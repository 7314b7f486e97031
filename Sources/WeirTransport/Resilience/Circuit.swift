import WeirIO

/// The circuit of one destination as a value: who is let through, and what becomes of it when attempts end.
///
/// ```
/// closed ─► open ─► half open ─► closed
///             ▲         │
///             └─────────┘ a probe failed
/// ```
/// Who is let through gets a pass and gives it back, with how it ended. A pass of an earlier state is of no account: what
/// began before the circuit opened says nothing about whether the destination has recovered. A probe that keeps its pass for
/// longer than the circuit was open holds nobody up: another is let through. The settings come with each question, as those
/// who share a destination may have different ones; those of the first probe hold until it closes.
struct Circuit: Sendable {
  struct Pass: Hashable, Sendable {
    fileprivate let period: UInt32
  }

  enum Answer: Hashable, Sendable {
    case admitted(Pass)
    /// Seconds until a probe is let through; nil: that depends on those under way.
    case rejected(retryAfter: Double?)
  }

  enum Ending: Hashable, Sendable {
    case succeeded, failed
    /// It says nothing about the destination: cancelled, or never sent.
    case abandoned
  }

  private enum Stage: Sendable {
    case closed
    case open(until: MonotonicTime)
    case halfOpen(Probes)
  }

  private struct Probes: Sendable {
    /// As many as who let the first through wants.
    let wanted: Int
    var underWay = 0
    var succeeded = 0
    /// When the last one was let through.
    var latest: MonotonicTime
  }

  /// Seconds; a probe is waited for no shorter than this.
  private static let shortestPatience = 1.0

  private struct Counts: BucketCounts {
    var ended: UInt32 = 0
    var failed: UInt32 = 0
  }

  private var stage = Stage.closed
  private var counts: TimeBuckets<Counts>
  /// Counts the transitions.
  private var period: UInt32 = 0
  /// Seconds; how long it was open the last time, 0 after it has closed.
  private var lastOpen = 0.0

  init(at now: MonotonicTime) {
    counts = TimeBuckets(at: now)
  }

  var state: CircuitState {
    switch stage {
    case .closed: .closed
    case .open: .open
    case .halfOpen: .halfOpen
    }
  }

  /// Whether a pass is one of the present state.
  func isValid(_ pass: Pass) -> Bool { pass.period == period }

  /// What ``ask(_:at:)`` would say, if it would reject.
  func rejection(_ settings: CircuitBreaker, at now: MonotonicTime) -> Answer? {
    switch stage {
    case .open(let until) where now < until:
      // A division: a product would make more of a minute than a minute.
      .rejected(retryAfter: Double(until.nanoseconds - now.nanoseconds) / 1e9)
    case .halfOpen(let probes) where probes.underWay + probes.succeeded >= probes.wanted && now < overdue(probes):
      .rejected(retryAfter: nil)
    default: nil
    }
  }

  /// From when on nobody waits for the probes under way.
  private func overdue(_ probes: Probes) -> MonotonicTime {
    probes.latest.advanced(bySeconds: max(Self.shortestPatience, lastOpen))
  }

  /// An attempt wants to go to the destination.
  mutating func ask(_ settings: CircuitBreaker, at now: MonotonicTime) -> Answer {
    if let rejection = rejection(settings, at: now) { return rejection }
    switch stage {
    case .closed: break
    case .open: enter(.halfOpen(Probes(wanted: settings.boundedProbes, underWay: 1, latest: now)))
    case .halfOpen(var probes):
      probes.underWay += 1
      probes.latest = now
      stage = .halfOpen(probes)
    }
    return .admitted(Pass(period: period))
  }

  /// An attempt that was let through has ended.
  mutating func ended(_ pass: Pass, _ ending: Ending, _ settings: CircuitBreaker, at now: MonotonicTime) {
    guard isValid(pass) else { return }
    switch stage {
    case .closed: count(ending, settings, at: now)
    case .open: break
    case .halfOpen(var probes):
      if ending == .failed { return open(settings, at: now) }
      probes.underWay -= 1
      if ending == .succeeded { probes.succeeded += 1 }
      if probes.succeeded >= probes.wanted { close(at: now) } else { stage = .halfOpen(probes) }
    }
  }

  // MARK: Transitions

  private mutating func count(_ ending: Ending, _ settings: CircuitBreaker, at now: MonotonicTime) {
    if ending == .abandoned { return }
    counts.count(at: now) { counts in
      counts.ended &+= 1
      if ending == .failed { counts.failed &+= 1 }
    }
    guard ending == .failed else { return }
    var sums = (ended: 0, failed: 0)
    counts.forEach(in: settings.boundedWindow, before: now) { bucket, isWhole in
      guard isWhole else { return }
      sums.ended += Int(bucket.ended)
      sums.failed += Int(bucket.failed)
    }
    if settings.opens(failed: sums.failed, of: sums.ended) { open(settings, at: now) }
  }

  private mutating func open(_ settings: CircuitBreaker, at now: MonotonicTime) {
    lastOpen = lastOpen > 0 ? min(2 * lastOpen, CircuitBreaker.longestOpen) : settings.boundedOpenFor
    enter(.open(until: now.advanced(bySeconds: lastOpen)))
  }

  private mutating func close(at now: MonotonicTime) {
    lastOpen = 0
    // What was counted before it opened would open it again.
    counts = TimeBuckets(at: now)
    enter(.closed)
  }

  private mutating func enter(_ stage: Stage) {
    self.stage = stage
    period &+= 1
  }
}
