import WeirCurl
import WeirIO
import WeirServer
import WeirTransport

/// The flow of the request's body.
extension Forwarding {
  /// Begins the request when enough of its body has come; gives up if that takes longer than `seconds`.
  func takeBody(within seconds: Double) {
    let timer = LoopTimer()
    body.timer = timer
    if let outgoing {
      body.keep(outgoing.keptBytes, of: outgoing.route.replay)
      keepsBody = body.keepsMore
    }
    exchange.bodyReader = self
    guard body.isGathering, body.timer != nil else { return }
    exchange.loop.schedule(timer, at: exchange.loop.turnTime.advanced(bySeconds: seconds), handler: self)
  }

  private func beginStreaming() {
    guard let uploads = outgoing?.route.uploads, uploads.enter() else { return uploadIsRefused() }
    body.gate = uploads
    begin()
    lookAgain()
  }

  private func lookAgain() {
    guard let timer = body.timer else { return }
    let due = MonotonicTime.now.advanced(bySeconds: BodyIntake.interval)
    exchange.loop.schedule(timer, at: due, handler: self)
  }

  /// Checks the pace of the body, because the time for that has come.
  func bodyTimeIsOver() {
    if body.isTooSlow(isUsed: outgoing != nil) { refuseBody(.tooSlow) } else { lookAgain() }
  }

  /// The body is complete, or no longer awaited.
  func bodyIsOver() {
    body.gate?.leave()
    body.gate = nil
    if let timer = body.timer { exchange.loop.cancel(timer) }
    body.timer = nil
  }

  /// More of the body is in the buffer.
  ///
  /// - Parameter count: The bytes that came.
  func noteReceived(_ count: Int) -> WeirServer.BodyFlow {
    wakeSender()
    if body.received(count) { beginStreaming() }
    return body.isFull && outgoing != nil ? .pause : .proceed
  }

  private func wakeSender() {
    if body.wakes() { attempt?.bodyArrived() }
  }

  /// No other attempt follows for now: goes on with a body that was held.
  func releaseBody() {
    if body.release() { fillBuffer() }
  }

  /// Ends the request because of its body.
  func refuseBody(_ defect: BodyDefect) {
    body.refuse(defect)
    dropDecoder()
    if body.isGathering { answerBadBody() } else { fail(.cancelled) }
  }

  func answerBadBody() {
    guard let defect = body.defect else { return }
    exchange.closeAfterResponse()
    answer(defect.answer, as: defect.outcome)
  }

  /// Too many requests stream a body to the upstream.
  func uploadIsRefused() {
    exchange.closeAfterResponse()
    // The time of the attempts, which a fallback may need, begins here.
    if let seconds = outgoing?.route.timeout { tally.deadline = MonotonicTime.now.advanced(bySeconds: seconds) }
    answerUnlessFallback(.tooManyUploads, as: .forwarded(.rejected))
  }

  /// Lets go of what is kept for another attempt once there can be none, as the client may have got some of the response.
  func keepNoMore() {
    if status != 0, !exchange.isRetractable { body.stopKeeping() }
  }
}

extension Forwarding: BodyReader {
  func didReceive(_ bytes: UnsafeRawBufferPointer) -> WeirServer.BodyFlow {
    // The request isn't forwarded, or no longer, so the rest of its body is dropped.
    guard outgoing != nil, body.defect != .overLimit else { return .proceed }
    if isOverLimit {
      refuseBody(.overLimit)
      return .proceed
    }
    if body.isDecoded { return decode(bytes) }
    body.append(bytes)
    return noteReceived(bytes.count)
  }

  func didEnd() {
    // Only a part has come, and must not look like the whole.
    if body.defect == .overLimit { return }
    if body.isDecoded, !isWhole() { return }
    let isToBegin = body.ended()
    bodyIsOver()
    guard outgoing != nil else { return }
    wakeSender()
    if isToBegin { begin() }
  }
}

// The upstream's side of the body.
extension Forwarding {
  func attempt(_ attempt: Attempt, provideBody target: UnsafeMutableRawBufferPointer) -> BodySupply {
    let (read, makesRoom) = body.read(into: target)
    if makesRoom { fillBuffer() }
    return read
  }

  func attemptRewindsBody(_ attempt: Attempt) -> Bool {
    body.rewind()
  }
}
