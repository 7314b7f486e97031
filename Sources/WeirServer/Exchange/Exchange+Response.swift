extension Exchange {
  /// Sends a whole response in one write. The server adds Date, framing and connection fields, and leaves out `body` if
  /// the method or status allows none.
  package func respond(status: Int, fields: ResponseFields = ResponseFields(), body: [UInt8] = []) {
    guard case .none = responseState, let connection else { return }
    responseState = .ended
    let length = BodyLength.length(Int64(body.count))
    let response = OutgoingHead(status: status, length: length, isHead: isHead, version: head.version)
    if response.hasBody { bytesOut = Int64(body.count) }
    connection.send(response, fields: fields, body: body, to: head)
  }

  /// As `respond(status:fields:body:)`, with a text that is sent as `text/plain; charset=utf-8`.
  package func respond(status: Int, fields: ResponseFields = ResponseFields(), text: String) {
    var fields = fields
    fields.add("Content-Type", "text/plain; charset=utf-8")
    respond(status: status, fields: fields, body: Array(text.utf8))
  }

  /// Sends the head of an interim response (RFC 9110 §15.2), of which any number may come before the response. A client of
  /// HTTP/1.0 gets none, as it would take it for the response. One that takes nothing at present misses it, so that what
  /// waits for it stays bounded.
  package func sendInterim(status: Int, fields: ResponseFields) {
    guard case .none = responseState, head.version == .http11, let connection else { return }
    connection.writeInterim(status, fields)
  }

  /// Starts a response whose body follows by `write`. The head is sent with the first piece, at the latest at the end
  /// of the loop's turn.
  package func begin(status: Int, fields: ResponseFields = ResponseFields(), length: BodyLength) {
    guard case .none = responseState, let connection else { return }
    let response = OutgoingHead(status: status, length: length, isHead: isHead, version: head.version)
    var remaining = Int64.max
    if case .length(let announced) = response.framing { remaining = announced }
    responseState = .begun(response, remaining: remaining)
    connection.write(response, fields: fields, version: head.version)
    connection.scheduleFlush()
  }

  /// Sends the next piece of the body, or keeps it until the client takes it. Returns false if some of it is kept: then
  /// stop until `onWritable`. Bytes beyond the announced length are left out.
  @discardableResult
  package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard case .begun(let response, let remaining) = responseState, let connection, response.hasBody else {
      return true
    }
    let bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(clamping: remaining)))
    guard !bytes.isEmpty else { return true }  // an empty chunk would end the body
    if case .length = response.framing { responseState = .begun(response, remaining: remaining - Int64(bytes.count)) }
    bytesOut += Int64(bytes.count)
    wantsWritable = !connection.write(bytes, isChunk: response.framing == .chunked)
    return !wantsWritable
  }

  @discardableResult
  package func write(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes(write)
  }

  /// Takes back a response that has begun, so that another one can take its place. If the client may have got some of
  /// it, changes nothing and returns false.
  package func retract() -> Bool {
    guard case .begun = responseState, let connection, connection.retractResponse() else { return false }
    responseState = .none
    wantsWritable = false
    bytesOut = 0
    return true
  }

  /// Whether ``retract()`` would take back a response that has begun.
  package var isRetractable: Bool {
    guard case .begun = responseState, let connection else { return false }
    return connection.isResponseRetractable
  }

  /// Makes the connection a tunnel from now on: answers 101, where `fields` have the Upgrade field and the server adds
  /// Connection; or 200 to CONNECT, whose client may speak HTTP/1.0.
  ///
  /// ``bodyReader``, which is to be set next, gets the client's bytes, and `didEnd` when the client ends its side.
  /// ``write(_:)`` sends bytes, and ``end()`` ends our side. The exchange ends once both sides
  /// have, or by ``close()``, ``abort()`` or the client. Returns false if there is no such connection.
  package func upgrade(status: Int = 101, fields: ResponseFields) -> Bool {
    let isAsked = head.form == .authority ? status == 200 : status == 101 && head.version == .http11
    guard case .none = responseState, isAsked, let connection, connection.machine.phase == .open else { return false }
    responseState = .begun(.tunnel, remaining: .max)
    connection.beginTunnel(status, fields)
    return true
  }

  /// Ends both sides of a tunnel: sends what is buffered, and discards what the client still sends.
  ///
  /// - Parameter isCut: Whether our side may not be whole, so that a channel must not say that it is.
  package func close(isCut: Bool = false) {
    guard let connection, connection.machine.phase == .tunnel else { return }
    if isCut { connection.isCut = true }
    connection.closeTunnel()
  }

  /// Ends the response. If it is shorter than its announced length, it is cut off as by `abort`.
  package func end() {
    guard case .begun(let response, let remaining) = responseState, let connection else { return }
    if case .length = response.framing, response.hasBody, remaining > 0 { return abort() }
    responseState = .ended
    if response.isTunnel { return connection.endTunnelOutput() }
    if response.framing == .chunked, response.hasBody { connection.writeLastChunk() }
    connection.endResponse()
  }

  /// Ends the connection so that the client can't take a truncated response for a complete one. If the framing shows
  /// that more should come, the buffered part is sent first; otherwise the connection is reset. `onAbort` isn't called.
  package func abort() {
    guard let connection else { return }
    onAbort = nil
    guard case .begun(let response, _) = responseState else { return connection.finish(.reset) }
    responseState = .ended
    connection.cutResponse(isDelimitedByClose: response.framing == .close && response.hasBody)
  }

  /// Resets the connection, as the client takes too little of the response. `onAbort` is called.
  package func resetSlowReader() { connection?.resetSlowReader() }

  /// Closes the connection after this response. If the response has not begun, it tells the client so.
  package func closeAfterResponse() {
    connection?.machine.closeAfterResponse()
  }
}
