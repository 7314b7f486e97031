package import WeirHTTP

/// What a delegate wants after it was handed something.
package enum Flow: Sendable {
  /// Consumed; go on.
  case proceed
  /// Of a body: nothing consumed, the same bytes come again after `resumeReceiving`. Of a head: nothing more comes,
  /// neither body nor a successful end, until `resumeReceiving`.
  case pause
  /// End the transfer now; it finishes with `.stopped`.
  case stop
}

/// A delegate's answer when asked for bytes of the request's body.
package enum BodySupply: Sendable {
  /// So many bytes, at least one, were written to the buffer.
  case bytes(Int)
  case end
  /// None yet: ask again after `resumeSending`.
  case pause
  /// There will be none; the transfer finishes with `.bodyUnavailable`.
  case failed
}

/// Who hears of a transfer, on the loop. Everything may be called on the transfer and the engine from within.
package protocol TransferDelegate: AnyObject {
  /// The head of the final response; not of interim ones (1xx other than 101), nor of a proxy's reply to CONNECT.
  func transfer(_ transfer: any TransferHandle, didReceiveHead head: ResponseHead) -> Flow
  /// The head of a challenge that is answered with credentials: the request goes out again, and another head follows.
  func transfer(_ transfer: any TransferHandle, didAnswer head: ResponseHead)
  /// Bytes that are valid during this call only.
  func transfer(_ transfer: any TransferHandle, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow
  /// Asks for bytes of a `.pulled` body.
  func transfer(_ transfer: any TransferHandle, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
  /// Asks to start a `.pulled` body anew; false when that can't be done.
  func transferRewindBody(_ transfer: any TransferHandle) -> Bool
  /// So many bytes of the body left us in all.
  func transfer(_ transfer: any TransferHandle, didSendBody totalSent: Int64)
  /// The end, exactly once, and last.
  func transfer(_ transfer: any TransferHandle, didFinish error: TransferError?, report: TransferReport)
}

extension TransferDelegate {
  package func transfer(_ transfer: any TransferHandle, didAnswer head: ResponseHead) {}

  package func transfer(_ transfer: any TransferHandle, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
  {
    .failed
  }

  package func transferRewindBody(_ transfer: any TransferHandle) -> Bool { false }

  package func transfer(_ transfer: any TransferHandle, didSendBody totalSent: Int64) {}
}

/// Who hears of an engine's connections, on the loop: of those that stood ready for a request, not of those that were tried.
/// For each that was opened there is exactly one close.
package protocol TransferEngineObserver: AnyObject {
  func engineDidOpenConnection(tag: AnyObject?)
  func engineDidCloseConnection(tag: AnyObject?)
}
