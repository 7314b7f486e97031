import WeirCurl
import WeirTransport

extension TransportOptions {
  /// The gateway's options for connections to upstreams.
  ///
  /// - Parameter connections: The number of connections to upstreams, idle ones included.
  static func gateway(connections: Int) -> TransportOptions {
    var options = TransportOptions()
    // Short, so that an upstream that swallows packets leaves time for another attempt.
    options.connectTimeout = 5
    options.maximumPooledConnections = connections
    // The same with every libcurl, and by our own engine: HTTP/2 goes by libcurl's.
    options.httpVersion = .http1_1
    return options
  }
}
