/// How a client's connection came to its end.
package enum ConnectionEnding: String, CaseIterable, Sendable {
  /// The client closed it, asked for that, or left; also when a handler ended it.
  case client
  /// It waited too long for another request.
  case idle
  /// It was closed to make place for a new one.
  case evicted
  /// Its request's head took too long.
  case slowHeader = "slow_header"
  /// A part of its request's body took too long.
  case slowBody = "slow_body"
  /// It took none of its response for too long.
  case slowRead = "slow_read"
  /// Its request was refused, or its client had too many connections.
  case refused
  /// Its PROXY header was missing, malformed or late.
  case proxyProtocol = "proxy_protocol"
  /// Its TLS handshake failed or took too long, or it broke TLS later.
  case tls
  /// It was as old as a connection may become.
  case age
  /// The server stops.
  case drain
}
