internal import WeirIO

/// The connection before its first request (a PROXY header, and a handshake), and the input that comes through its channel.
extension Connection {
  /// Reads the PROXY header at the beginning of the held input, and goes on with what follows it.
  func takeProxyHeader() {
    if headerRest == 0 {
      switch ProxyHeader.read(held.span) {
      case .needsMore: return
      case .refused(let refusal):
        server.onEvent?(.proxyHeaderRefused(refusal, peer: peer))
        return finish(.close, .proxyProtocol)
      case .header(let length, let source):
        if let source { peer = source }
        guard server.countsClient(of: self) else { return finish(.close, .refused) }
        headerRest = length
      }
    }
    let dropped = min(headerRest, held.count)
    held.removeFirst(dropped)
    headerRest -= dropped
    guard headerRest == 0 else { return }
    if server.isSecure { return awaitHandshake() }
    preludeEnded()
    process(held: true)
  }

  /// Requests come from now on.
  func preludeEnded() {
    prelude = .none
    server.tally.endsPrelude()
    machine.preludeEnded(now: now)
  }

  private func awaitHandshake() {
    prelude = .handshake
    if held.isEmpty { armTimer() } else { receiveSecurely() }
  }

  /// The PROXY header or the handshake takes too long, or its place is another's.
  func preludeTimedOut() {
    let ending: ConnectionEnding = prelude == .proxyHeader ? .proxyProtocol : .tls
    if prelude == .handshake { handshakeEnded(.timedOut) }
    finish(.close, machine.isStopping ? .drain : ending)
  }

  /// Reads the socket, as far as the channel takes it, and then what the channel makes of that.
  func receiveSecurely() {
    guard let channel = channel ?? beginHandshake() else { return }
    takeHeld(channel)
    let room = min(channel.inputSpace, server.scratch.count)
    if room > 0, !isSocketOver {
      let buffer = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: server.scratch[..<room]))
      do {
        let count = try socket.receive(into: buffer)
        channel.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        if count == 0 {
          isSocketOver = true
          updateInterest()
        }
      } catch {
        if error != .wouldBlock { return die() }
      }
    }
    if prelude == .handshake { server.handshakes.step(self) } else { readChannel(channel) }
  }

  /// Hands over what came behind a PROXY header.
  private func takeHeld(_ channel: any SecureChannel) {
    guard prelude == .handshake, !held.isEmpty else { return }
    held.withUnsafeBytes { channel.take($0) }
    held = []
  }

  /// A place among the handshakes is free.
  func handshakeMayBegin() {
    setReading(true)
    receiveSoon()
  }

  /// Does one step of the handshake. Called by the server, which bounds the steps of a turn.
  func step() {
    guard prelude == .handshake, !isFinished, !isBroken, let channel else { return }
    switch channel.step() {
    case .needsInput:
      flush()
      if isSocketOver { die() } else { armTimer() }
    case .open:
      handshakeEnded(.done)
      flush()
      readChannel(channel)
    case .plainHTTP:
      handshakeEnded(.failed)
      self.channel = nil
      process(held: true, first: machine.refusePlainHTTP())
    case .failed(let reason):
      handshakeEnded(.failed)
      server.onEvent?(.handshakeFailed(reason, peer: peer))
      flush()
      channelFailed()
    }
  }

  /// Whether its handshake can go on only when the client has sent something.
  var awaitsClient: Bool { !awaitsStep && !hasUnreadInput && !hasUnseenRequest }

  private func beginHandshake() -> (any SecureChannel)? {
    if !hasUnreadInput, awaitsHello() { return nil }
    guard server.handshakes.begin(self, limit: server.limits.handshakes) else {
      setReading(false)
      return nil
    }
    channel = server.secure?()
    if channel == nil {
      server.onEvent?(.handshakeFailed("there is no memory for it", peer: peer))
      finish(.close, .tls)
    }
    return channel
  }

  /// Whether only a part of the client's first record has come. A client that dribbles it takes neither memory nor a place
  /// among the handshakes: the socket tells of it again when the record is whole, or when nothing more comes.
  private func awaitsHello() -> Bool {
    let buffer = UnsafeMutableRawBufferPointer(server.scratch)
    guard let count = try? socket.peek(into: buffer) else { return false }
    let needed = FirstRecord.bytes(by: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    let waits = count < needed && needed > awaitedHello
    let awaited = waits ? needed : 1
    if awaited != awaitedHello { socket.tellOfInput(from: awaited) }
    awaitedHello = awaited
    return waits
  }

  /// The handshake is over. It may not have begun.
  func handshakeEnded(_ end: HandshakeEnd) {
    server.handshakes.end(self)
    channel?.handshakeEnded(end)
    preludeEnded()
  }

  /// Goes on with all plaintext that there is, as long as it is wanted and the others' turn allows.
  private func readChannel(_ channel: any SecureChannel) {
    var share = TurnShare()
    while isReading, !isFinished, !isBroken {
      if share.isUsedUp { return receiveSoon() }
      let buffer = target
      switch channel.read(into: UnsafeMutableRawBufferPointer(buffer)) {
      case .bytes(let count):
        share.count(count)
        accept(UnsafeBufferPointer(rebasing: buffer[..<count]))
      case .needsInput:
        // The channel may have to answer, as it does to a change of keys.
        if machine.output == .blocked { flushReady() } else { flush() }
        if isSocketOver {
          // The channel has not said so. A request shows whether it is whole; a tunnel may be cut.
          isInputCut = true
          inputEnded()
        }
        return armTimer()
      case .closed: return inputEnded()
      case .failed:
        flush()
        return finish(.cut, .tls)
      }
    }
  }

  /// The alert has left, if the socket took it. The client can read it only if no input is lost on closing.
  private func channelFailed() {
    channel = nil
    guard !isBroken, machine.phase == .open else { return }
    machine.noteOutput(.empty, now: now)
    updateInterest()
    socket.shutdownSending()
    machine.handshakeFailed(now: now)
    armTimer()
  }
}

/// What a client has to send before its requests.
enum ConnectionPrelude {
  case none
  /// A PROXY header, behind which a handshake may come.
  case proxyHeader
  /// The handshake of a channel.
  case handshake
}

/// The record with which a client begins TLS (RFC 8446 §5.1).
enum FirstRecord {
  private static let headBytes = 5
  private static let handshake: UInt8 = 22
  private static let mostBytes = 16 * 1024

  /// The number of bytes that have to be there before it can be read, by those that are. Bytes that begin no record can
  /// be read at once.
  static func bytes(by seen: UnsafeRawBufferPointer) -> Int {
    guard let first = seen.first, first == handshake else { return 0 }
    if seen.count < headBytes { return headBytes }
    return headBytes + min(Int(seen[3]) << 8 | Int(seen[4]), mostBytes)
  }
}
