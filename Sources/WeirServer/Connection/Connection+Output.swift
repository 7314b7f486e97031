import WeirHTTP
internal import WeirIO

/// The output that an exchange sends over its connection.
extension Connection {
  /// The number of buffered bytes beyond which they are sent without waiting for the end of the turn.
  private static let flushedAtOnce = 16 * 1024

  /// Sends a whole response.
  func send(_ response: OutgoingHead, fields: ResponseFields, body: [UInt8], to head: RequestHead) {
    write(response, fields: fields, version: head.version)
    if response.hasBody { output.close(with: body) }
    endResponse()
  }

  func write(_ response: OutgoingHead, fields: ResponseFields, version: RequestHead.Version) {
    let keepsAlive = machine.beginResponse(
      delimitedByClose: response.framing == .close, hasInput: hasUnreadInput, now: now)
    server.date.refresh(now: now)
    output.beginResponse()
    response.write(
      to: &output.bytes, fields: fields, date: server.date.bytes, keepsAlive: keepsAlive, version: version)
    noteAppended()
  }

  /// Whether the client can't have got any of the response that has begun.
  var isResponseRetractable: Bool { machine.phase == .open && !isBroken && output.isResponseWhole }

  /// Takes back the response that has begun. Returns false if the client may have got some of it.
  func retractResponse() -> Bool {
    guard machine.phase == .open, !isBroken, output.retractResponse() else { return false }
    machine.retractResponse()
    if !hasOutput {
      let wasBlocked = machine.output == .blocked
      machine.noteOutput(.empty, now: now)
      if wasBlocked { updateInterest() }
    }
    return true
  }

  /// Ends a response before it is complete, in a way that the client can't mistake for its end.
  ///
  /// The buffered part is sent first. A client that gets nothing at all takes the connection for a stale one, and sends
  /// its request again.
  func cutResponse(isDelimitedByClose: Bool) {
    isCut = true
    if machine.cutResponse(isDelimitedByClose: isDelimitedByClose, now: now) {
      responseEnded()
    } else {
      flush()
      finish(.reset)
    }
  }

  func writeContinue() {
    output.bytes.append("HTTP/1.1 100 Continue\r\n\r\n")
    noteAppended()
    scheduleFlush()
  }

  func writeInterim(_ status: Int, _ fields: ResponseFields) {
    guard machine.phase == .open, machine.output != .blocked, !isBroken else { return }
    OutgoingHead.writeInterim(status, fields, to: &output.bytes)
    noteAppended()
    if output.count >= Self.flushedAtOnce { flush() } else { scheduleFlush() }
  }

  /// Writes a piece of a body. Returns whether the exchange may write more now: not while the socket takes no more.
  func write(_ bytes: UnsafeRawBufferPointer, isChunk: Bool) -> Bool {
    guard !isBroken else { return true }
    if isChunk {
      output.bytes.append(hexadecimal: bytes.count)
      output.bytes.append("\r\n")
    }
    if machine.output != .blocked, output.count + bytes.count >= Self.flushedAtOnce {
      flush(bytes, tail: isChunk ? [.carriageReturn, .lineFeed] : [])
    } else {
      output.bytes.append(contentsOf: bytes)
      if isChunk { output.bytes.append("\r\n") }
      noteAppended()
      scheduleFlush()
    }
    return machine.output != .blocked
  }

  func writeLastChunk() {
    output.bytes.append("0\r\n\r\n")
    noteAppended()
  }

  /// Ends the response: all of it is buffered.
  func endResponse() {
    machine.endResponse(now: now)
    responseEnded()
  }

  /// Sends the head of the response 101, or 200 to CONNECT. From now on both sides are streams of bytes.
  func beginTunnel(_ status: Int, _ fields: ResponseFields) {
    OutgoingHead.writeTunnel(status, fields, to: &output.bytes)
    machine.beginTunnel()
    noteAppended()
    scheduleFlush()
  }

  /// Ends our side behind what is buffered. The client's goes on.
  func endTunnelOutput() {
    machine.endTunnelOutput()
    proceed()
  }

