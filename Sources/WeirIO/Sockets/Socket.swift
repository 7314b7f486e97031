internal import CLinux
internal import Glibc

/// A stream socket's descriptor and the operations on it. Its owner closes it, once.
///
/// Sockets made here don't block and aren't inherited by child processes: an operation that would wait throws
/// `Errno.wouldBlock`.
package struct Socket: Hashable, Sendable {
  package let descriptor: CInt

  package init(descriptor: CInt) {
    self.descriptor = descriptor
  }

  /// Reads what has arrived; 0 is the end of the stream.
  package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    try systemCall { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
  }

  /// Reads what has arrived, which stays to be received; 0 at the end of the stream.
  package func peek(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    try systemCall { recv(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_PEEK)) }
  }

  /// The poller tells of input once so many bytes have arrived, or the stream has ended (`SO_RCVLOWAT`).
  package func tellOfInput(from bytes: Int) {
    setOption(SOL_SOCKET, SO_RCVLOWAT, CInt(clamping: bytes))
  }

  /// Sends as much as the socket takes and returns that number of bytes. A closed peer is an error, not a signal.
  package func send(_ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
    try systemCall { Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)) }
  }

  /// Sends the pieces one after the other, in one system call.
  package func send(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
    _ third: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(Errno) -> Int {
    var pieces = (Self.piece(first), Self.piece(second), Self.piece(third))
    return try systemCall {
      // The pointer covers the whole tuple: a pointer to its first element would not be valid for the others.
      withUnsafeMutableBytes(of: &pieces) {
        var message = msghdr()
        message.msg_iov = $0.baseAddress?.assumingMemoryBound(to: iovec.self)
        message.msg_iovlen = third.isEmpty ? 2 : 3
        return sendmsg(descriptor, &message, CInt(MSG_NOSIGNAL))
      }
    }
  }

  private static func piece(_ bytes: UnsafeRawBufferPointer) -> iovec {
    iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
  }

  /// Tells the peer that nothing more comes; receiving still works.
  package func shutdownSending() {
    shutdown(descriptor, CInt(SHUT_WR))
  }

  /// Ends listening but keeps the descriptor valid, since other loops may still use it.
  package func shutdownListening() {
    shutdown(descriptor, CInt(SHUT_RD))
  }

  package func localAddress() throws(Errno) -> SocketAddress {
    try SocketAddress.read { getsockname(descriptor, $0, $1) }.address
  }

  /// The bytes that were sent and that the peer has not acknowledged.
  package var unacknowledged: Int { Int(weir_unacknowledged(descriptor)) }

  package func close() {
    Glibc.close(descriptor)  // never repeated: Linux has freed the descriptor even when it reports EINTR
  }

  /// Closes with a reset, so that the peer can't mistake a truncated response for a complete one.
  package func reset() {
    setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    close()
  }

  func setOption<Value>(_ level: CInt, _ option: CInt, _ value: Value) {
    withUnsafeBytes(of: value) { _ = setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count)) }
  }
}
