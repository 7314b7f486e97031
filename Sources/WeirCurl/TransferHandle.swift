/// The user's handle to a running transfer. Confined to the loop; no call leads to a callback before it returns.
package protocol TransferHandle: AnyObject {
  /// Ends the transfer; the delegate hears `.cancelled` by the end of this turn.
  func cancel()
  /// Takes no more bytes of the response.
  func pauseReceiving()
  /// Continues after `pauseReceiving` or an answer of `.pause`.
  func resumeReceiving()
  /// Asks for no more bytes of the request's body.
  func pauseSending()
  /// Continues after `pauseSending` or a supply of `.pause`.
  func resumeSending()
  /// From now on so many seconds without a byte end the transfer, in place of ``TransferSpec/silenceTimeout``.
  func limitSilence(to seconds: Double)
  /// The measurements so far.
  func report() -> TransferReport
  /// Tells another delegate of all that follows.
  func handOver(to delegate: any TransferDelegate)
  /// After a switch of protocols: our side has been cut, so its end must not look like a whole one (close_notify).
  func omitEndNotice()
  /// Whether the server has switched to a protocol that the request asked for (``TransferSpec/upgrade``).
  var hasSwitched: Bool { get }
  /// Whether a challenge may be answered: the request has no Authorization field, and can be sent again.
  var mayBeAuthenticated: Bool { get }
}

extension Transfer: TransferHandle {
  package func handOver(to delegate: any TransferDelegate) { self.delegate = delegate }

  package var hasSwitched: Bool { false }

  package func omitEndNotice() {}
}

/// An HTTP engine for the attempts of one loop. Confined to that loop.
package protocol TransportEngine: AnyObject {
  /// Starts a transfer; its delegate hears nothing before this call has returned.
  func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> any TransferHandle
  /// Closes the idle connections to an endpoint that is gone.
  func closeIdleConnections(to endpoint: TransferEndpoint)
  /// Closes the idle connections to an origin that is reached by its own host and port.
  ///
  /// - Parameter authority: The Host field's value: without the scheme's own port.
  func closeIdleConnections(toOrigin authority: String, isSecure: Bool)
  /// Hands on so many bytes of a body at a time from now on, at most.
  func limitPieces(to bytes: Int)
  /// Fails all transfers and closes all connections. Delegates hear the end by the end of this turn.
  func close()
}

extension TransferEngine: TransportEngine {
  /// libcurl does not close single idle connections; theirs ends with their idle lifetime.
  package func closeIdleConnections(to endpoint: TransferEndpoint) {}

  package func closeIdleConnections(toOrigin authority: String, isSecure: Bool) {}

  /// libcurl hands on 16 KiB at most anyway (CURL_MAX_WRITE_SIZE).
  package func limitPieces(to bytes: Int) {}

  package func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) -> any TransferHandle {
    let transfer: Transfer = start(spec, headers: headers, delegate: delegate)
    return transfer
  }
}
