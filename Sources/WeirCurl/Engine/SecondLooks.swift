internal import WeirIO

/// Schedules additional calls of libcurl for a connection that may speak HTTP/2.
///
/// nghttp2 ends a connection by itself when it reads data that breaks the rules. libcurl 8.14 notices that in its next
/// call, for which there may never be a reason. A call right after may itself have read more, so further calls follow
/// at growing intervals: one of them will find nothing to read.
struct SecondLooks {
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
  func lookAgain(_ fd: CInt) {
    guard CurlLibrary.noticesHTTP2EndLate, mayMultiplex, sockets.mayBeHTTP2(fd) else { return }
    act(fd, 0)
    secondLooks.note(fd)
    if !secondLooksTimer.isArmed { armSecondLooks() }
  }

  func secondLooksDue() {
    for fd in secondLooks.tick() where sockets.mayBeHTTP2(fd) { act(fd, 0) }
    if !secondLooks.isEmpty { armSecondLooks() }
  }

  private func armSecondLooks() {
    loop.schedule(secondLooksTimer, at: MonotonicTime.now.advanced(bySeconds: SecondLooks.pace), handler: self)
  }
}
