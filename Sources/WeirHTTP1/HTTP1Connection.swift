internal import Glibc
internal import WeirCurl
internal import WeirHTTP
internal import WeirIO

/// A connection to an origin, and the exchange that is under way on it. Confined to the loop.
final class HTTP1Connection {
  let stream: SocketStream
  /// The connection's number in the pool.
  let number: Int
  let origin: Origin
  /// An engine with connections lives until it is closed.
  let engine: HTTP1Engine
  @exclusivity(unchecked) private(set) var transfer: HTTP1Transfer?
  @exclusivity(unchecked) var parser: ResponseParser
  /// Bytes of the response that were received and not taken, and how many of them are content already.
  @exclusivity(unchecked) var kept: [UInt8] = []
  @exclusivity(unchecked) var keptContent = 0
  /// Bytes of the request that the system has not taken.
  @exclusivity(unchecked) var output = PendingOutput()
  /// Whether the response is complete, and the request is not.
  @exclusivity(unchecked) var hasResponded = false
  /// Whether the connection must not serve another request.
  @exclusivity(unchecked) var isSpoilt = false
  /// Whether the engine will read on from it in the next turn.
  @exclusivity(unchecked) var isUnfinished = false
  /// Whether the TLS library can send on only when something has arrived.
  @exclusivity(unchecked) var sendsWhenReadable = false
  /// Whether our side was ended before the response was, so that the server may have given the response up.
  @exclusivity(unchecked) private(set) var hasEndedSending = false
  /// Why the request can't be sent to its end.
  @exclusivity(unchecked) var sendError: TransferError?
  @exclusivity(unchecked) private var interest: IOEvents = []
  /// Stays armed from one transfer to the next; arming it anew for each would cost a heap operation.
  @exclusivity(unchecked) private var silenceTimer: LoopTimer?
  /// Waits for the server's consent to send the body, or for more of a response behind an abandoned body.
  @exclusivity(unchecked) private var peerTimer: LoopTimer?

  init(_ stream: SocketStream, number: Int, origin: Origin, engine: HTTP1Engine) {
    self.stream = stream
    self.number = number
    self.origin = origin
    self.engine = engine
    parser = ResponseParser(requestIsHead: false, maximumHeadSize: engine.options.maximumHeaderSize)
    stream.owner = self
  }

  /// Whether an idle connection can serve a request.
  var isUsable: Bool { stream.isQuiet }

  /// Begins to serve the transfer. Its delegate hears no more from within than that the request leaves.
  func serve(_ transfer: HTTP1Transfer) {
    self.transfer = transfer
    transfer.connection = self
    transfer.state = .running
    parser = ResponseParser(
      requestIsHead: transfer.spec.method == "HEAD", allowsSwitch: transfer.spec.upgrade != nil,
      maximumHeadSize: engine.options.maximumHeaderSize)
    hasResponded = false
    sendError = nil
    let now = MonotonicTime.now
    transfer.times.ready = now
    transfer.times.lastProgress = now
    transfer.tally.remoteAddress = stream.remoteAddress
    transfer.tally.remotePort = stream.remoteAddress == nil ? nil : stream.remotePort
    if origin.key.proxy != nil, transfer.spec.leavesAtOnce { transfer.delegate?.transferHasSentBody(transfer) }
    if transfer.spec.opensTunnel { return beginTunnel(transfer) }
    armSilence(transfer)
    sendHead(of: transfer)
  }

  /// The exchange is over: the connection serves another one, or is closed.
  func finish(isReusable: Bool) {
    transfer?.connection = nil
    transfer = nil
    stopAwaitingPeer()
    output.removeAll()
    keptContent = 0
    // An idle connection with bytes of an earlier response would give them to the next request.
    guard isReusable, !isSpoilt, kept.isEmpty, want(.read) else { return engine.drop(self) }
    engine.release(self)
  }

  func close() {
    if !interest.isEmpty { engine.loop.unregister(stream.descriptor) }
    interest = []
    kept = []
    if let silenceTimer { engine.loop.cancel(silenceTimer) }
    stopAwaitingPeer()
    stream.owner = nil
    stream.close()
  }
}

extension HTTP1Connection: SocketStreamOwner {
  func streamIsLost() {
    want([])
    guard let transfer else { return engine.drop(self) }
    transfer.failLater(.engineFailed)
  }
}

// MARK: - Readiness

extension HTTP1Connection: EventHandler {
  func descriptorReady(_ fd: CInt, events: IOEvents) {
    guard let transfer else {
      // The peer of an idle connection has closed it, or has sent what nobody asked for.
      if !isUsable { engine.drop(self) }
      return
    }
    // The response comes first, as it may make the rest of the body needless. The engine's timer is due in this turn if
    // it is to read on.
    if events.rawValue & ~IOEvents.write.rawValue != 0, !isUnfinished { receive() }
    if self.transfer === transfer, events.contains(.write) || sendsWhenReadable { sendBody() }
  }

  /// Makes the loop report what arrives; false if it can't.
  @discardableResult func watch() -> Bool { want(interest.union(.read)) }

  /// Makes the loop report nothing of what arrives, not even that the peer has left, until the user wants to read on.
  func ignore() { want(interest.subtracting(.read)) }

