import WeirCurl
import WeirHTTP
import WeirIO

// The response.
extension HTTP1Connection {
  /// Reads what has arrived, as far as the user takes it and the others' turn allows.
  func receive() {
    guard let transfer, transfer.failure == nil else { return }
    if transfer.isReceivingPaused || isHalfTunnel(transfer) { return ignore() }
    // After a pause the parser may have more to say, even if no byte was kept.
    var share = TurnShare()
    if parser.hasBegun, !takeKept(transfer, &share) { return }
    guard watch() else { return transfer.failLater(.cannotWatch) }
    while self.transfer === transfer {
      if share.isUsedUp {
        // The poller reports a plain socket again. It does not know of bytes within the TLS library.
        if stream.isSecure { engine.continueNextTurn(self) }
        return
      }
      let buffer = engine.received
      switch stream.receive(into: buffer) {
      case .bytes(let count):
        transfer.times.lastProgress = engine.loop.turnTime
        guard take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), transfer, &share) else { return }
        // Counted afterwards, as the rest of a buffer would have to be kept if it used the share up.
        share.count(count)
        if !stream.isSecure, count < buffer.count { return }
      case .later: return
      case .end(let isProven): return connectionEnded(isProven ? .whole : .cut, transfer)
      case .failed(let error): return connectionFailed(error, transfer)
      }
    }
  }

  /// Takes the bytes that were kept; false if there is nothing more to read for now.
  private func takeKept(_ transfer: HTTP1Transfer, _ share: inout TurnShare) -> Bool {
    let bytes = kept
    let content = keptContent
    kept = []
    keptContent = 0
    return bytes.withUnsafeBytes { bytes in
      guard content == 0 || deliver(bytes.octets(0..<content), rest: bytes, transfer) else { return false }
      let rest = bytes.octets(content..<bytes.count)
      if !transfer.isReceivingPaused { return take(rest, transfer, &share) }
      keep(rest, content: 0)
      return false
    }
  }

  /// Takes bytes of the response. False if the exchange is over, or the user takes no more for now.
  private func take(
    _ bytes: UnsafeRawBufferPointer, _ transfer: HTTP1Transfer, _ share: inout TurnShare
  ) -> Bool {
    if hasResponded {
      guard !bytes.isEmpty else { return true }
      // They end the exchange as they would have with the response's end.
      isSpoilt = true
      abandonRest(transfer)
      finishIfDone(transfer)
      return self.transfer === transfer
    }
    if transfer.times.firstByte == nil, !bytes.isEmpty {
      transfer.times.firstByte = .now
      reportSent(transfer)
    }
    var rest = bytes
    while true {
      let event: ResponseParser.Event
      let consumed: Int
      do throws(ResponseDefect) {
        (event, consumed) = try parser.next(rest)
      } catch {
        // Bytes of another protocol are no response.
        transfer.fail(TransferError(error))
        transfer.end()
        return false
      }
      switch event {
      case .needsMore: return true
      case .interim(let head):
        if head.status == 100 { mayContinue(transfer) }
        transfer.delegate?.transfer(transfer, didReceiveInterim: head)
      case .head(let head): if !takeHead(head, transfer) { return false }
      case .body(let range):
        let content = rest.octets(range)
        let behind = UnsafeRawBufferPointer(rebasing: rest[range.lowerBound...])
        share.count(0)
        // Framing may follow the content in this event; the parser has consumed it.
        guard deliver(content, rest: behind, consumed: consumed - range.lowerBound, transfer) else { return false }
      case .end:
        responseEnded(hasMore: consumed < rest.count, transfer)
        return self.transfer === transfer
      }
      guard self.transfer === transfer, transfer.failure == nil else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
      let leavesRest = share.isUsedUp && !rest.isEmpty
      if leavesRest { engine.continueNextTurn(self) }
      if leavesRest || transfer.isReceivingPaused {
        keep(rest, content: 0)
        return false
      }
    }
  }

  /// Hands content on; false if the user has not taken it, or if the transfer is over.
  ///
  /// - Parameters:
  ///   - rest: The bytes from the content on.
  ///   - consumed: How many of them the parser is done with.
  private func deliver(
    _ content: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer, consumed: Int? = nil, _ transfer: HTTP1Transfer
  ) -> Bool {
    guard !content.isEmpty, let delegate = transfer.delegate else { return true }
    switch delegate.transfer(transfer, didReceiveBody: content) {
    case .proceed:
      transfer.tally.bytesReceivedOnWire += Int64(content.count)
    case .pause:
      transfer.isReceivingPaused = true
      keep(rest, content: content.count, consumed: consumed ?? content.count)
    case .stop:
      transfer.fail(.stopped)
    }
    if transfer.failure != nil {
      transfer.end()
      return false
    }
    return !transfer.isReceivingPaused || keptContent == 0
  }

  /// Keeps the bytes that the user has not taken.
  private func keep(_ rest: UnsafeRawBufferPointer, content: Int, consumed: Int = 0) {
    kept = Array(rest[..<content])
    kept.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[max(consumed, content)...]))
    keptContent = content
    ignore()
  }

  /// Takes the final head; false if the exchange is over.
  private func takeHead(_ head: ResponseHead, _ transfer: HTTP1Transfer) -> Bool {
    transfer.tally.version = head.version
    if head.status == 417, transfer.upload.awaitsContinue { return sendWithoutExpect(transfer) }
    // A server of HTTP/1.0 might not read the next request, if that has chunks.
    if head.version != .http1_1 { isSpoilt = true }
    if head.status == 401, transfer.spec.isForOneOfMany, ConnectionAuthentication.isAskedFor(in: head.bytes) {
      isSpoilt = true
    }
    if head.status == 407, transfer.spec.isForOneOfMany, let proxy = transfer.forwardingProxy {
      transfer.fail(.unauthorized(by: proxy))
      transfer.end()
      return false
    }
    if head.status == 101, !beginTunnel(head, transfer) { return false }
    if transfer.spec.opensTunnel { engine.need(.send, for: transfer) }
    if head.status >= 300 { endUpload(transfer, head) } else if head.status >= 200 { mayContinue(transfer) }
    guard let delegate = transfer.delegate else { return false }
    switch delegate.transfer(transfer, didReceiveHead: head) {
    case .proceed: break
    case .pause: transfer.isReceivingPaused = true
    case .stop: transfer.fail(.stopped)
    }
    guard transfer.failure != nil else { return true }
    transfer.end()
    return false
  }

  /// Sends no more of the body: the server has refused it or has no need of it.
  ///
  /// Our side of the connection ends with the response, as a server may take an earlier end for that of its client and
  /// drop what is left of the response. A server that wants the rest of the body first, and so sends nothing more, is told
  /// that there is none.
  private func endUpload(_ transfer: HTTP1Transfer, _ head: ResponseHead) {
    guard !transfer.upload.isOver || !output.isEmpty else { return }
    abandonUpload(transfer)
    isSpoilt = true
    if !head.mayNameFields { awaitPeer(from: .now) }
  }

  /// Sends no more of the body.
  func abandonUpload(_ transfer: HTTP1Transfer) {
    transfer.upload.isAbandoned = true
    transfer.upload.awaitsContinue = false
    stopAwaitingPeer()
    output.removeAll()
    watchSending(false)
  }

  private func responseEnded(hasMore: Bool, _ transfer: HTTP1Transfer) {
    transfer.tally.headerBytes += Int64(parser.headBytes)
    if hasMore || !parser.keepsAlive { isSpoilt = true }
    hasResponded = true
    if isHalfTunnel(transfer) { return peerHasEnded(transfer) }
    if isSpoilt { abandonRest(transfer) }
    finishIfDone(transfer)
  }

  /// The connection will be closed, and the server has answered without the rest of the body.
  private func abandonRest(_ transfer: HTTP1Transfer) {
    if !transfer.upload.isOver || !output.isEmpty { abandonUpload(transfer) }
  }

  /// Ends the exchange if both the response and the request are complete.
  func finishIfDone(_ transfer: HTTP1Transfer) {
    guard hasResponded, transfer.upload.isOver, output.isEmpty else { return }
    transfer.finish(nil, isReusable: true)
  }

  /// The peer sends no more.
  private func connectionEnded(_ end: ResponseParser.ConnectionEnd, _ transfer: HTTP1Transfer) {
    isSpoilt = true
    if hasResponded { return transfer.finish(nil, isReusable: false) }
    // After a failure to send, the end is no sign that the response is whole.
    let end: ResponseParser.ConnectionEnd = sendError != nil ? .cut : hasEndedSending ? .unknown : end
    do throws(ResponseDefect) {
      _ = try parser.connectionEnded(end)
      responseEnded(hasMore: false, transfer)
    } catch {
      lost(TransferError(error), transfer)
    }
  }

  private func connectionFailed(_ error: TransferError, _ transfer: HTTP1Transfer) {
    isSpoilt = true
    if hasResponded { return transfer.finish(nil, isReusable: false) }
    lost(error, transfer)
  }

  /// The connection is gone before the response is complete. A request on a connection that had been idle is sent again
  /// if it may be, as the server may have closed that connection before the request came.
  private func lost(_ error: TransferError, _ transfer: HTTP1Transfer) {
    if !parser.hasBegun, transfer.isReused {
      if !transfer.hasSent || RequestMethods.idempotent.contains(transfer.spec.method) {
        return transfer.sendAgain()
      }
      transfer.fail(.connectionLost)
    } else {
      transfer.fail(sendError ?? error)
    }
    transfer.end()
  }

  /// The server refuses to say whether it would take the body, so the request is sent again without the question.
  private func sendWithoutExpect(_ transfer: HTTP1Transfer) -> Bool {
    transfer.upload.expectsContinue = false
    transfer.upload.isRefusedConsent = true
    transfer.tally.version = nil
    transfer.tally.headerBytes += Int64(parser.headBytes)
    transfer.sendAgain(isStale: false)
    return false
  }
}
