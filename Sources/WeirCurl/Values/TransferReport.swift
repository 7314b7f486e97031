package import WeirHTTP
package import WeirIO

/// The measurements of one transfer. Durations are seconds.
package struct TransferReport: Sendable {
  package var startTime: MonotonicTime
  package var phases = PhaseDurations()
  package var total: Double
  /// Bytes of the request's body.
  package var bytesSent: Int64 = 0
  /// Bytes of the request's head.
  package var headerBytesSent: Int64 = 0
  /// Bytes of the response's body as received, not decoded; without chunk framing.
  package var bytesReceivedOnWire: Int64 = 0
  /// Bytes of response heads and trailers, interim heads included.
  package var headerBytes: Int64 = 0
  package var isReusedConnection = false
  package var connectionsOpened = 0
  /// The number of retries by the engine itself, because a pooled connection was dead or held unsolicited bytes.
  package var staleRetries = 0
  package var remoteAddress: String?
  package var remotePort: Int?
  package var version: HTTPVersionNumber?
  /// With TLS, if the transport's options ask for it.
  package var peer: TLSPeer?

  package init(startTime: MonotonicTime, total: Double) {
    self.startTime = startTime
    self.total = total
  }
}
