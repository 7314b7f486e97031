/// A place to connect to in place of a URL's host and port. Connections are shared only between requests to equal places.
///
/// It is a class, so that a spec without one stays small.
package final class TransferEndpoint: Sendable, Hashable {
  package enum Place: Hashable, Sendable {
    /// A name that libcurl looks up, or an address, which is in brackets if it is an IPv6 one.
    case host(String, port: Int)
    /// The path of a Unix socket.
    case unixSocket(String)
  }

  package let place: Place
  /// CURLOPT_CONNECT_TO's `host:port:host:port` for every host and port; nil for a Unix socket.
  let connectTo: String?

  package init(_ place: Place) {
    switch place {
    case .host(let host, let port):
      let host = HostName.bracketed(host)
      self.place = .host(host, port: port)
      connectTo = "::\(host):\(port)"
    case .unixSocket:
      self.place = place
      connectTo = nil
    }
  }

  /// The host to connect to; nil for a Unix socket.
  var host: String? {
    if case .host(let host, _) = place { host } else { nil }
  }

  var unixSocketPath: String? {
    if case .unixSocket(let path) = place { path } else { nil }
  }

  package static func == (left: TransferEndpoint, right: TransferEndpoint) -> Bool {
    left === right || left.place == right.place
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(place) }
}
