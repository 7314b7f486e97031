internal import WeirIO

/// The way to a client: its socket, and the channel through which all bytes go once there is one.
struct Wire {
  /// The bytes that may wait in the channel: the plaintext of one record.
  private static let pieceBytes = 16 * 1024

  let socket: Socket
  let channel: (any SecureChannel)?

  /// Sends as much as the socket takes. With a channel up to 16 KiB more are taken, which `drain` sends.
  func send(_ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
    guard let channel else { return try socket.send(bytes) }
    var taken = 0
    try encrypt(bytes, &taken, channel)
    return taken
  }

  /// Sends the pieces one after the other, without a channel in one system call.
  func send(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
    _ third: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(Errno) -> Int {
    guard let channel else { return try socket.send(first, second, third) }
    var taken = 0
    for piece in [first, second, third] {
      let before = taken
      try encrypt(piece, &taken, channel)
      if taken - before < piece.count { break }
    }
    return taken
  }

  /// Sends what waits in the channel. Throws `wouldBlock` unless that is all of it.
  func drain(_ channel: any SecureChannel) throws(Errno) {
    while !channel.output.isEmpty { channel.consumeOutput(try socket.send(channel.output)) }
  }

  /// Encrypts as many bytes as there is room for, and sends to make room. Adds their number to `taken`. Throws
  /// `wouldBlock` if that is still 0.
  private func encrypt(
    _ bytes: UnsafeRawBufferPointer, _ taken: inout Int, _ channel: any SecureChannel
  ) throws(Errno) {
    var rest = bytes
    while !rest.isEmpty {
      if channel.output.count >= Self.pieceBytes {
        do {
          try drain(channel)
        } catch .wouldBlock where taken > 0 {
          return
        }
      }
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceBytes - channel.output.count))
      guard channel.write(piece) else { throw .connectionReset }
      taken += piece.count
      rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
    }
  }
}
