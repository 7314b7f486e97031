import WeirIO

/// The circuit breaker of one destination as a value: it admits or rejects attempts, and learns how they ended.
///
/// ```
/// closed ─► open ─► half open ─► closed
///             ▲         │
///             └─────────┘ a probe failed
/// ```
/// An admitted attempt gets a pass and gives it back together with how it ended. A pass from an earlier state is
/// ignored: an attempt that began before the circuit opened says nothing about whether the destination has recovered. A
/// probe that keeps its pass for longer than the circuit was open blocks nothing: another probe is admitted. The
/// settings come with each call, as the users of a destination may have different ones. Those of the first probe hold
/// until the circuit closes.
struct Circuit: Sendable {
  struct Pass: Hashable, Sendable {
    fileprivate let period: UInt32
  }

  enum Answer: Hashable, Sendable {
    case admitted(Pass)
    /// Seconds until a probe is admitted; nil when that depends on the probes under way.
    case rejected(retryAfter: Double?)
  }

  enum Ending: Hashable, Sendable {
    case succeeded, failed
    /// The end says nothing about the destination: the attempt was cancelled, or never sent.
    case abandoned
  }

  private enum Stage: Sendable {
    case closed
    case open(until: MonotonicTime)
    case halfOpen(Probes)
  }

  private struct Probes: Sendable {
    /// The number of probes that the settings of the first probe ask for.
    let wanted: Int
    var underWay = 0
    var succeeded = 0
    /// When the last probe was admitted.
    var latest: MonotonicTime
  }

  /// Seconds; every probe has at least this long before another one takes its place.
  private static let shortestPatience = 1.0

  private struct Counts: BucketCounts {
    var ended: UInt32 = 0
    var failed: UInt32 = 0
  }

  private var stage = Stage.closed
  private var counts: TimeBuckets<Counts>
  /// Counts the transitions.
  private var period: UInt32 = 0
  /// Seconds that the circuit was open the last time; 0 after it has closed.
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

  /// Whether a pass was issued in the present state.
  func isValid(_ pass: Pass) -> Bool { pass.period == period }

  /// The answer of ``ask(_:at:)`` if it would reject; else nil.
  func rejection(_ settings: CircuitBreaker, at now: MonotonicTime) -> Answer? {
    switch stage {
    case .open(let until) where now < until:
      // A division is exact where a product would turn a minute into slightly more than 60 s.
      .rejected(retryAfter: Double(until.nanoseconds - now.nanoseconds) / 1e9)
    case .halfOpen(let probes) where probes.underWay + probes.succeeded >= probes.wanted && now < overdue(probes):
      .rejected(retryAfter: nil)
    default: nil
    }
  }

  /// The time from which on the probes under way no longer keep others from starting.
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

  /// An attempt that was admitted has ended.
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
    // The counts from before the circuit opened would open it again.
    counts = TimeBuckets(at: now)
    enter(.closed)
  }

  private mutating func enter(_ stage: Stage) {
    self.stage = stage
    period &+= 1
  }
}
