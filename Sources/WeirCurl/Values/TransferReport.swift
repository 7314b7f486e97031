package import WeirHTTP
package import WeirIO

/// What one transfer measured. Durations are seconds; nil when the phase did not happen.
package struct TransferReport: Sendable {
  package var startTime: MonotonicTime
  /// Only when a connection was made or tried. As of all phases, the one that the transfer ended in counts up to the end.
  package var resolve: Double?
  /// Only when a connection was made or tried.
  package var connect: Double?
  /// Only when a connection was made to an https URL.
  package var tls: Double?
  /// From the connection being ready to the last byte of the request handed to the system.
  package var send: Double?
  /// From the last byte sent to the first byte received.
  package var processing: Double?
  /// From the first byte received to the last.
  package var transfer: Double?
  package var total: Double
  /// Bytes of the request's body.
  package var bytesSent: Int64 = 0
  /// Bytes of the request's head.
  package var headerBytesSent: Int64 = 0
  /// Bytes of the response's body as they came, not decoded; chunk framing left out.
  package var bytesReceivedOnWire: Int64 = 0
  /// Bytes of response heads and trailers, interim heads included.
  package var headerBytes: Int64 = 0
  package var isReusedConnection = false
  package var connectionsOpened = 0
  /// How often libcurl sent the request again because a pooled connection turned out to be dead.
  package var staleRetries = 0
  package var remoteAddress: String?
  package var remotePort: Int?
  package var version: HTTPVersionNumber?

  package init(startTime: MonotonicTime, total: Double) {
    self.startTime = startTime
    self.total = total
  }
}
