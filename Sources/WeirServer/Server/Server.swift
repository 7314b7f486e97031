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

  /// Calls `completion` on the loop with the number of open connections.
  package func countConnections(_ completion: @escaping @Sendable (Int) -> Void) {
    loop.run { [core] in completion(core.value.connectionCount) }
  }
}
