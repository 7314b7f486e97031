internal import WeirIO

/// When libcurl wants to be called without an event. Later is cheap and sooner is wrong the other way round: the timer
/// is armed again only when the wish moves forward; one that fires early finds out and waits on.
struct CurlTimeouts {
  let timer = LoopTimer()
  private(set) var isDueNow = false
  /// Whether libcurl has said nothing since it was last served.
  private(set) var isUnanswered = false
  private var due = MonotonicTime.distantFuture

  /// libcurl's wish: −1 for none.
  mutating func set(milliseconds: Int, now: MonotonicTime) {
    isUnanswered = false
    isDueNow = milliseconds == 0
    due = milliseconds < 0 ? .distantFuture : now.advanced(bySeconds: Double(milliseconds) / 1000)
  }

  mutating func beginServing() {
    isDueNow = false
    isUnanswered = true
    due = .distantFuture
  }

  mutating func timerFired(now: MonotonicTime) {
    if due <= now { isDueNow = true }
  }

  /// The time to arm the timer for; nil when it need not be touched.
  func dueToArm() -> MonotonicTime? {
    guard !isDueNow, due != .distantFuture else { return nil }
    return timer.isArmed && timer.due <= due ? nil : due
  }

  mutating func clear() {
    isDueNow = false
    due = .distantFuture
  }
}
