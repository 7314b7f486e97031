package import WeirCurl
package import WeirHTTP

/// The user of an attempt: it writes the requests, judges the heads, and takes and gives the bytes. All calls come on
/// the loop, and the delegate may call every method of the attempt from within them.
package protocol AttemptDelegate: AnyObject {
  /// The destination has a slot for the attempt. False means that the attempt is not wanted any more; the slot then
  /// goes back.
  func attemptMayStart(_ attempt: Attempt) -> Bool
  /// The destination did not admit the attempt, which is over.
  func attempt(_ attempt: Attempt, wasRejected reason: Rejection)
  /// A hop is due: the delegate sends it (``Attempt/send(_:headers:)``) or ends the attempt.
  func attemptIsDue(_ attempt: Attempt)
  /// The first hop is about to go on the wire.
  func attemptBegan(_ attempt: Attempt)

  /// The head of an interim response of the hop (RFC 9110 §15.2).
  func attempt(_ attempt: Attempt, didReceiveInterim head: ResponseHead)
  /// The head of a hop's response. `.proceed` takes its body, or drops it after ``Attempt/discardBody()``.
  func attempt(_ attempt: Attempt, didReceiveHead head: ResponseHead) -> Flow
  /// Takes bytes that are valid during this call only. `.stop` ends the transfer.
  func attempt(_ attempt: Attempt, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow
  /// Asks for bytes of a pulled body.
  func attempt(_ attempt: Attempt, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
  /// Asks to start a pulled body again from its beginning; false when that is impossible.
  func attemptRewindsBody(_ attempt: Attempt) -> Bool
  /// This many bytes of the hop's body have been sent in all.
  func attempt(_ attempt: Attempt, didSendBody totalSent: Int64)
  /// A hop's transfer has ended: the delegate goes on with another hop, or ends the attempt.
  func attempt(_ attempt: Attempt, didFinish error: TransferError?, _ report: TransferReport)

  /// The response's receiver, for which the end had waited, is ready.
  func attemptConcludes(_ attempt: Attempt)
  /// Reading continues.
  func attemptReadsOn(_ attempt: Attempt)
  /// The attempt was cancelled while no transfer could report that: the delegate ends it.
  func attemptWasCancelled(_ attempt: Attempt)
  /// Whether the wait for a slot may still end the exchange.
  func attemptAwaitsSlot(_ attempt: Attempt) -> Bool
  /// The receiver has used up its time for the end.
  func attemptReceiverIsLate(_ attempt: Attempt)
}

extension AttemptDelegate {
  package func attempt(_ attempt: Attempt, didSendBody totalSent: Int64) {}
  package func attemptReadsOn(_ attempt: Attempt) {}
  package func attemptReceiverIsLate(_ attempt: Attempt) {}
  package func attemptAwaitsSlot(_ attempt: Attempt) -> Bool { true }
}
