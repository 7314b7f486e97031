package import WeirIO

/// One request and its response. Confined to `loop`; `bound` is the form that crosses threads.
///
/// When the connection has gone, or the exchange has ended, all verbs do nothing.
package final class Exchange {
  enum ResponseState {
    case none
    /// `remaining` counts down a known length.
    case begun(OutgoingHead, remaining: Int64)
    case ended
  }

  package let loop: EventLoop
  package let head: RequestHead
  /// Whether the method is HEAD.
  let isHead: Bool
  package let peer: SocketAddress

  /// Takes the body as it arrives. Reading begins, and `Expect: 100-continue` is answered, when this is set. Without a
  /// body, `didEnd` comes at once. If no reader is set, the body is discarded once the response has ended. After
  /// ``upgrade(status:fields:)`` the reader takes the bytes of the tunnel.
  @exclusivity(unchecked) package var bodyReader: (any BodyReader)? {
    didSet { readerChanged() }
  }

  /// Called once if, before the exchange ended, the client closed or reset the connection or fell silent. If the client
  /// only ended its sending side, a response still reaches it; otherwise the exchange has ended.
  @exclusivity(unchecked) package var onAbort: (() -> Void)?

  /// Whether the client ended or reset the connection before the exchange ended. False if the server did, because a
  /// time limit passed, the request was refused, or the server stops.
  @exclusivity(unchecked) package private(set) var hasClientLeft = false

  /// Why the server has answered in place of the handler: the rest of the request came too slowly, was too large or was
  /// malformed. ``onAbort`` is called then.
  @exclusivity(unchecked) package private(set) var refusal: RequestRefusal?

  /// When ``limit(to:_:)`` has its handler called; distant if it does not.
  @exclusivity(unchecked) private(set) var deadline = MonotonicTime.distantFuture
  @exclusivity(unchecked) private var onDeadline: (() -> Void)?

  /// Called when the response bytes that made `write` return false have been sent.
  @exclusivity(unchecked) package var onWritable: (() -> Void)?

  /// The bytes of the request's body that came, and those of the response's body that were given to the connection.
  @exclusivity(unchecked) package private(set) var bytesIn: Int64 = 0
  @exclusivity(unchecked) package internal(set) var bytesOut: Int64 = 0

  /// Nil once the exchange has ended.
  @exclusivity(unchecked) var connection: Connection?
  @exclusivity(unchecked) var responseState = ResponseState.none
  @exclusivity(unchecked) var wantsWritable = false
  @exclusivity(unchecked) private var hasBodyEnded = false

  init(connection: Connection, head: consuming RequestHead) {
    self.connection = connection
    isHead = head.isMethod("HEAD")
    self.head = head
    loop = connection.server.loop
    peer = connection.peer
  }

  /// A reference to this exchange for code that may run on other threads. On the loop.
  package var bound: LoopBound<Exchange> { LoopBound(confining: self, on: loop) }

  /// Makes sure that neither `onAbort` nor `onWritable` is called any more.
  package func forgetCallbacks() {
    onAbort = nil
    onWritable = nil
  }

  /// Calls `handler` at the deadline, unless the exchange has ended before. An earlier deadline counts no more. It is kept by
  /// the connection's own timer, which costs a request nothing as long as that fires early enough.
  package func limit(to deadline: MonotonicTime, _ handler: @escaping () -> Void) {
    guard let connection else { return }
    self.deadline = deadline
    onDeadline = handler
    if !connection.isProcessing { connection.armTimer() }
  }

  /// There is no deadline any more.
  package func endLimit() {
    deadline = .distantFuture
    onDeadline = nil
  }

  /// The channel through which the request came; nil without one, and when the exchange has ended.
  package var channel: (any SecureChannel)? { connection?.channel }

  /// Whether the client's side of a tunnel has ended without the channel's word that it is whole.
  package var isInputCut: Bool { connection?.isInputCut ?? false }

  /// Whether the response has ended or the connection has gone.
  package var isEnded: Bool { connection == nil }

  /// The time since which the client has taken none of the response that waits for it; nil while nothing waits.
  package var blockedSince: MonotonicTime? { connection?.machine.blockedSince }

  /// The bytes of the response that wait here for the client.
  package var bufferedBytes: Int { connection?.buffered ?? 0 }

  /// The bytes of the response's body that the client's system has acknowledged, about.
  package var takenBytes: Int { max(0, Int(bytesOut) - (connection?.untaken ?? 0)) }

  /// Continues after a body reader returned `pause`. Bytes come after this call has returned.
  package func resumeReading() {
    guard let connection, bodyReader != nil else { return }
    if connection.machine.activateReader(hasInput: connection.hasUnreadInput, now: connection.now) {
      connection.writeContinue()
    }
    // Bytes come once the handler that asked for them has returned.
    if !connection.isProcessing { connection.proceedSoon() }
  }

  /// Calls `completion` with the whole body. If the body is larger than `limit`, the answer is 413 and `completion`
  /// isn't called.
  package func collectBody(limit: Int, _ completion: @escaping ([UInt8]) -> Void) {
    if case .length(let length) = head.bodyLength, length > limit {
      refuseBody()
    } else {
      bodyReader = BodyCollector(exchange: self, limit: limit, completion: completion)
    }
  }

  func refuseBody() {
    closeAfterResponse()
    respond(status: 413, text: RequestRefusal.bodyTooLarge.reason + "\n")
  }

  private func readerChanged() {
    guard bodyReader != nil, let connection, !hasBodyEnded else { return }
    if head.bodyLength.isEmpty, connection.machine.phase != .tunnel { deliverEnd() } else { resumeReading() }
  }
}

/// The calls of the connection to its exchange.
extension Exchange {
  func deliver(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    bytesIn += Int64(bytes.count)
    return bodyReader?.didReceive(bytes) ?? .proceed
  }

  func deliverEnd() {
    hasBodyEnded = true
    bodyReader?.didEnd()
  }

  func noteAbort() {
    hasClientLeft = true
    let callback = onAbort
    onAbort = nil
    callback?()
  }

  /// Called when the connection has gone, or the server has answered.
  func abandon(byClient: Bool, _ refusal: RequestRefusal? = nil) {
    hasClientLeft = hasClientLeft || byClient
    self.refusal = refusal
    let callback = onAbort
    detach()
    callback?()
  }

  func deadlinePassed() {
    let callback = onDeadline
    endLimit()
    callback?()
  }

  func noteWritable() {
    guard wantsWritable else { return }
    wantsWritable = false
    onWritable?()
  }

  /// Releases the connection, the body reader and the callbacks, which may hold this exchange.
  func detach() {
    connection = nil
    responseState = .ended
    bodyReader = nil
    endLimit()
    forgetCallbacks()
  }
}

/// Collects a body for `collectBody`.
private final class BodyCollector: BodyReader {
  private let exchange: Exchange
  private let limit: Int
  private let completion: ([UInt8]) -> Void
  private var bytes: [UInt8] = []

  init(exchange: Exchange, limit: Int, completion: @escaping ([UInt8]) -> Void) {
    self.exchange = exchange
    self.limit = limit
    self.completion = completion
  }

  func didReceive(_ piece: UnsafeRawBufferPointer) -> BodyFlow {
    if piece.count > limit - bytes.count {
      exchange.refuseBody()
    } else {
      bytes.append(contentsOf: piece)
    }
    return .proceed
  }

  func didEnd() {
    completion(bytes)
  }
}
