import WeirIO

/// What a destination remembers for retry budgets: how many requests were started and how many retries granted in the
/// last minute. A value; the shell keeps it under the destination's lock and brings the time.
///
/// Both are counted in buckets of a quarter of a second, on a ring, so that memory is bounded and a start costs one
/// addition. Where a window begins within a bucket, that bucket's retries are in it and its requests are not, so that
/// rounding never grants a retry too many.
struct RetryLedger: Sendable {
  private struct Bucket: Sendable {
    var started: UInt32 = 0
    var granted: UInt32 = 0
  }

  /// Nanoseconds.
  private static let width: Int64 = 250_000_000
  /// More than the longest window has, in a power of two.
  private static let count = 256

  /// By bucket number; a bucket's number is its time in units of their width.
  private var buckets = [Bucket](repeating: Bucket(), count: count)
  private var latest: Int64
  /// When the present bucket ends.
  private var end: Int64
  private let birth: MonotonicTime

  /// - Parameter now: When the destination became known.
  init(at now: MonotonicTime) {
    birth = now
    latest = now.nanoseconds / Self.width
    end = (latest + 1) * Self.width
  }

  /// A request asks for its first attempt's slot.
  ///
  /// - Parameter earnsRetryBudget: False for what is itself a retry of somebody else's, which is not to earn further ones.
  mutating func started(at now: MonotonicTime, earnsRetryBudget: Bool = true) {
    move(to: now)
    if earnsRetryBudget { buckets[Self.place(latest)].started &+= 1 }
  }

  /// Whether another retry is within the budget; if so, it counts from now on. Without a budget every retry is granted,
  /// and counts for those that have one.
  mutating func grant(by budget: RetryBudget?, at now: MonotonicTime) -> Bool {
    move(to: now)
    if let budget, unused(of: budget, at: now) < 1 { return false }
    buckets[Self.place(latest)].granted &+= 1
    return true
  }

  /// The retries that the budget would grant now; at least 0.
  func available(of budget: RetryBudget, at now: MonotonicTime) -> Double {
    max(0, unused(of: budget, at: now))
  }

  /// Whether the last window saw neither request nor retry.
  func isQuiet(for window: Double, at now: MonotonicTime) -> Bool {
    let sums = sums(of: window, at: now)
    return sums.started == 0 && sums.granted == 0
  }

  // MARK: The window

  private func unused(of budget: RetryBudget, at now: MonotonicTime) -> Double {
    let sums = sums(of: budget.boundedWindow, at: now)
    let isNew = now.seconds(since: birth) < budget.boundedWindow
    return budget.allowance(requests: sums.started, isNew: isNew) - Double(sums.granted)
  }

  /// The requests of the buckets that lie in the window, and the retries of those that it touches.
  private func sums(of window: Double, at now: MonotonicTime) -> (started: Int, granted: Int) {
    // A clock that was read before another thread's counts for that thread's time.
    let time = max(now.nanoseconds, latest * Self.width)
    let begin = time - Int64(window * 1e9)
    let first = max(begin / Self.width, latest - Int64(Self.count) + 1)
    var sums = (started: 0, granted: 0)
    guard first <= latest else { return sums }
    for number in first...latest {
      let bucket = buckets[Self.place(number)]
      sums.granted += Int(bucket.granted)
      if number * Self.width >= begin { sums.started += Int(bucket.started) }
    }
    return sums
  }

  private mutating func move(to now: MonotonicTime) {
    if now.nanoseconds < end { return }
    let number = now.nanoseconds / Self.width
    // All of the ring, if nothing was heard for as long.
    for passed in max(latest + 1, number - Int64(Self.count) + 1)...number {
      buckets[Self.place(passed)] = Bucket()
    }
    latest = number
    end = (number + 1) * Self.width
  }

  private static func place(_ number: Int64) -> Int { Int(truncatingIfNeeded: number) & (count - 1) }
}
