import WeirIO

/// The limit on the attempts under way in the controlled mode. At the end of each window it follows from how long
/// answers took; probes tell a queue at the upstream from a slower upstream.
struct OverloadLimit: Sendable {
  /// Seconds between two probes while answers are as fast as they should be, at least.
  private static let probeInterval = 15.0
  /// Seconds that answers are too slow before a probe.
  private static let gaps = (shortest: 1.0, longest: 6.0)
  /// The probe's mean ÷ the time before from which on a lower limit has made no difference.
  private static let unchanged = 0.9
  /// The share of the limit that remains after a lossy window.
  private static let lossy = 0.7
  /// The share of callers that left the wire in a lossy window, and their number.
  private static let loss = (share: 0.1, count: 2)

  private(set) var value: Double
  var probe: OverloadProbe?
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

  /// - Parameter longestWait: Seconds that the oldest waiter has waited.
  mutating func windowEnded(
    _ window: OverloadWindow, _ latency: inout UpstreamLatency, _ settings: OverloadSettings, longestWait: Double,
    at now: MonotonicTime
  ) {
    let (mean, baseline) = (window.mean, latency.baseline)
    let tolerated = latency.tolerated(settings)
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
    bound(settings)
    slowSince = isLossy || !isNormal && mean > 1.2 * tolerated ? slowSince ?? now : nil
    beginProbeIfDue(mean, latency, longestWait: longestWait, at: now)
  }

  // MARK: Probes

  private mutating func beginProbeIfDue(
    _ mean: Double, _ latency: UpstreamLatency, longestWait: Double, at now: MonotonicTime
  ) {
    let isSlow = slowSince.map { now.seconds(since: $0) >= gap + latency.average } ?? false
    let isOld = now.seconds(since: measured) >= max(Self.probeInterval, 20 * latency.average)
    guard isSlow || isOld else { return }
    slowSince = nil
    probe = OverloadProbe(limit: value, before: min(latency.average, mean), longestWait: longestWait, at: now)
  }

  /// The probe is given up, as a request waits too long for it.
  mutating func abortProbe(at now: MonotonicTime) {
    probe = nil
    measured = now
  }

  /// Ends the probe if it is over. Returns what it has shown.
  mutating func endProbeIfOver(
    counted: Int, _ latency: inout UpstreamLatency, callerTimeout: Double?, at now: MonotonicTime
  ) -> OverloadProbe.Result? {
    guard probe?.isOver(counted: counted, average: latency.average, at: now) ?? false, let probe else { return nil }
    self.probe = nil
    measured = now
    guard let mean = probe.mean else { return .same }
    gap = probe.isFaster ? min(Self.gaps.longest, 2 * gap) : Self.gaps.shortest
    latency.measured(
      mean, isLossy: isLossy, isUnchanged: mean >= Self.unchanged * probe.before, callerTimeout: callerTimeout)
    return probe.isFaster ? .faster : .same
  }
}

/// A time with a lower limit, to find out whether it makes answers faster. First the attempts under way go down to that
/// limit, until an attempt is answered that was sent in the probe: by then the upstream has worked off what it had
/// before. The mean is taken of attempts sent from then on.
struct OverloadProbe: Sendable {
  enum Result: Sendable {
    /// Answers took less than 0.8 of what they took before.
    case faster
    case same
  }

  /// The limit before ÷ the limit meanwhile.
  static let divisor = 2.5
  private static let faster = 0.8
  private static let leastSamples = 10
  /// Seconds that the longest wait may be longer than it was at the begin.
  private static let tolerableWait = 0.5

  private enum Stage: Sendable {
    case draining
    case measuring
  }

  let limit: Int
  /// The latency at the begin.
  let before: Double
  /// The longest wait at the begin, in seconds.
  private let longestWait: Double
  private let begin: MonotonicTime
  private var stage = Stage.draining
  private var stageBegin: MonotonicTime
  /// Whether an attempt has been answered that was sent in the probe.
  private var isDrained = false
  private var samples = 0
  private var sum = 0.0

  init(limit: Double, before: Double, longestWait: Double, at now: MonotonicTime) {
    self.limit = max(1, Int(limit / Self.divisor))
    self.before = before
    self.longestWait = longestWait
    begin = now
    stageBegin = now
  }

  /// The mean of the samples; nil without one.
  var mean: Double? { samples == 0 ? nil : sum / Double(samples) }

  /// Whether the lower limit made the answers faster.
  var isFaster: Bool { mean.map { $0 < Self.faster * before } ?? false }

  /// When the present stage ends, at the latest.
  func end(average: Double) -> MonotonicTime { stageBegin.advanced(bySeconds: 1 + 4 * average) }

  /// When it is given up on account of a request that has waited since `arrival`.
  func abort(waitingSince arrival: MonotonicTime) -> MonotonicTime {
    arrival.advanced(bySeconds: longestWait + Self.tolerableWait)
  }

  /// An attempt that was sent then took so many seconds.
  mutating func note(_ seconds: Double, sent: MonotonicTime) {
    if sent >= begin { isDrained = true }
    guard stage == .measuring, sent >= stageBegin else { return }
    samples += 1
    sum += seconds
  }

  /// Whether it has ended.
  mutating func isOver(counted: Int, average: Double, at now: MonotonicTime) -> Bool {
    switch stage {
    case .draining:
      if counted <= limit && isDrained || now >= end(average: average) { (stage, stageBegin) = (.measuring, now) }
      return false
    case .measuring:
      return samples >= max(Self.leastSamples, limit) || now >= end(average: average)
    }
  }
}
