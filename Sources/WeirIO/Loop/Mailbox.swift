import CLinux
import Dispatch
import Glibc
import Synchronization

/// The jobs that other threads hand to a loop, in order, and the wake-up call for a loop that sleeps.
final class Mailbox: Sendable {
  enum Job {
    case closure(@Sendable () -> Void)
    case task(UnownedJob, on: EventLoop)
  }

  private struct State {
    var jobs: [Job] = []
    var isAsleep = false
    var isStopped = false

    /// Marks the loop as woken; returns true if it was asleep and must be woken.
    mutating func wake() -> Bool {
      defer { isAsleep = false }
      return isAsleep
    }
  }

  let wakeup: Wakeup
  private let state = Mutex(State())

  init(_ wakeup: Wakeup) {
    self.wakeup = wakeup
  }

  func post(_ job: Job) {
    let wasAsleep = state.withLock { state in
      state.jobs.append(job)
      return state.wake()
    }
    if wasAsleep { wakeup.ring() }
  }

  func stop() {
    let wasAsleep = state.withLock { state in
      state.isStopped = true
      return state.wake()
    }
    if wasAsleep { wakeup.ring() }
  }

  /// Moves all jobs to the end of `jobs`. If `jobs` is then empty, the next post wakes the loop. Returns whether the loop
  /// must stop.
  func collect(into jobs: inout Deque<Job>) -> Bool {
    state.withLock { state in
      jobs.append(contentsOf: state.jobs)
      state.jobs.removeAll(keepingCapacity: true)
      state.isAsleep = jobs.isEmpty && !state.isStopped
      return state.isStopped
    }
  }
}

/// Wakes a thread that waits for descriptors. Any thread may ring.
package final class Wakeup: Sendable {
  /// Readable from a ring on, until ``silence()``; −1 if there is none.
  package let descriptor: CInt
  /// Signalled instead of a descriptor that is not there.
  private let bell: DispatchSemaphore?

  package init() throws(Errno) {
    descriptor = try systemCall { eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC)) }
    bell = nil
  }

  /// For a thread that waits for the bell and for no descriptors.
  init(ringing bell: DispatchSemaphore) {
    descriptor = -1
    self.bell = bell
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  package func ring() {
    if let bell {
      bell.signal()
      return
    }
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