  /// Ends both sides: sends what is buffered, and discards what still comes.
  func closeTunnel() {
    machine.closeTunnel(now: now)
    responseEnded()
  }

  /// Goes on with the input that follows the request.
  func responseEnded() {
    forgetExchange()
    server.notePlace()
    if isProcessing {
      // Responses to pipelined requests go out together. But a body that the buffer holds uncopied must be its last
      // piece.
      if output.holdsBody || output.count >= Self.flushedAtOnce { flush() }
      return
    }
    flush()
    proceed()
  }

  /// Both sides of a tunnel have ended, which the exchange knows. Other connections have no exchange then.
  func forgetExchange() {
    guard let exchange else { return }
    exchange.detach()
    server.tally.ends()
    self.exchange = nil
  }

  /// Refuses a request that no handler saw, or whose rest is not awaited.
  func sendRefusal(_ refusal: RequestRefusal, toHEAD isHead: Bool) {
    let body = Array((refusal.reason + "\n").utf8)
    let response = OutgoingHead(
      status: refusal.status, length: .length(Int64(body.count)), isHead: isHead, version: .http11)
    send(response, fields: ["Content-Type": "text/plain; charset=utf-8"], body: body, to: RequestHead())
  }

  /// Sends the buffered output, as far as the socket takes it.
  func flush() {
    guard machine.phase != .closed, !isBroken, hasOutput else { return }
    let before = buffered
    do {
      try output.flush(to: wire)
      try drainChannel()
      noteFlushed(isProgress: buffered < before)
    } catch {
      breakSoon()
    }
  }

  /// Called when the socket takes bytes again.
  func flushReady() {
    flush()
    guard machine.phase != .closed, !isBroken else { return }
    if !hasOutput { exchange?.noteWritable() }
    if !hasOutput { proceed() }
  }

  /// The bytes that wait for the client here, and those that it has not acknowledged.
  var buffered: Int { output.count + (channel?.output.count ?? 0) }
  var untaken: Int { buffered + socket.unacknowledged }

  /// Ends the connection of a client that takes too little of its response.
  func resetSlowReader() {
    server.noteTimeout(.reset)
    finish(.reset, .slowRead)
  }

  /// Says to the client that nothing follows.
  func endSending() {
    sayEnd()
    socket.shutdownSending()
  }

  /// Has the channel say that the output is complete, unless some of it is missing.
  func sayEnd() {
    guard let channel, !isCut, !hasOutput else { return }
    channel.closeNotify()
    // A socket that takes no 24 bytes when all else was sent has a client that doesn't read.
    try? wire.drain(channel)
  }

  private func flush(_ bytes: UnsafeRawBufferPointer, tail: [UInt8]) {
    do {
      try output.flush(bytes, tail: tail, to: wire)
      try drainChannel()
      noteFlushed(isProgress: true)
    } catch {
      breakSoon()
    }
  }

  private var wire: Wire { Wire(socket: socket, channel: channel) }

  /// Whether there are bytes that the socket has not taken.
  private var hasOutput: Bool { buffered > 0 }

  private func drainChannel() throws(Errno) {
    guard let channel else { return }
    do {
      try wire.drain(channel)
    } catch .wouldBlock {}
  }

  /// - Parameter isProgress: Whether the socket took some of it. A client that only sends gets no time for that.
  private func noteFlushed(isProgress: Bool) {
    let wasBlocked = machine.output == .blocked
    if isProgress || !wasBlocked || !hasOutput { machine.noteOutput(hasOutput ? .blocked : .empty, now: now) }
    if wasBlocked != (machine.output == .blocked) { updateInterest() }
    armTimer()
  }

  func noteAppended() {
    if machine.output == .empty { machine.noteOutput(.unsent, now: now) }
  }

  /// Sends at the end of the turn, together with everything else that is written until then.
  func scheduleFlush() {
    guard !isFlushScheduled, machine.output == .unsent else { return }
    isFlushScheduled = true
    server.flushAtEndOfTurn(self)
  }
}
