/// What a client has to send before its requests.
enum ConnectionPrelude {
  case none
  /// A PROXY header, behind which a handshake may come.
  case proxyHeader
  /// The handshake of a channel.
  case handshake
}
