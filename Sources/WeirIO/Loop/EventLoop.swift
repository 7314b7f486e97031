import Dispatch

/// A thread that hosts everything that waits: sockets, timers and jobs from other threads.
///
/// The loop runs as long as this object is referenced. When the last reference goes, the thread runs the jobs it was
/// already given and ends. Methods marked *on the loop* trap on any other thread.
package final class EventLoop: Sendable {
  let core: LoopCore

  /// - Parameter name: the thread's name, of which Linux shows the first 15 bytes.
  package init(name: String) throws(Errno) {
    core = try LoopCore()
    try startDetachedThread(name: name) { [core] in core.run() }
  }

  /// A loop for a process that has no descriptors left. It hosts jobs and timers, so that requests are at least
  /// answered with an error, and registers no descriptors.
  package init(withoutDescriptors name: String) {
    core = LoopCore(ringing: DispatchSemaphore(value: 0))
    startThread(name: name) { [core] in core.run() }
  }

  deinit {
    core.mailbox.stop()
  }

  /// Whether the calling thread is the loop's.
  package var isCurrent: Bool { core.isCurrent }

  @inline(__always)
  package func preconditionCurrent() {
    precondition(core.isCurrent, "loop-confined state touched from another thread")
  }

  /// The time at which the present turn began; cheaper than reading the clock. On the loop.
  package var turnTime: MonotonicTime { confined.turnTime }

  /// The number of descriptors that were ready when the present turn began, as far as one wait reports them. It tells
  /// how much this turn has to do. On the loop.
  package var readyCount: Int { confined.readyCount }

  /// Runs `job` on the loop, after the jobs that were posted before it. Any thread.
  package func post(_ job: @escaping @Sendable () -> Void) {
    add(.closure(job))
  }

  /// Runs `job` now when on the loop, else posts it. Any thread.
  package func run(_ job: @escaping @Sendable () -> Void) {
    if isCurrent { job() } else { core.mailbox.post(.closure(job)) }
  }

  /// Reports the readiness of `fd` to `handler` until `unregister`; level-triggered. On the loop.
  package func register(_ fd: CInt, for events: IOEvents, handler: any EventHandler) throws(Errno) {
    try confined.register(fd, for: events, handler: handler)
  }

  /// Changes which readiness is reported. On the loop.
  package func update(_ fd: CInt, for events: IOEvents) throws(Errno) {
    try confined.update(fd, for: events)
  }

  /// Ends reports for `fd`; call it before closing the descriptor. On the loop.
  package func unregister(_ fd: CInt) {
    confined.unregister(fd)
  }

  /// Arms `timer`, or moves it when it is armed. On the loop.
  package func schedule(_ timer: LoopTimer, at due: MonotonicTime, handler: any TimerHandler) {
    confined.schedule(timer, at: due, handler: handler)
  }

  /// Disarms `timer`; does nothing when it is not armed. On the loop.
  package func cancel(_ timer: LoopTimer) {
    confined.cancel(timer)
  }

  /// Calls `work` once at the end of the present turn, before the loop sleeps and after the work given earlier. On the
  /// loop.
  package func atEndOfTurn(_ work: @escaping () -> Void) {
    confined.endOfTurn.append(work)
  }

  /// Sets the observer of lag: how many seconds each due timer waited for its turn. On the loop.
  package func observeLag(_ observer: (@Sendable (Double) -> Void)?) {
    confined.lagObserver = observer
  }

  private func add(_ job: Mailbox.Job) {
    if isCurrent { core.confined.jobs.append(job) } else { core.mailbox.post(job) }
  }

  private var confined: LoopCore.Confined {
    preconditionCurrent()
    return core.confined
  }
}

/// The receiver of a descriptor's readiness, called on the loop.
package protocol EventHandler: AnyObject {
  func descriptorReady(_ fd: CInt, events: IOEvents)
}

extension EventLoop: TaskExecutor {
  /// Runs a Swift task's job on the loop, never inline: jobs run after the call that made them runnable has returned.
  package func enqueue(_ job: consuming ExecutorJob) {
    add(.task(UnownedJob(job), on: self))
  }
}

/// Bounds what one transfer may receive or send in a turn of the loop, before the others have had theirs.
///
/// It is counted in bytes. But each piece takes time, whatever it holds: a call that reads or writes, a record of TLS, a
/// chunk, a frame. So a piece counts for at least `leastPiece` bytes, and a peer that sends its bytes one by one takes
/// no more time from the others than one that sends them at once.
package struct TurnShare {
  package static let bytes = 262_144
  package static let leastPiece = 1024

  private var left = bytes

  package init() {}

  package var isUsedUp: Bool { left <= 0 }

  package mutating func count(_ bytes: Int) { left -= max(bytes, Self.leastPiece) }
}
