import WeirIO

/// How many retries a destination may get: a share of its requests, and a few more for destinations with few requests.
///
/// A retry is granted if the window that ends now then holds at most `ratio` × requests started + `minimumPerSecond` ×
/// `window` retries. While weir has known the destination for less than a window, `burst` more are granted. A retry
/// counts from the grant on, also while it waits. All requests of a session to one destination (scheme, host and
/// port) count together; those to other destinations do not.
///
/// Times are rounded to quarters of a second in the upstream's favour. A budget may therefore grant fewer retries than
/// its numbers say, by a few percent for windows of ten seconds, but never more.
public struct RetryBudget: Sendable, Hashable {
  /// Retries per request started.
  public var ratio: Double
  /// Retries per second that are granted without any requests.
  public var minimumPerSecond: Double
  /// Further retries while the destination is new.
  public var burst: Double
  /// The length of the window, in seconds; 1 to 60.
  public var window: Double

  /// Takes the numbers. Negative ones count as 0, and a window out of range as the nearest valid one.
  public init(
    ratio: Double = 0.2, minimumPerSecond: Double = 1, burst: Double = 10, window: Double = 10
  ) {
    self.ratio = ratio
    self.minimumPerSecond = minimumPerSecond
    self.burst = burst
    self.window = window
  }
}

extension RetryBudget {
  /// The range of ``window``, in seconds.
  package static let windows = 1.0...60.0

  /// The window within its range; NaN counts as the shortest.
  var boundedWindow: Double { window.clamped(to: Self.windows) }

  /// The number of retries that a window with this many requests may hold.
  func allowance(requests: Int, isNew: Bool) -> Double {
    Self.bounded(ratio) * Double(requests) + Self.bounded(minimumPerSecond) * boundedWindow
      + (isNew ? Self.bounded(burst) : 0)
  }

  /// NaN counts as 0. Infinity is bounded, as infinity times no requests would be NaN.
  private static func bounded(_ value: Double) -> Double {
    value > 0 ? min(value, 1e12) : 0
  }
}

/// The counts that a destination keeps for retry budgets: requests started and retries granted in the last minute. A
/// value; the shell keeps it under the destination's lock and passes the time in.
///
/// Where a window begins in the middle of a bucket, that bucket's retries are in it and its requests are not, so that
/// rounding never grants a retry too many.
struct RetryLedger: Sendable {
  private struct Counts: BucketCounts {
    var started: UInt32 = 0
    var granted: UInt32 = 0
  }

  private var counts: TimeBuckets<Counts>
  private let birth: MonotonicTime

  /// - Parameter now: When the destination became known.
  init(at now: MonotonicTime) {
    counts = TimeBuckets(at: now)
    birth = now
  }

  /// A request asks for its first attempt's slot.
  ///
  /// - Parameter earnsRetryBudget: False for a request that is itself another client's retry: it must not earn further
  ///   ones.
  mutating func started(at now: MonotonicTime, earnsRetryBudget: Bool = true) {
    if earnsRetryBudget { counts.count(at: now) { $0.started &+= 1 } }
  }

  /// Whether another retry is within the budget; if so, it counts from now on. Without a budget every retry is granted,
  /// and counts against the budgets of others.
  mutating func grant(by budget: RetryBudget?, at now: MonotonicTime) -> Bool {
    if let budget, unused(of: budget, at: now) < 1 { return false }
    counts.count(at: now) { $0.granted &+= 1 }
    return true
  }

  /// The retries that the budget would grant now; at least 0.
  func available(of budget: RetryBudget, at now: MonotonicTime) -> Double {
    max(0, unused(of: budget, at: now))
  }

  /// Whether the last window has neither a request nor a retry.
  func isQuiet(for window: Double, at now: MonotonicTime) -> Bool {
    let sums = sums(of: window, at: now)
    return sums.started == 0 && sums.granted == 0
  }

  private func unused(of budget: RetryBudget, at now: MonotonicTime) -> Double {
    let sums = sums(of: budget.boundedWindow, at: now)
    let isNew = now.seconds(since: birth) < budget.boundedWindow
    return budget.allowance(requests: sums.started, isNew: isNew) - Double(sums.granted)
  }

  /// The requests of the buckets that lie wholly in the window, and the retries of all buckets that it touches.
  private func sums(of window: Double, at now: MonotonicTime) -> (started: Int, granted: Int) {
    var sums = (started: 0, granted: 0)
    counts.forEach(in: window, before: now) { bucket, isWhole in
      sums.granted += Int(bucket.granted)
      if isWhole { sums.started += Int(bucket.started) }
    }
    return sums
  }
}

extension Comparable {
  /// The nearest value of the range; for NaN its least.
  func clamped(to range: ClosedRange<Self>) -> Self {
    self > range.lowerBound ? min(self, range.upperBound) : range.lowerBound
  }
}
