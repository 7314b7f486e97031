package import WeirIO

/// Accepts connections of a listener on one event loop and hands their requests to a handler.
///
/// Any thread may call it. When the last reference goes, the server stops at once, without grace.
package final class Server: Sendable {
  package let listener: Listener
  package let loop: EventLoop
  let core: LoopBound<ServerCore>

  /// - Parameters:
  ///   - refuses: Whether a connection of this peer is closed as soon as it is accepted. Nil if none is.
  ///   - expectsProxyHeader: Whether a connection of this peer has to begin with a PROXY header, whose source then stands
  ///     for the peer. Nil if none has to.
  ///   - secure: Makes the channel of a new connection; returns nil if that is impossible, which closes the connection.
  ///     Nil if clients speak HTTP without a channel. Called on the loop.
  ///   - tally: Counts this server's connections; of a server that ended on the same loop, to go on counting.
  ///   - onEvent: Called on the loop for events that no handler sees; must not block.
  package init(
    listener: Listener, loop: EventLoop, limits: ServerLimits = ServerLimits(), handler: any RequestHandler,
    refuses: (@Sendable (SocketAddress) -> Bool)? = nil,
    expectsProxyHeader: (@Sendable (SocketAddress) -> Bool)? = nil,
    secure: (@Sendable () -> (any SecureChannel)?)? = nil, tally: ServerTally = ServerTally(),
    onEvent: (@Sendable (ServerEvent) -> Void)? = nil
  ) {
    self.listener = listener
    self.loop = loop
    core = LoopBound(
      ServerCore(
        listener: listener, loop: loop, limits: limits, handler: handler, refuses: refuses,
        expectsProxyHeader: expectsProxyHeader, secure: secure, tally: tally, onEvent: onEvent), on: loop)
  }

  deinit {
    loop.run { [core] in core.value.abandon() }
  }

  /// Changes the number of connections from now on; open ones beyond it stay until others come.
  package func limit(connections: Int) {
    loop.run { [core] in core.value.limits.connections = connections }
  }

  /// Begins to accept connections. A stopped server doesn't start again.
  package func start() {
    loop.run { [core] in core.value.start() }
  }

  /// Stops the server: accepts the waiting connections, then closes the listener for all servers that share it. At a
  /// listener that is shared with other processes it accepts none.
  /// Requests that have arrived or are under way are answered with `Connection: close`. The connections left after
  /// `grace` seconds are cut. `completion` is called on the loop when the last connection has closed.
  package func stop(grace: Double, completion: @escaping @Sendable () -> Void = {}) {
    loop.run { [core] in core.value.stop(grace: grace, completion: completion) }
  }

  /// Stops as `stop(grace:completion:)` does, but leaves the listener and the connections that wait there to other
  /// servers.
  package func retire(grace: Double, completion: @escaping @Sendable () -> Void = {}) {
    loop.run { [core] in core.value.stop(grace: grace, leavesListener: true, completion: completion) }
  }

  /// Stops as `stop(grace:completion:)` does and returns when all connections have closed.
  package func stop(grace: Double) async {
    await withCheckedContinuation { continuation in stop(grace: grace) { continuation.resume() } }
  }
}

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

/// An event that a server reports to its owner, for logs and metrics.
package enum ServerEvent: Sendable {
  /// A connection couldn't be accepted; accepting pauses for a moment.
  case acceptFailed(Errno)
  /// The limit of connections is reached, and none can be spared: new clients wait in the listener's queue.
  case connectionsWait
  /// A request was refused, either before any handler saw it or because of its body. In the second case its handler has
  /// been told that the request is over.
  case requestRefused(RequestRefusal, peer: SocketAddress, wasHandled: Bool)
  /// A connection was closed because it doesn't begin with a PROXY header that can be read.
  case proxyHeaderRefused(ProxyHeader.Refusal, peer: SocketAddress)
  /// A connection ended because of its handshake. With the reason in words.
  case handshakeFailed(String, peer: SocketAddress)
  /// A waiting connection was closed to make place for a new one.
  case connectionEvicted
  /// A client was too slow: in sending its header or body (408), or in reading its response (no status).
  case timedOut(status: Int?)
}
