/// A transfer that an engine runs, as its user steers it. On the loop; nothing is heard from within a call.
package protocol TransferHandle: AnyObject {
  /// Ends the transfer; the delegate hears `.cancelled` by the end of this turn.
  func cancel()
  /// Takes no more bytes of the response.
  func pauseReceiving()
  /// Goes on after `pauseReceiving` or an answer of `.pause`.
  func resumeReceiving()
  /// Asks for no more bytes of the request's body.
  func pauseSending()
  /// Goes on after `pauseSending` or a supply of `.pause`.
  func resumeSending()
  /// What was measured so far.
  func report() -> TransferReport
  /// Whether the caller leaves it to others to answer challenges, and the request can be sent again for that.
  var mayBeAuthenticated: Bool { get }
}

extension Transfer: TransferHandle {}

/// Speaks HTTP for the attempts of one loop. Confined to it.
package protocol TransportEngine: AnyObject {
  /// Starts a transfer; its delegate hears nothing before this call has returned.
  func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> any TransferHandle
  /// Fails all transfers and closes all connections. Delegates hear the end by the end of this turn.
  func close()
}

extension TransferEngine: TransportEngine {
  package func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> any TransferHandle {
    let transfer: Transfer = start(spec, headers: headers, delegate: delegate)
    return transfer
  }
}
