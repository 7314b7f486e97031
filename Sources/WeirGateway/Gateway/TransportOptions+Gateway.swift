import WeirCurl
import WeirTransport

extension TransportOptions {
  /// How the gateway talks to upstreams.
  ///
  /// - Parameter connections: Connections to upstreams, idle ones included.
  static func gateway(connections: Int) -> TransportOptions {
    var options = TransportOptions()
    // So that an upstream that swallows packets leaves time for another attempt.
    options.connectTimeout = 5
    options.maximumPooledConnections = connections
    return options
  }
}

extension TransportLimits {
  /// Connections to one upstream. Streams and long polls hold theirs for long, so more than a service's own client needs.
  static let gateway = TransportLimits(slots: 512, waiting: 10_000, admissionTimeout: 30)

  /// How many requests whose bodies are still coming may have a connection to one upstream: half of them.
  static let gatewayUploads = gateway.slots / 2
}