  @discardableResult private func want(_ events: IOEvents) -> Bool {
    guard events != interest else { return true }
    let old = interest
    interest = events
    do {
      if events.isEmpty {
        engine.loop.unregister(stream.descriptor)
      } else if old.isEmpty {
        try engine.loop.register(stream.descriptor, for: events, handler: self)
      } else {
        try engine.loop.update(stream.descriptor, for: events)
      }
      return true
    } catch {
      engine.loop.unregister(stream.descriptor)
      interest = []
      return false
    }
  }

  /// Makes the loop report when the system takes more, as long as there is more to send.
  func watchSending(_ isWanted: Bool) {
    let events: IOEvents = isWanted ? interest.union(.write) : interest.subtracting(.write)
    if !want(events) { transfer?.failLater(.cannotWatch) }
  }
}

// MARK: - Time

extension HTTP1Connection: TimerHandler {
  /// The longest wait in seconds for the server's consent to send the body, libcurl's default, and for more of a
  /// response behind an abandoned body.
  private static let peerWait = 1.0

  func awaitPeer(from time: MonotonicTime) {
    let timer = peerTimer ?? LoopTimer()
    peerTimer = timer
    engine.loop.schedule(timer, at: time.advanced(bySeconds: Self.peerWait), handler: self)
  }

  func stopAwaitingPeer() {
    if let peerTimer { engine.loop.cancel(peerTimer) }
  }

  /// Ends our side of the connection, unless the response has gone on or its user takes nothing of it.
  private func endSending(_ transfer: HTTP1Transfer) {
    let now = MonotonicTime.now
    let last = transfer.isReceivingPaused ? now : transfer.times.lastProgress
    if now.seconds(since: last) < Self.peerWait { return awaitPeer(from: last) }
    hasEndedSending = true
    stream.shutdownSending()
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    guard let transfer else { return }
    if timer === peerTimer { return transfer.upload.isAbandoned ? endSending(transfer) : mayContinue(transfer) }
    let limit = transfer.silenceTimeout
    guard limit > 0, transfer.failure == nil, !transfer.hasSwitched else { return }
    let now = MonotonicTime.now
    if transfer.isHeldByUser { transfer.times.lastProgress = now }
    guard now.seconds(since: transfer.times.lastProgress) >= limit else { return armSilence(transfer) }
    guard hasResponded else { return transfer.failLater(.silence(limit)) }
    // The server has answered, and takes no more of the body.
    isSpoilt = true
    abandonUpload(transfer)
    finishIfDone(transfer)
  }

  func armSilence(_ transfer: HTTP1Transfer) {
    let limit = transfer.silenceTimeout
    guard limit > 0 else { return }
    let due = transfer.times.lastProgress.advanced(bySeconds: limit)
    let timer = silenceTimer ?? LoopTimer()
    silenceTimer = timer
    // An earlier transfer may have left the timer armed, for a time that is early enough.
    guard !timer.isArmed || timer.due > due else { return }
    engine.loop.schedule(timer, at: due, handler: self)
  }
}

// A connection whose server has switched to another protocol (RFC 9110 §7.8). The response's body is what the server
// sends until it ends its side. The request's body, which begins then, is what the delegate sends until it ends ours.
extension HTTP1Connection {
  /// The connection is all that the transfer wanted. The delegate hears that by a head, at the end of the turn.
  private func beginTunnel(_ transfer: HTTP1Transfer) {
    isSpoilt = true
    transfer.upload = .raw
    transfer.times.sent = transfer.times.ready
    parser = .established
    engine.need(.receive, for: transfer)
  }

  /// Takes the head of a response 101. False if the server may not switch to the protocol that it names.
  func beginTunnel(_ head: ResponseHead, _ transfer: HTTP1Transfer) -> Bool {
    guard Self.isListed(head.values(ofField: "Upgrade"), in: transfer.spec.upgrade ?? "") else {
      transfer.fail(TransferError(ResponseDefect.malformedHead(.switchedProtocol)))
      transfer.end()
      return false
    }
    isSpoilt = true
    transfer.upload = .raw
    engine.need(.send, for: transfer)
    return true
  }

  /// Whether the fields name a protocol, and none that was not asked for.
  private static func isListed(_ values: [String], in asked: String) -> Bool {
    var names = 0
    let areListed = values.allSatisfy { value in
      value.withOctets { value in
        value.listElements.allSatisfy { name in
          if name.isEmpty { return true }
          names += 1
          return asked.withOctets { $0.listElements.contains { $0.equalsIgnoringCase(name) } }
        }
      }
    }
    return areListed && names > 0
  }

  /// Whether the server has ended its side of a tunnel, and ours has not ended. Nothing is read any more.
  func isHalfTunnel(_ transfer: HTTP1Transfer) -> Bool {
    hasResponded && transfer.hasSwitched && !(transfer.upload.isOver && output.isEmpty)
  }

  func peerHasEnded(_ transfer: HTTP1Transfer) {
    ignore()
    transfer.delegate?.transferPeerHasEnded(transfer)
  }

  /// Our side has ended, and all its bytes are sent.
  func endTunnelSending(_ transfer: HTTP1Transfer) {
    guard transfer.upload.isComplete, !transfer.upload.isAbandoned, !transfer.upload.isShutDown else { return }
    transfer.upload.isShutDown = true
    if transfer.upload.omitsEndNotice { stream.shutdownSending() } else { stream.endSending() }
  }
}
