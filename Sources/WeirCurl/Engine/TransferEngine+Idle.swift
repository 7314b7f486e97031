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
    pruner.idleConnectionEnded(self)
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

/// Schedules additional calls of libcurl for a connection that may speak HTTP/2.
///
/// nghttp2 ends a connection by itself when it reads data that breaks the rules. libcurl 8.14 notices that in its next
/// call, for which there may never be a reason. A call right after may itself have read more, so further calls follow
/// at growing intervals: one of them will find nothing to read.
struct ExtraPolls {
  /// Seconds between two ticks.
  static let pace = 0.05
  /// Calls are made at 1, 2, 4, 8 and 16 ticks.
  private static let last = 16

  private var ticks: [CInt: Int] = [:]

  var isEmpty: Bool { ticks.isEmpty }

  /// Notes that data read on `fd` belonged to no response.
  mutating func note(_ fd: CInt) { ticks[fd] = 0 }

  /// The descriptors that are due at this tick.
  mutating func tick() -> [CInt] {
    var due: [CInt] = []
    for (fd, count) in ticks {
      let count = count + 1
      if count & (count - 1) == 0 { due.append(fd) }
      ticks[fd] = count < Self.last ? count : nil
    }
    return due
  }
}

extension TransferEngine {
  /// The data that was read on `fd` belonged to no response.
  func pollAgain(_ fd: CInt) {
    guard CurlLibrary.noticesHTTP2EndLate, mayMultiplex, sockets.mayBeHTTP2(fd) else { return }
    act(fd, 0)
    extraPolls.note(fd)
    if !extraPollTimer.isArmed { armExtraPolls() }
  }

  func extraPollsDue() {
    for fd in extraPolls.tick() where sockets.mayBeHTTP2(fd) { act(fd, 0) }
    if !extraPolls.isEmpty { armExtraPolls() }
  }

  private func armExtraPolls() {
    loop.schedule(extraPollTimer, at: MonotonicTime.now.advanced(bySeconds: ExtraPolls.pace), handler: self)
  }
}
