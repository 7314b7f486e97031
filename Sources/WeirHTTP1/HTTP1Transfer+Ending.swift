import WeirCurl
import WeirHTTP

extension HTTP1Transfer {
  /// Ends the transfer with its failure.
  func end() {
    finish(failure ?? .cancelled, isReusable: false)
  }

  /// Ends the transfer at the end of the turn.
  func failLater(_ error: TransferError) {
    fail(error)
    engine.need(.end, for: self)
  }

  /// Ends the transfer. The connection is free for others before the delegate hears of it.
  func finish(_ error: TransferError?, isReusable: Bool) {
    guard state != .finished else { return }
    if let connection, !connection.hasResponded { tally.headerBytes += Int64(connection.parser.headBytes) }
    // The close of a TLS connection would say to the server that it has got the whole stream.
    if error != nil, hasSwitched { connection?.stream.shutdownSending() }
    let report = report()
    let wasWaiting = state == .connecting
    state = .finished
    if wasWaiting { origin.forgetServed() }
    opening?.cancel()
    opening = nil
    engine.remove(self)
    connection?.finish(isReusable: isReusable && error == nil)
    let delegate = delegate
    self.delegate = nil
    delegate?.transfer(self, didFinish: error, report: report)
  }

  /// Sends the request again on a connection of its own.
  ///
  /// - Parameter isStale: Whether the connection was dead when the request was sent.
  func sendAgain(isStale: Bool = true) {
    guard rewind() else {
      fail(.bodyNotRewindable)
      return end()
    }
    if isStale { tally.staleRetries += 1 }
    connection?.finish(isReusable: false)
    upload.startAgain()
    times.startAgain()
    tally.hasSent = false
    tally.dialled = nil
    engine.open(self, isFresh: true)
  }

  /// Why the request can't be sent; nil if it can.
  func defect() -> TransferError? {
    if let defect = headers.defect ?? RequestRules.defect(of: spec) {
      return TransferError(.invalidRequest, message: defect)
    }
    return engine.dialler.main.refusalOfLiteral(spec)
  }
}

extension TransferError {
  static let cannotWatch = TransferError(.noSocket, message: "the connection can't be watched")
}
