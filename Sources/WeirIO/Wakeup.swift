import CLinux
import Glibc

/// Wakes a thread that waits for descriptors. Any thread may ring.
package final class Wakeup: Sendable {
  /// Readable from a ring on, until ``silence()``.
  package let descriptor: CInt

  package init() throws(Errno) {
    descriptor = try systemCall { eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC)) }
  }

  deinit {
    close(descriptor)
  }

  package func ring() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  package func silence() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }

  /// Waits for a ring, or until `other` can be written, but not beyond `end`.
  package func wait(orWriting other: CInt = -1, until end: MonotonicTime) {
    var descriptors = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLOUT), revents: 0),
    ]
    let seconds = end.seconds(since: .now)
    // A little late is better than a turn for nothing.
    let milliseconds = end == .distantFuture ? -1 : CInt(min(max(0, seconds * 1000 + 1), 60_000))
    _ = poll(&descriptors, 2, milliseconds)
  }
}
