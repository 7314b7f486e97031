package import WeirIO

/// Accepts connections of a listener on one event loop and hands their requests to a handler.
///
/// Any thread may call it. A server that is let go is stopped at once, without grace.
package final class Server: Sendable {
  package let listener: Listener
  package let loop: EventLoop
  package let limits: ServerLimits

  /// - Parameter onEvent: told of what no handler sees, on the loop; must not block.
  package init(
    listener: Listener, loop: EventLoop, limits: ServerLimits = ServerLimits(), handler: any RequestHandler,
    onEvent: (@Sendable (ServerEvent) -> Void)? = nil
  ) {
    self.listener = listener
    self.loop = loop
    self.limits = limits
  }

  /// Begins to accept connections. A stopped server doesn't start again.
  package func start() {}

  /// Stops accepting, closes waiting connections, lets running exchanges end with `Connection: close`, and cuts what
  /// is left after `grace` seconds. `completion` is called on the loop when the last connection has closed.
  package func stop(grace: Double, completion: @escaping @Sendable () -> Void = {}) {}

  /// Stops as `stop(grace:completion:)` does and returns when all is closed.
  package func stop(grace: Double) async {}
}
