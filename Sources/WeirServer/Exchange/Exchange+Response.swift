extension Exchange {
  /// Sends a whole response in one write. The server adds Date, framing and connection fields and leaves `body` out
  /// where the method or status has none.
  package func respond(status: Int, fields: ResponseFields = ResponseFields(), body: [UInt8] = []) {
    guard case .none = responseState, let connection else { return }
    responseState = .ended
    let response = OutgoingHead(status: status, length: .length(Int64(body.count)), to: head)
    connection.send(response, fields: fields, body: body, to: head)
  }

  /// As `respond(status:fields:body:)`, with a text that is sent as `text/plain; charset=utf-8`.
  package func respond(status: Int, fields: ResponseFields = ResponseFields(), text: String) {
    var fields = fields
    fields.add("Content-Type", "text/plain; charset=utf-8")
    respond(status: status, fields: fields, body: Array(text.utf8))
  }

  /// Starts a response whose body follows by `write`. It is sent with the first piece, at the latest at the end of the
  /// loop's turn.
  package func begin(status: Int, fields: ResponseFields = ResponseFields(), length: BodyLength) {
    guard case .none = responseState, let connection else { return }
    let response = OutgoingHead(status: status, length: length, to: head)
    var remaining = Int64.max
    if case .length(let announced) = response.framing { remaining = announced }
    responseState = .begun(response, remaining: remaining)
    connection.write(response, fields: fields, version: head.version)
    connection.scheduleFlush()
  }

  /// Sends, or keeps until the client takes it, the next piece of the body. False: above the high-water mark, stop
  /// until `onWritable`. What exceeds the announced length is left out.
  @discardableResult
  package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard case .begun(let response, let remaining) = responseState, let connection, response.hasBody else {
      return true
    }
    let bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(clamping: remaining)))
    guard !bytes.isEmpty else { return true }  // an empty chunk would end the body
    if case .length = response.framing { responseState = .begun(response, remaining: remaining - Int64(bytes.count)) }
    wantsWritable = !connection.write(bytes, isChunk: response.framing == .chunked)
    return !wantsWritable
  }

  @discardableResult
  package func write(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes(write)
  }

  /// Takes back a response that has begun, so that another one can take its place. False, and nothing changes, when the
  /// client may have got some of it.
  package func retract() -> Bool {
    guard case .begun = responseState, let connection, connection.retractResponse() else { return false }
    responseState = .none
    wantsWritable = false
    return true
  }

  /// Ends the response. One that is shorter than its announced length is cut off, as by `abort`.
  package func end() {
    guard case .begun(let response, let remaining) = responseState, let connection else { return }
    if case .length = response.framing, response.hasBody, remaining > 0 { return abort() }
    responseState = .ended
    if response.framing == .chunked, response.hasBody { connection.writeLastChunk() }
    connection.endResponse()
  }

  /// Ends the connection, so that the client can't take a cut response for a whole one: after what there is of it where
  /// its framing shows that more should come, by a reset elsewhere. `onAbort` isn't called.
  package func abort() {
    guard let connection else { return }
    onAbort = nil
    guard case .begun(let response, _) = responseState else { return connection.finish(.reset) }
    responseState = .ended
    connection.cutResponse(isDelimitedByClose: response.framing == .close && response.hasBody)
  }

  /// Closes the connection after this response; called before it begins, the client is told.
  package func closeAfterResponse() {
    connection?.machine.closeAfterResponse()
  }
}
