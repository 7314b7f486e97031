/// The layer between a connection's socket and HTTP, which is TLS. It has no socket: the connection hands it the bytes
/// that come, and sends those that it puts out.
///
/// Confined to the connection's loop. There may be output after every call.
package protocol SecureChannel: AnyObject {
  /// The number of bytes that the connection may hand over now.
  var inputSpace: Int { get }

  /// Adds bytes that came from the client.
  func take(_ ciphertext: UnsafeRawBufferPointer)

  /// Goes on with the handshake as far as the input allows.
  func step() -> SecureChannelState

  /// Called once, when the handshake is over or the connection ends before that.
  func handshakeEnded(_ end: HandshakeEnd)

  /// Decrypts as many bytes as there are and fit.
  func read(into target: UnsafeMutableRawBufferPointer) -> SecureChannelRead

  /// Encrypts all bytes and adds them to the output. Returns false if that is impossible.
  func write(_ plaintext: UnsafeRawBufferPointer) -> Bool

  /// Says to the client that no more bytes follow.
  func closeNotify()

  /// The bytes to be sent, valid until the next call.
  var output: UnsafeRawBufferPointer { get }

  /// Drops the first `count` bytes of the output, which were sent.
  func consumeOutput(_ count: Int)
}

/// How far a channel's handshake is.
package enum SecureChannelState: Equatable {
  case needsInput
  case open
  /// The client speaks HTTP without TLS. It has got no byte.
  case plainHTTP
  /// The connection is to be closed once the output is sent. With the reason in words.
  case failed(String)
}

/// What reading from a channel led to.
package enum SecureChannelRead: Equatable {
  /// So many bytes were read. More may be there.
  case bytes(Int)
  case needsInput
  /// The client says that it sends no more.
  case closed
  /// The connection is to be closed once the output is sent.
  case failed
}

/// How a handshake ended.
package enum HandshakeEnd: Equatable {
  case done
  /// The channel said that it failed, or that the client speaks plain HTTP.
  case failed
  case timedOut
  /// The client left, or the server closed the connection for reasons of its own.
  case abandoned
}
