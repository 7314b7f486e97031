internal import Glibc
internal import WeirIO

// The silence timeout. Progress only records the time. When the timer fires, it checks that time and waits for the
// rest.
extension TransferEngine {
  func armSilence(_ handle: EasyHandle, _ transfer: Transfer) {
    let limit = transfer.silenceTimeout
    guard limit > 0 else { return }
    let due = transfer.clock.lastProgress.advanced(bySeconds: limit)
    // An earlier transfer of this handle may have left the timer armed, for a time that is early enough.
    guard !handle.silenceTimer.isArmed || handle.silenceTimer.due > due else { return }
    loop.schedule(handle.silenceTimer, at: due, handler: handle)
  }

  fileprivate func checkSilence(_ handle: EasyHandle, _ transfer: Transfer) {
    let limit = transfer.silenceTimeout
    guard limit > 0, transfer.failure == nil else { return }
    if transfer.isHeldByUs || transfer.noticeUpload() { transfer.clock.lastProgress = .now }
    let silence = MonotonicTime.now.seconds(since: transfer.clock.lastProgress)
    guard silence >= limit else { return armSilence(handle, transfer) }
    if let quiet = secondsSinceArrival(transfer), quiet < limit {
      transfer.clock.lastProgress = MonotonicTime.now.advanced(bySeconds: -quiet)
      return armSilence(handle, transfer)
    }
    transfer.failure = .silence(limit)
    need(.cancel, for: transfer)
  }

  /// Seconds since data last arrived, as the system counts them. libcurl reports a line of the head only when it is
  /// complete, and a line may be long. Nil on HTTP/2, where the data may be for other transfers.
  private func secondsSinceArrival(_ transfer: Transfer) -> Double? {
    guard transfer.receiving.phase == .head, transfer.expectation == .http1 else { return nil }
    var info = tcp_info()
    var length = socklen_t(MemoryLayout<tcp_info>.size)
    guard transfer.awaitedSocket >= 0,
      getsockopt(transfer.awaitedSocket, CInt(IPPROTO_TCP), TCP_INFO, &info, &length) == 0
    else { return nil }
    return Double(info.tcpi_last_data_recv) * 1e-3
  }
}

extension EasyHandle: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if let transfer { transfer.engine.checkSilence(self, transfer) }
  }
}

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
