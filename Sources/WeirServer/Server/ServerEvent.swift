package import WeirIO

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
