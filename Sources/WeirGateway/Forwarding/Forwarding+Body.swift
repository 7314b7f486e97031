import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// The flow of the request's body.
extension Forwarding {
  /// Begins the request when enough of its body has come; gives up if that takes longer than `seconds`.
  func takeBody(within seconds: Double) {
    let timer = LoopTimer()
    bodyTimer = timer
    exchange.bodyReader = self
    guard intake.stage == .gathering, bodyTimer != nil else { return }
    exchange.loop.schedule(timer, at: exchange.loop.turnTime.advanced(bySeconds: seconds), handler: self)
  }

  private func beginStreaming() {
    guard let uploads = outgoing?.route.uploads, uploads.enter() else { return uploadIsRefused() }
    gate = uploads
    begin()
    lookAgain()
  }

  private func lookAgain() {
    guard let bodyTimer else { return }
    let due = MonotonicTime.now.advanced(bySeconds: BodyIntake.interval)
    exchange.loop.schedule(bodyTimer, at: due, handler: self)
  }

  /// Checks the pace of the body, because the time for that has come.
  func bodyTimeIsOver() {
    let isAwaited = outgoing != nil && wantsBytes
    switch intake.timeIsOver(isAwaited: isAwaited, isCrowded: gate?.isCrowded ?? false) {
    case .proceed: lookAgain()
    case .giveUp: bodyIsTooSlow()
    }
  }

  /// The body is complete, or no longer awaited.
  func bodyIsOver() {
    gate?.leave()
    gate = nil
    if let bodyTimer { exchange.loop.cancel(bodyTimer) }
    bodyTimer = nil
  }

  /// More of the body is in the buffer.
  ///
  /// - Parameter count: The bytes that came.
  func noteReceived(_ count: Int) -> WeirServer.BodyFlow {
    wakeSender()
    isBufferFull = !buffer.wantsMore
    if intake.received(count, isFull: isBufferFull) { beginStreaming() }
    return isBufferFull && outgoing != nil ? .pause : .proceed
  }

  private func wakeSender() {
    guard wantsBytes else { return }
    wantsBytes = false
    attempt?.bodyArrived()
  }
}

extension Forwarding: BodyReader {
  func didReceive(_ bytes: UnsafeRawBufferPointer) -> WeirServer.BodyFlow {
    // The request isn't forwarded, or no longer, so the rest of its body is dropped.
    guard outgoing != nil, bodyDefect != .overLimit else { return .proceed }
    if isOverLimit {
      refuseBody(.overLimit)
      return .proceed
    }
    if let bodyDecoding { return decode(bytes, by: bodyDecoding) }
    buffer.append(bytes)
    return noteReceived(bytes.count)
  }

  func didEnd() {
    // Only a part has come, and must not look like the whole.
    if bodyDefect == .overLimit { return }
    if let bodyDecoding, !isWhole(bodyDecoding) { return }
    let isToBegin = intake.ended()
    bodyIsOver()
    guard outgoing != nil else { return }
    buffer.finish()
    wakeSender()
    if isToBegin { begin() }
  }
}

// The upstream's side of the body.
extension Forwarding {
  func attempt(_ attempt: Attempt, provideBody target: UnsafeMutableRawBufferPointer) -> BodySupply {
    let read = buffer.read(into: target)
    if isBufferFull, buffer.wantsMore {
      isBufferFull = false
      if let bodyDecoding { goOn(bodyDecoding) } else { exchange.resumeReading() }
    }
    switch read {
    case .bytes(let count): return .bytes(count)
    case .end: return .end
    case .wait:
      wantsBytes = true
      return .pause
    }
  }

  func attemptRewindsBody(_ attempt: Attempt) -> Bool {
    wantsBytes = false
    return buffer.rewind()
  }
}
