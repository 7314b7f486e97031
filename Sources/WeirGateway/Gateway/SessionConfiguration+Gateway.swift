import Weir

extension SessionConfiguration {
  /// How the gateway talks to upstreams: as a pipe, which adds, decodes and follows nothing.
  ///
  /// - Parameter connections: to upstreams, idle ones included.
  static func gateway(connections: Int) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.headers = HTTPHeaders()
    configuration.automaticallyDecompresses = false
    configuration.maximumResponseSize = nil
    configuration.handlerExecution = .eventLoop
    // The route's timeout bounds the whole request; within it an upstream may be silent.
    configuration.timeoutIntervalForRequest = 0
    // So that an upstream that swallows packets leaves time for another attempt.
    configuration.connectTimeout = 5
    configuration.httpMaximumConnectionsPerHost = gatewayConnections
    configuration.maximumPooledConnections = connections
    configuration.announcesAttempts = .standard
    return configuration
  }

  /// Connections to one upstream. Streams and long polls hold theirs for long, so more than a service's own client needs.
  private static let gatewayConnections = 512

  /// How many requests whose bodies are still coming may have a connection to one upstream: half of them.
  static let gatewayUploads = gatewayConnections / 2
}
