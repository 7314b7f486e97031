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

  fileprivate struct State {
    var jobs: [Job] = []
    var isAsleep = false
    var isStopped = false
  }

  let wakeup: CInt
  /// Signalled instead of the descriptor if the loop has none.
  private let bell: DispatchSemaphore?
  private let state = Mutex(State())

  init() throws(Errno) {
    wakeup = try systemCall { eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC)) }
    bell = nil
  }

  init(ringing bell: DispatchSemaphore) {
    wakeup = -1
    self.bell = bell
  }

  deinit {
    if wakeup >= 0 { close(wakeup) }
  }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  func post(_ job: Job) {
    let wasAsleep = state.withLock { state in
      state.jobs.append(job)
      return state.wake()
    }
    if wasAsleep { ring() }
  }

  func stop() {
    let wasAsleep = state.withLock { state in
      state.isStopped = true
      return state.wake()
    }
    if wasAsleep { ring() }
  }

  /// Moves all jobs to the end of `jobs`. If `jobs` is then empty and `sleeping` is true, the next post wakes the loop.
  /// Returns whether the loop must stop.
  func collect(into jobs: inout Deque<Job>, sleeping: Bool) -> Bool {
    state.withLock { state in
      jobs.append(contentsOf: state.jobs)
      state.jobs.removeAll(keepingCapacity: true)
      state.isAsleep = sleeping && jobs.isEmpty && !state.isStopped
      return state.isStopped
    }
  }

  func silence() {
    var count: UInt64 = 0
    _ = read(wakeup, &count, 8)
  }

  private func ring() {
    if let bell {
      bell.signal()
      return
    }
    var one: UInt64 = 1
    _ = write(wakeup, &one, 8)
  }
}

extension Mailbox.State {
  /// Marks the loop as woken; returns true if it was asleep and must be woken.
  fileprivate mutating func wake() -> Bool {
    defer { isAsleep = false }
    return isAsleep
  }
}
