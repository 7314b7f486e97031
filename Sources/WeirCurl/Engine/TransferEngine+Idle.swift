internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

// Data on connections from which no transfer awaits anything.
extension TransferEngine {
  /// Whether a pooled HTTP/1 connection has no data waiting. libcurl 7.88.1 considers a connection with waiting bytes
  /// alive, and would take them for the response to the next request.
  ///
  /// If a TLS record held more than the last bytes of a response, its rest waits in the TLS library, where libcurl up
  /// to 8.14.1 doesn't look.
  func isQuiet(_ fd: CInt, _ handle: EasyHandle?) -> Bool {
    guard sockets.isHTTP1(fd) else { return true }
    if let handle, let tls = TLSConnection(handle.easy), tls.hasPending { return false }
    var byte: UInt8 = 0
    return recv(fd, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) < 0 && errno == EAGAIN
  }

  /// Data came in on a socket for which libcurl wants no event: that of a paused transfer, or of an idle connection. An
  /// idle connection is then of no more use; after the shutdown libcurl, too, finds it dead.
  func nobodyWanted(_ fd: CInt) {
    if sockets.isIdleHTTP1(fd), sockets.hasLocalPort(fd) || knowsAllSockets {
      shutdown(fd, CInt(SHUT_RDWR))
      drain(fd)
    }
    sweeper.idleConnectionEnded(self)
  }

  /// Whether every transfer's socket is known. libcurl names a Unix socket only when it waits for it, and a response
  /// that is there at once may be paused before that.
  var knowsAllSockets: Bool {
    transfers.allSatisfy { $0.awaitedSocket >= 0 || $0.repeats.requests == 0 }
  }

  /// Empties a socket, as one with bytes waiting would still count as alive. After the shutdown no more bytes arrive.
  private func drain(_ fd: CInt) {
    // With this flag TCP drops the bytes without copying them.
    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_TRUNC)
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
      for _ in 0..<256 where recv(fd, buffer.baseAddress, buffer.count, flags) <= 0 { return }
    }
  }
}
