import WeirIO

/// When refreshes began, and how many may within a time.
struct RefreshTimes: Sendable {
  /// Seconds.
  let interval: Double
  let maximumAttempts: Int
  private var times: [MonotonicTime] = []

  init(interval: Double, maximumAttempts: Int) {
    self.interval = interval
    self.maximumAttempts = maximumAttempts
  }

  /// Whether another may begin; if so, it counts.
  mutating func begin(at now: MonotonicTime) -> Bool {
    times.removeAll { now.seconds(since: $0) > interval }
    guard times.count < maximumAttempts else { return false }
    times.append(now)
    return true
  }

  /// The one that began last was none.
  mutating func withdraw() {
    _ = times.popLast()
  }
}
