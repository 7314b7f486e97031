/// Answers requests. Called on the loop at the end of a request's head.
///
/// The handler keeps `exchange` as long as it needs it, and ends it by `respond`, `end` or `abort`, at once or later.
package protocol RequestHandler: Sendable {
  func handle(_ exchange: Exchange)
}

/// Takes a request's body as it arrives, on the loop.
package protocol BodyReader: AnyObject {
  /// Receives the next piece, valid during the call. `pause` stops reading until `Exchange.resumeReading()`.
  func didReceive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow
  /// The body is complete. It isn't called for a body that was cut off: then `Exchange.onAbort` is.
  func didEnd()
}

package enum BodyFlow: Sendable {
  case proceed
  case pause
}
