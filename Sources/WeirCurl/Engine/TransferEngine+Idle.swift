internal import CCurl
internal import CLinux
internal import Glibc
internal import WeirIO

// What comes in on connections that nobody awaits anything on.
extension TransferEngine {
  /// Whether nothing has come in on a pooled connection of HTTP/1. libcurl 7.88.1 calls one alive that has bytes waiting,
  /// and would take them for the response to whatever is sent next.
  /// Of a record that held more than a response's last bytes the rest waits in the TLS library, where libcurl up to 8.14.1
  /// doesn't look.
  func isQuiet(_ fd: CInt, _ handle: EasyHandle?) -> Bool {
    guard sockets.isHTTP1(fd) else { return true }
    if let handle, !TLSBuffer.isEmpty(handle.easy) { return false }
    var byte: UInt8 = 0
    return recv(fd, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) < 0 && errno == EAGAIN
  }

  /// Something came in on a socket that libcurl asks nothing of: of a paused transfer, or on an idle connection, which is
  /// then of no more use. Shut down, it is dead to libcurl too.
  func nobodyWanted(_ fd: CInt) {
    if sockets.isIdleHTTP1(fd), sockets.hasLocalPort(fd) || knowsAllSockets {
      shutdown(fd, CInt(SHUT_RDWR))
      drain(fd)
    }
    sweeper.idleConnectionEnded(self)
  }

  /// Whether no transfer is on a connection that can't be told from others: libcurl names a Unix socket only when it waits
  /// for it, and a response that is there at once may pause before that.
  private var knowsAllSockets: Bool {
    transfers.allSatisfy { $0.awaitedSocket >= 0 || $0.repeats.requests == 0 }
  }

  /// Reads a socket empty: one with bytes waiting would still count as alive. Nothing more gets in once it is shut down.
  private func drain(_ fd: CInt) {
    // With this flag TCP throws the bytes away without copying them.
    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_TRUNC)
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
      for _ in 0..<256 where recv(fd, buffer.baseAddress, buffer.count, flags) <= 0 { return }
    }
  }
}
