internal import WeirIO

/// When libcurl is called once more for a connection that may speak HTTP/2.
///
/// nghttp2 ends a connection by itself when it reads what breaks the rules; libcurl 8.14 finds out in its next call, for
/// which there may never be a reason. A call right after may have read more itself, so further ones follow, at growing
/// distances: in one of them there is nothing to read.
struct SecondLooks {
  /// Seconds between two ticks.
  static let pace = 0.05
  /// Looks are at 1, 2, 4, 8 and 16 ticks.
  private static let last = 16

  private var ticks: [CInt: Int] = [:]

  var isEmpty: Bool { ticks.isEmpty }

  /// There was something to read on `fd` that is no part of a response.
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
  /// There was something to read on `fd`, and it was nothing of a response.
  func lookAgain(_ fd: CInt) {
    guard CurlLibrary.noticesHTTP2EndLate, prepared.mayMultiplexPlain || prepared.mayMultiplexSecure,
      sockets.mayBeHTTP2(fd)
    else { return }
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
