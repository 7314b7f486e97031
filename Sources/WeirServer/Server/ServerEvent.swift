package import WeirIO

/// What a server tells its owner about, for logs and metrics.
package enum ServerEvent: Sendable {
  /// A connection couldn't be accepted; accepting pauses for a moment.
  case acceptFailed(Errno)
  /// There are as many connections as there may be, and none can be spared: who comes now waits in the listener's queue.
  case connectionsWait
  /// A request was refused: before any handler saw it, or, for its body, while one had it, who then has heard that the
  /// request is over.
  case requestRefused(RequestRefusal, peer: SocketAddress, wasHandled: Bool)
  /// A waiting connection was closed to make place for a new one.
  case connectionEvicted
  /// A client was too slow: with its header or body (408), or in reading its response (no status).
  case timedOut(status: Int?)
}
