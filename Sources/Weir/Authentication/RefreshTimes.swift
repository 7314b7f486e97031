import WeirIO

/// The times at which refreshes began; their number within an interval is limited.
struct RefreshTimes: Sendable {
  /// Seconds.
  let interval: Double
  let maximumAttempts: Int
  private var times: [MonotonicTime] = []

  init(interval: Double, maximumAttempts: Int) {
    self.interval = interval
    self.maximumAttempts = maximumAttempts
  }

  /// Whether another refresh may begin; if so, it counts.
  mutating func begin(at now: MonotonicTime) -> Bool {
    times.removeAll { now.seconds(since: $0) > interval }
    guard times.count < maximumAttempts else { return false }
    times.append(now)
    return true
  }

  /// Removes the last time: that refresh did not take place.
  mutating func withdraw() {
    _ = times.popLast()
  }
}
