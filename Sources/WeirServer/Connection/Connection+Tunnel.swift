internal import WeirIO

/// A connection that has become a tunnel.
extension Connection {
  /// Sends the head of the response 101. From now on both sides are streams of bytes.
  func upgrade(_ fields: ResponseFields) {
    output.bytes.append("HTTP/1.1 101 Switching Protocols\r\n")
    output.bytes.append(contentsOf: fields.bytes)
    output.bytes.append("Connection: upgrade\r\n\r\n")
    machine.beginTunnel()
    noteAppended()
    scheduleFlush()
  }

  /// Ends our side behind what is buffered. The client's goes on.
  func endTunnelOutput() {
    machine.endTunnelOutput()
    proceed()
  }

  /// Ends both sides: sends what is buffered, and discards what still comes.
  func closeTunnel() {
    machine.closeTunnel(now: now)
    responseEnded()
  }

  /// Both sides of a tunnel have ended, which the exchange knows. Other connections have no exchange then.
  func forgetExchange() {
    guard let exchange else { return }
    exchange.detach()
    server.tally.ends()
    self.exchange = nil
  }

  /// The socket has failed, or both its sides have ended, while it is not read.
  func failedUnread(_ events: IOEvents) {
    guard machine.hasShutDown, !events.contains(.error) else { return die() }
    // The reader of the tunnel has paused and still gets what the socket holds. The poller would report that end in
    // each turn, whatever it was asked for.
    server.loop.unregister(socket.descriptor)
    isUnwatched = true
  }

  func watchAgain(_ interest: IOEvents) throws(Errno) {
    if interest.isEmpty { return }
    try server.loop.register(socket.descriptor, for: interest, handler: self)
    isUnwatched = false
  }
}
