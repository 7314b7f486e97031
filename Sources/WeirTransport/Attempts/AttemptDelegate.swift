package import WeirCurl
package import WeirHTTP

/// The user of an attempt: it writes the requests, judges the heads, takes and gives the bytes. All calls come on the
/// loop, and everything may be called on the attempt from within.
package protocol AttemptDelegate: AnyObject {
  /// The destination has a slot for it. False: the attempt is not wanted any more, and the slot goes back.
  func attemptMayStart(_ attempt: Attempt) -> Bool
  /// The destination did not admit the attempt, which is over.
  func attempt(_ attempt: Attempt, wasRejected reason: Rejection)
  /// A hop is due: the delegate sends it (``Attempt/send(_:headers:)``) or ends the attempt.
  func attemptIsDue(_ attempt: Attempt)
  /// The first hop is about to go on the wire.
  func attemptBegan(_ attempt: Attempt)

  /// The head of a hop's response. `.proceed` takes it, or reads over it after ``Attempt/discardBody()``.
  func attempt(_ attempt: Attempt, didReceiveHead head: ResponseHead) -> Flow
  /// The head of a challenge that the engine answers with the hop's credential.
  func attempt(_ attempt: Attempt, didAnswer head: ResponseHead)
  /// Bytes that are valid during this call only; they are taken. `.stop` ends the transfer.
  func attempt(_ attempt: Attempt, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow
  /// Asks for bytes of a pulled body.
  func attempt(_ attempt: Attempt, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply
  /// Asks to start a pulled body anew; false when that can't be done.
  func attemptRewindsBody(_ attempt: Attempt) -> Bool
  /// So many bytes of the hop's body have left in all.
  func attempt(_ attempt: Attempt, didSendBody totalSent: Int64)
  /// A hop's transfer has ended: the delegate goes on with another hop, or ends the attempt.
  func attempt(_ attempt: Attempt, didFinish error: TransferError?, _ report: TransferReport)

  /// The response's receiver was waited for and is ready.
  func attemptConcludes(_ attempt: Attempt)
  /// Reading goes on.
  func attemptReadsOn(_ attempt: Attempt)
  /// The attempt was cancelled where no transfer would report it: the delegate ends it.
  func attemptWasCancelled(_ attempt: Attempt)
  /// Whether the wait for a slot may still end the exchange.
  func attemptAwaitsSlot(_ attempt: Attempt) -> Bool
  /// The time that the receiver had for the end is over.
  func attemptReceiverIsLate(_ attempt: Attempt)
}

extension AttemptDelegate {
  package func attempt(_ attempt: Attempt, didAnswer head: ResponseHead) {}
  package func attempt(_ attempt: Attempt, didSendBody totalSent: Int64) {}
  package func attemptConcludes(_ attempt: Attempt) {}
  package func attemptReadsOn(_ attempt: Attempt) {}
  package func attemptReceiverIsLate(_ attempt: Attempt) {}
  package func attemptAwaitsSlot(_ attempt: Attempt) -> Bool { true }
}
