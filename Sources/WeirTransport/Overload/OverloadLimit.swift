import WeirIO

/// L, the limit on the attempts under way in the controlled mode. At the end of each window it follows from how long
/// answers took; probes tell a queue at the upstream from a slower upstream.
struct OverloadLimit: Sendable {
  /// The other inputs of the limit at the end of a window.
  struct Surroundings: Sendable {
    let settings: OverloadSettings
    /// Seconds that the oldest waiter has waited.
    let longestWait: Double
  }

  /// Seconds between two probes while answers are as fast as they should be, at least.
  private static let probeInterval = 15.0
  /// G: seconds that answers are too slow before a probe.
  private static let gaps = (shortest: 1.0, longest: 6.0)
  /// P ÷ before from which on a lower limit has made no difference.
  private static let unchanged = 0.9
  /// The share of the limit that remains after a lossy window.
  private static let lossy = 0.7
  /// The share of callers that left the wire in a lossy window, and their number.
  private static let loss = (share: 0.1, count: 2)

  /// L.
  private(set) var value: Double
  private(set) var probe: OverloadProbe?
  /// Whether callers gave up in the last window, most of whose answers were slow.
  private(set) var isLossy = false
  private var slots: Double
  /// Since when answers are too slow.
  private var slowSince: MonotonicTime?
  private var gap = gaps.shortest
  /// When the baseline was last measured.
  private var measured: MonotonicTime

  init(_ value: Double, _ settings: OverloadSettings, slots: Int, at now: MonotonicTime) {
    self.slots = Double(max(slots, 1))
    self.value = value
    measured = now
    bound(settings)
  }

  /// The attempts that may count at once.
  var floor: Int { probe?.limit ?? Int(value) }

  /// The destination has another number of slots. The value comes into its new bounds at the end of the next window.
  mutating func resize(slots: Int) { self.slots = Double(max(slots, 1)) }

  /// The upstream answers again after a silence.
  mutating func silenceEnded(_ settings: OverloadSettings) {
    value /= 2
    bound(settings)
    probe = nil
    slowSince = nil
  }

  private mutating func bound(_ settings: OverloadSettings) {
    value = min(max(value, Double(settings.boundedMinimum)), slots)
  }

  // MARK: Windows

  mutating func windowEnded(
    _ window: OverloadWindow, _ latency: inout UpstreamLatency, _ surroundings: Surroundings, at now: MonotonicTime
  ) {
    let (mean, baseline) = (window.mean, latency.baseline)
    let tolerated = latency.tolerated(surroundings.settings)
    let isNormal = mean <= 1.3 * baseline + 0.005
    let left = Double(window.ended + window.givenUp)
    let isLeft = window.givenUp >= Self.loss.count && Double(window.givenUp) > Self.loss.share * left
    isLossy = !isNormal && window.isSlow && isLeft
    // A limit that was not reached gives no evidence that it could be higher.
    guard isLossy || window.saturated >= 0.5 * window.seconds(at: now) else {
      slowSince = nil
      latency.follow(mean)
      if latency.baseline != baseline { measured = now }
      return
    }
    if isLossy {
      value = Self.lossy * min(value, Double(window.most))
    } else if isNormal {
      value = 1.5 * value + 1
    } else {
      value = (value + min(tolerated / mean, 1) * value + value.squareRoot()) / 2
    }
    bound(surroundings.settings)
    slowSince = isLossy || !isNormal && mean > 1.2 * tolerated ? slowSince ?? now : nil
    beginProbeIfDue(mean, latency, surroundings, at: now)
  }

  // MARK: Probes

  private mutating func beginProbeIfDue(
    _ mean: Double, _ latency: UpstreamLatency, _ surroundings: Surroundings, at now: MonotonicTime
  ) {
    let isSlow = slowSince.map { now.seconds(since: $0) >= gap + latency.average } ?? false
    let isOld = now.seconds(since: measured) >= max(Self.probeInterval, 20 * latency.average)
    guard isSlow || isOld else { return }
    slowSince = nil
    probe = OverloadProbe(
      limit: value, before: min(latency.average, mean), longestWait: surroundings.longestWait, at: now)
  }

  mutating func noteInProbe(_ seconds: Double, sent: MonotonicTime) { probe?.note(seconds, sent: sent) }

  /// The probe is given up, as a request waits too long for it.
  mutating func abortProbe(at now: MonotonicTime) {
    probe = nil
    measured = now
  }

  /// Ends the probe if it is over. Returns what it has shown.
  mutating func endProbeIfOver(
    counted: Int, _ latency: inout UpstreamLatency, patience: Double?, at now: MonotonicTime
  ) -> OverloadProbe.Result? {
    guard probe?.isOver(counted: counted, average: latency.average, at: now) ?? false, let probe else { return nil }
    self.probe = nil
    measured = now
    guard let mean = probe.mean else { return .same }
    gap = probe.isFaster ? min(Self.gaps.longest, 2 * gap) : Self.gaps.shortest
    latency.measured(
      mean, isLossy: isLossy, isUnchanged: mean >= Self.unchanged * probe.before, patience: patience)
    return probe.isFaster ? .faster : .same
  }
}
