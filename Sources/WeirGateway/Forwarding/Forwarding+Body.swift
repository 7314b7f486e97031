import Weir
import WeirIO
import WeirServer

/// The request's body on its way.
extension Forwarding {
  /// Begins the request when enough of its body has come; gives up after so many seconds without that.
  func takeBody(within seconds: Double) {
    let timer = LoopTimer()
    bodyTimer = timer
    exchange.bodyReader = self
    guard intake.stage == .gathering, bodyTimer != nil else { return }
    exchange.loop.schedule(timer, at: exchange.loop.turnTime.advanced(bySeconds: seconds), handler: self)
  }

  private func beginStreaming() {
    guard uploads.enter() else { return uploadIsRefused() }
    gate = uploads
    request?.resume()
    lookAgain()
  }

  private func lookAgain() {
    guard let bodyTimer else { return }
    let due = MonotonicTime.now.advanced(bySeconds: BodyIntake.interval)
    exchange.loop.schedule(bodyTimer, at: due, handler: self)
  }

  /// The body is complete, or nobody waits for it any more.
  func bodyIsOver() {
    gate?.leave()
    gate = nil
    if let bodyTimer { exchange.loop.cancel(bodyTimer) }
    bodyTimer = nil
  }
}

extension Forwarding: BodyReader {
  func didReceive(_ bytes: UnsafeRawBufferPointer) -> WeirServer.BodyFlow {
    // Nobody wants the rest; the server discards it.
    guard let flow = request?.append(bytes) else { return .proceed }
    let isFull = flow == .pause
    if intake.received(bytes.count, isFull: isFull) { beginStreaming() }
    return isFull && request != nil ? .pause : .proceed
  }

  func didEnd() {
    let isToBegin = intake.ended()
    bodyIsOver()
    request?.endBody()
    if isToBegin { request?.resume() }
  }
}

extension Forwarding: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    let verdict = intake.timeIsOver(
      isAwaited: request?.awaitsBody ?? false, isCrowded: gate?.isCrowded ?? false)
    switch verdict {
    case .proceed: lookAgain()
    case .giveUp: bodyIsTooSlow()
    }
  }
}
