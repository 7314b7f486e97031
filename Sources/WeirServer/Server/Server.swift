package import WeirIO

/// Accepts connections of a listener on one event loop and hands their requests to a handler.
///
/// Any thread may call it. A server that is let go is stopped at once, without grace.
package final class Server: Sendable {
  package let listener: Listener
  package let loop: EventLoop
  package let limits: ServerLimits
  let core: LoopBound<ServerCore>

  /// - Parameter onEvent: told of what no handler sees, on the loop; must not block.
  package init(
    listener: Listener, loop: EventLoop, limits: ServerLimits = ServerLimits(), handler: any RequestHandler,
    onEvent: (@Sendable (ServerEvent) -> Void)? = nil
  ) {
    self.listener = listener
    self.loop = loop
    self.limits = limits
    core = LoopBound(
      ServerCore(listener: listener, loop: loop, limits: limits, handler: handler, onEvent: onEvent), on: loop)
  }

  deinit {
    loop.run { [core] in core.value.stop(grace: 0, completion: nil) }
  }

  /// Begins to accept connections. A stopped server doesn't start again.
  package func start() {
    loop.run { [core] in core.value.start() }
  }

  /// Accepts who waits to be accepted, closes the listener, for all who share it, answers what has arrived or is under
  /// way with `Connection: close`, and cuts what is left after `grace` seconds. `completion` is called on the loop when
  /// the last connection has closed.
  package func stop(grace: Double, completion: @escaping @Sendable () -> Void = {}) {
    loop.run { [core] in core.value.stop(grace: grace, completion: completion) }
  }

  /// Stops as `stop(grace:completion:)` does and returns when all is closed.
  package func stop(grace: Double) async {
    await withCheckedContinuation { continuation in stop(grace: grace) { continuation.resume() } }
  }

  /// Open connections; calls `completion` on the loop.
  package func countConnections(_ completion: @escaping @Sendable (Int) -> Void) {
    loop.run { [core] in completion(core.value.connectionCount) }
  }
}
