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
    transfer.failure = .silence
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
    guard let transfer else { return }
    let engine = transfer.engine
    engine.checkSilence(self, transfer)
  }
}
