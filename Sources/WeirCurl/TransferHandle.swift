package import WeirHTTP

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
  /// Whether the bytes are a tunnel's: the server has switched to a protocol that the request asked for
  /// (``TransferSpec/upgrade``), or the transfer is a tunnel (``TransferSpec/opensTunnel``).
  var hasSwitched: Bool { get }
  /// The proxy that takes the request in absolute form; nil if the connection leads to the server.
  var forwardingProxy: TransferProxy? { get }
  /// Whether a challenge of the server, or of that proxy, may be answered: the request has no credential for it yet, and can
  /// be sent again.
  func mayBeAuthenticated(byProxy: Bool) -> Bool
}

/// A delegate's answer to a head or to bytes of the body.
package enum Flow: Sendable {
  /// The head or the bytes were taken; continue.
  case proceed
  /// After bytes of the body: none of them were taken, and they come again after `resumeReceiving`. After a head:
  /// neither body nor a successful end follows until `resumeReceiving`.
  case pause
  /// Ends the transfer now; it finishes with `.stopped`.
  case stop
}

/// A delegate's answer when asked for bytes of the request's body.
package enum BodySupply: Sendable {
  /// This many bytes, at least one, were written to the buffer.
  case bytes(Int)
  case end
  /// There are no bytes yet: ask again after `resumeSending`.
  case pause
  /// There will be no more bytes; the transfer finishes with `.bodyUnavailable`.
  case failed
}

/// The receiver of a transfer's events, on the loop. It may call every method of the transfer and the engine from
/// within.
package protocol TransferDelegate: AnyObject {
  /// The head of an interim response (1xx other than 101), 100 included. At most ``ResponseHead/mostInterim`` come per
  /// request on the wire, which may go out a second time.
  func transfer(_ transfer: any TransferHandle, didReceiveInterim head: ResponseHead)
  /// The head of the final response. A proxy's reply to CONNECT is not reported.
  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow
  /// Bytes of the response's body, which are valid during this call only.
  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow
  /// Asks for bytes of a `.pulled` body.
  func transfer(_ transfer: any TransferHandle, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
  /// Asks to start a `.pulled` body again from its beginning; false when that is impossible.
  func transferRewindBody(_ transfer: any TransferHandle) -> Bool
  /// This many bytes of the body have been sent in all.
  func transfer(_ transfer: any TransferHandle, didSendBody totalSent: Int64)
  /// All bytes of the body have been handed to the system or wait in a buffer. Called again if the body is sent again. For
  /// a request that leaves at once (``TransferSpec/leavesAtOnce``) it is called only if a proxy is on the way, when the
  /// connection is ready, which may be within the call that starts the transfer.
  func transferHasSentBody(_ transfer: any TransferHandle)
  /// After a switch of protocols: the peer has ended its side, and ours has not ended.
  func transferPeerHasEnded(_ transfer: any TransferHandle)
  /// The transfer has ended. Called exactly once, and last.
  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport)
}

extension TransferDelegate {
  package func transfer(_ transfer: any TransferHandle, didReceiveInterim head: ResponseHead) {}

  package func transfer(_ transfer: any TransferHandle, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
  {
    .failed
  }

  package func transferRewindBody(_ transfer: any TransferHandle) -> Bool { false }

  package func transfer(_ transfer: any TransferHandle, didSendBody totalSent: Int64) {}

  package func transferHasSentBody(_ transfer: any TransferHandle) {}

  package func transferPeerHasEnded(_ transfer: any TransferHandle) {}
}

/// The observer of an engine's connections, on the loop. It hears of connections that became ready for a request, not
/// of failed attempts to connect. Each open is followed by exactly one close.
package protocol TransferEngineObserver: AnyObject {
  func engineDidOpenConnection(tag: AnyObject?)
  func engineDidCloseConnection(tag: AnyObject?)
}
