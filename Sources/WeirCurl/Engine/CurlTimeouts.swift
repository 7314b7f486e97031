internal import WeirIO

/// When libcurl wants to be called without an event. The timer is armed again only when that time becomes earlier. When
/// it becomes later, the timer stays as it is, fires early, and is then armed for the rest.
struct CurlTimeouts {
  let timer = LoopTimer()
  private(set) var isDueNow = false
  /// Whether libcurl has set no timeout since it was last served.
  private(set) var isUnanswered = false
  private var due = MonotonicTime.distantFuture

  /// Sets libcurl's timeout; −1 for none.
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
