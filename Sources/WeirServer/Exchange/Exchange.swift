package import WeirIO

/// One request and its response. Confined to `loop`; `bound` is the form that crosses threads.
///
/// When the connection has gone, or the exchange has ended, all verbs do nothing.
package final class Exchange {
  package let loop: EventLoop
  package let head: RequestHead
  package let peer: SocketAddress

  /// Takes the body as it arrives; reading begins (and `Expect: 100-continue` is answered) when this is set. Without a
  /// body, `didEnd` comes at once.
  package var bodyReader: (any BodyReader)?

  /// Called once when the client closed or reset the connection, or fell silent, before the exchange ended. After a
  /// mere end of its sending side a response still reaches it; otherwise responding does nothing.
  package var onAbort: (() -> Void)?

  /// Called when response bytes that made `write` return false have been sent.
  package var onWritable: (() -> Void)?

  init(loop: EventLoop, head: RequestHead, peer: SocketAddress) {
    self.loop = loop
    self.head = head
    self.peer = peer
  }

  /// This exchange for code that may run on other threads.
  package var bound: LoopBound<Exchange> { LoopBound(confining: self, on: loop) }

  /// Whether the response has ended or the connection has gone.
  package var isEnded: Bool { true }

  /// Continues after a body reader said `pause`. Bytes come after this call has returned.
  package func resumeReading() {}

  /// Calls `completion` with the whole body. A larger one is answered 413 and `completion` isn't called.
  package func collectBody(limit: Int, _ completion: @escaping ([UInt8]) -> Void) {}

  /// Sends a whole response in one write. The server adds Date, framing and connection fields and leaves `body` out
  /// where the method or status has none.
  package func respond(status: Int, fields: ResponseFields = ResponseFields(), body: [UInt8] = []) {}

  /// As `respond(status:fields:body:)`, with a text that is sent as `text/plain; charset=utf-8`.
  package func respond(status: Int, fields: ResponseFields = ResponseFields(), text: String) {}

  /// Starts a response whose body follows by `write`.
  package func begin(status: Int, fields: ResponseFields = ResponseFields(), length: BodyLength) {}

  /// Sends, or keeps until the client takes it, the next piece of the body. False: above the high-water mark, stop
  /// until `onWritable`.
  @discardableResult
  package func write(_ bytes: UnsafeRawBufferPointer) -> Bool { true }

  @discardableResult
  package func write(_ bytes: [UInt8]) -> Bool { true }

  /// Ends the response. One that is shorter than its announced length resets the connection.
  package func end() {}

  /// Resets the connection, so that the client can't take a cut response for a whole one.
  package func abort() {}

  /// Closes the connection after this response.
  package func closeAfterResponse() {}
}
