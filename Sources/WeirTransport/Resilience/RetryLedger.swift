import WeirIO

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
