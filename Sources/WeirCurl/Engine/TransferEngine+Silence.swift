internal import WeirIO

// The silence timeout. Progress only notes the time; the timer looks at it when it fires, and waits on from there.
extension TransferEngine {
  func armSilence(_ handle: EasyHandle, _ transfer: Transfer) {
    let limit = transfer.spec.silenceTimeout
    guard limit > 0 else { return }
    let due = transfer.clock.lastProgress.advanced(bySeconds: limit)
    // An earlier transfer of this handle may have left it armed, for a time that is soon enough.
    guard !handle.silenceTimer.isArmed || handle.silenceTimer.due > due else { return }
    loop.schedule(handle.silenceTimer, at: due, handler: handle)
  }

  fileprivate func checkSilence(_ handle: EasyHandle, _ transfer: Transfer) {
    let limit = transfer.spec.silenceTimeout
    guard limit > 0, transfer.failure == nil else { return }
    if transfer.isHeldByUs || transfer.noticeUpload() { transfer.clock.lastProgress = .now }
    let silence = MonotonicTime.now.seconds(since: transfer.clock.lastProgress)
    guard silence >= limit else { return armSilence(handle, transfer) }
    transfer.failure = .silence
    need(.cancel, for: transfer)
  }
}

extension EasyHandle: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    guard let transfer else { return }
    let engine = transfer.engine
    engine.checkSilence(self, transfer)
  }
}
