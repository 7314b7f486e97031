internal import WeirIO

/// The handshake of a connection's channel, and the input that comes through it.
extension Connection {
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
        if count == 0 { socketEnded() }
      } catch {
        if error != .wouldBlock { return die() }
      }
    }
    goOn(channel)
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
      server.noteHandshakeFailure(reason, of: peer)
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
      server.noteHandshakeFailure("there is no memory for it", of: peer)
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

  private func goOn(_ channel: any SecureChannel) {
    if prelude == .handshake { server.handshakes.step(self) } else { readChannel(channel) }
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
        if isSocketOver { socketEndedSilently() }
        return armTimer()
      case .closed: return inputEnded()
      case .failed:
        flush()
        return finish(.cut, .tls)
      }
    }
  }

  /// The socket has ended and the channel has not said so. A request shows whether it is whole; a tunnel may be cut.
  private func socketEndedSilently() {
    isInputCut = true
    inputEnded()
  }

  private func socketEnded() {
    isSocketOver = true
    updateInterest()
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
