import WeirHTTP
internal import WeirIO

/// What an exchange has its connection send.
extension Connection {
  /// Buffered output beyond which it is sent without waiting for the end of the turn.
  private static let flushedAtOnce = 16 * 1024

  /// A whole response.
  func send(_ response: OutgoingHead, fields: ResponseFields, body: [UInt8], to head: RequestHead) {
    write(response, fields: fields, version: head.version)
    if response.hasBody { output.close(with: body) }
    endResponse()
  }

  func write(_ response: OutgoingHead, fields: ResponseFields, version: RequestHead.Version) {
    let keepsAlive = machine.beginResponse(
      delimitedByClose: response.framing == .close, hasInput: hasUnreadInput)
    server.date.refresh(now: now)
    output.beginResponse()
    response.write(
      to: &output.bytes, fields: fields, date: server.date.bytes, keepsAlive: keepsAlive, version: version)
    noteAppended()
  }

  /// Takes back the response that has begun. False when the client may have got some of it.
  func retractResponse() -> Bool {
    guard machine.phase == .open, !isBroken, output.retractResponse() else { return false }
    machine.retractResponse()
    if output.isEmpty {
      let wasBlocked = machine.output == .blocked
      machine.noteOutput(.empty, now: now)
      if wasBlocked { updateInterest() }
    }
    return true
  }

  /// Ends the response that has begun before it is whole, in a way that the client can't mistake.
  ///
  /// What there is of it is sent first: a client that gets nothing takes that for a connection that had gone stale, and
  /// sends its request again.
  func cutResponse(isDelimitedByClose: Bool) {
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

  /// A piece of a body. Returns whether more is welcome.
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
    return output.count < server.limits.writeHighWaterMark
  }

  func writeLastChunk() {
    output.bytes.append("0\r\n\r\n")
    noteAppended()
  }

  /// All of the response is buffered.
  func endResponse() {
    machine.endResponse(now: now)
    responseEnded()
  }

  /// What follows the response may be taken up.
  private func responseEnded() {
    exchange?.detach()
    exchange = nil
    server.notePlace()
    if isProcessing {
      // Responses to pipelined requests go out together, but a body that is kept as it is must be the last piece.
      if output.holdsBody || output.count >= Self.flushedAtOnce { flush() }
      return
    }
    flush()
    proceed()
  }

  /// Refuses a request that no handler saw.
  func sendRefusal(_ refusal: RequestRefusal) {
    let body = Array((refusal.reason + "\n").utf8)
    let response = OutgoingHead(status: refusal.status, length: .length(Int64(body.count)), to: RequestHead())
    send(response, fields: ["Content-Type": "text/plain; charset=utf-8"], body: body, to: RequestHead())
  }

  /// Sends what is buffered, as far as the socket takes it.
  func flush() {
    guard machine.phase != .closed, !isBroken, !output.isEmpty else { return }
    do {
      try output.flush(to: socket)
      noteFlushed()
    } catch {
      breakSoon()
    }
  }

  /// The socket takes bytes again.
  func flushReady() {
    flush()
    guard machine.phase != .closed, !isBroken else { return }
    if output.count <= server.limits.writeHighWaterMark / 2 { exchange?.noteWritable() }
    if output.isEmpty { proceed() }
  }

  private func flush(_ bytes: UnsafeRawBufferPointer, tail: [UInt8]) {
    do {
      try output.flush(bytes, tail: tail, to: socket)
      noteFlushed()
    } catch {
      breakSoon()
    }
  }

  private func noteFlushed() {
    let wasBlocked = machine.output == .blocked
    machine.noteOutput(output.isEmpty ? .empty : .blocked, now: now)
    if wasBlocked != (machine.output == .blocked) { updateInterest() }
    armTimer()
  }

  private func noteAppended() {
    if machine.output == .empty { machine.noteOutput(.unsent, now: now) }
  }

  /// Sends at the end of the turn, with what else is written until then.
  func scheduleFlush() {
    guard !isFlushScheduled, machine.output == .unsent else { return }
    isFlushScheduled = true
    server.flushAtEndOfTurn(self)
  }
}
