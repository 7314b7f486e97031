import WeirIO

/// How long an upstream's answers take: now, where no limit is needed, and at best.
struct UpstreamLatency: Sendable {
  /// Samples of which the least latency is the lowest mean, and seconds that they last at least.
  private static let leastSamples = (count: 30, seconds: 2.0)
  /// Seconds in which the least latency fades by a factor of 2. Callers that have been content with slower answers for
  /// that long take them for normal.
  private static let fading = 60.0
  /// Seconds of a window that count for the fading, or as many times its mean. If it took longer, no request came
  /// meanwhile.
  private static let longestWindow = 5.0
  /// Seconds in which the first window is doubted, and how far the least latency may rise above it meanwhile: fast
  /// answers come first, and an overload from the beginning makes every later one slow.
  private static let beginning = (seconds: 5.0, rise: 2.0)
  /// The baseline may be raised to this fraction of the callers' timeouts. More of it makes callers wait without need,
  /// and less takes longer to see that an upstream has become slower.
  private static let timeoutFraction = 0.1
  /// The largest fraction of the callers' timeouts that the first baseline of a control may be. The callers give up, so
  /// that a higher one was measured in an overload.
  private static let largestTimeoutFraction = 0.25

  /// The mean of the last windows' means.
  private(set) var average: Double
  /// The baseline of the controlled mode. The callers' timeouts may raise it above ``withoutQueue``.
  private(set) var baseline: Double
  /// Seconds of an answer without a queue, as measured since the controlled mode began.
  private(set) var withoutQueue: Double
  /// The least latency: the lowest mean of 30 samples so far, which fades.
  private(set) var least: Double
  private let first: Double
  private var isBeginning = true
  private var sum = 0.0
  private var count = 0
  private var since: MonotonicTime

  /// - Parameter window: The first one.
  init(_ window: OverloadWindow) {
    average = window.mean
    baseline = window.mean
    withoutQueue = window.mean
    least = window.mean
    first = window.mean
    sum = window.mean * Double(window.samples)
    count = window.samples
    since = window.begin
  }

  /// A window has ended.
  ///
  /// - Parameter isControlled: Whether the control limited anything. The answers of an overload are slow, and the least
  ///   latency does not rise with them: the next overload would begin with a higher baseline than the one before.
  mutating func note(_ window: OverloadWindow, isControlled: Bool, at now: MonotonicTime) {
    average = (average + window.mean) / 2
    passIdleTime(window.seconds(at: now) - Self.longestWindow * max(1, window.mean))
    sum += window.mean * Double(window.samples)
    count += window.samples
    let mean = sum / Double(count)
    let seconds = now.seconds(since: since)
    if isBeginning {
      least = max(first, min(mean, Self.beginning.rise * first))
      guard count >= Self.leastSamples.count, seconds >= Self.beginning.seconds else { return }
    } else {
      guard count >= Self.leastSamples.count, seconds >= Self.leastSamples.seconds else { return }
      least = min(isControlled ? least : least * (1 + seconds / Self.fading), mean)
    }
    (isBeginning, sum, count, since) = (false, 0, 0, now)
  }

  /// The least latency does not fade in so many seconds, in which no answer came: it would follow the first answers of
  /// an overload.
  mutating func passIdleTime(_ seconds: Double) {
    if seconds > 0 { since = since.advanced(bySeconds: seconds) }
  }

  // MARK: The baseline

  /// Seconds that an answer may take without the limit shrinking.
  func tolerated(_ settings: OverloadSettings) -> Double {
    max(settings.boundedTolerance * baseline, baseline + 0.01)
  }

  /// The controlled mode begins.
  mutating func beginControl(callerTimeout: Double?) {
    // At the beginning an overload may have raised the least latency.
    baseline = isBeginning ? first : least
    withoutQueue = baseline
    guard let callerTimeout else { return }
    baseline = min(max(baseline, Self.timeoutFraction * callerTimeout), Self.largestTimeoutFraction * callerTimeout)
  }

  /// The control has ended. If the upstream turned out to be slower in it, that is normal from now on.
  mutating func endControl() { least = max(least, withoutQueue) }

  /// Answers took less while the limit was not used.
  mutating func follow(_ mean: Double) {
    if mean < withoutQueue { withoutQueue += (mean - withoutQueue) / 4 }
    if mean < baseline { baseline += (mean - baseline) / 4 }
  }

  /// Answers took so long under a lower limit.
  ///
  /// - Parameters:
  ///   - isLossy: Whether callers gave up meanwhile: then a higher baseline would make more of them do so.
  ///   - isUnchanged: Whether they took as long as before: the upstream is slower, and the limit is not why.
  mutating func measured(_ mean: Double, isLossy: Bool, isUnchanged: Bool, callerTimeout: Double?) {
    withoutQueue = min(withoutQueue, mean)
    if mean <= baseline {
      baseline = mean > baseline / 2 ? (baseline + mean) / 2 : mean
    } else if isUnchanged {
      baseline = mean
      withoutQueue = mean
    } else if !isLossy {
      baseline = max(baseline, min(mean, Self.timeoutFraction * (callerTimeout ?? .infinity)))
    }
  }
}
