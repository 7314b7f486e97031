import Dispatch
import Glibc
import Synchronization

/// The thread behind an `EventLoop`, and all that the thread owns. The thread keeps this object alive, but not the
/// `EventLoop`.
///
/// `@unchecked Sendable`: `confined` is used by the thread itself and by `EventLoop`, which checks `isCurrent` first;
/// the rest is immutable or synchronised.
final class LoopCore: @unchecked Sendable {
  let mailbox: Mailbox
  let confined: Confined
  private let thread = Atomic<UInt>(0)

  init() throws(Errno) {
    mailbox = Mailbox(try Wakeup())
    confined = Confined(try Poller())
    try confined.poller.add(mailbox.wakeup.descriptor, events: .read, token: Confined.wakeupToken)
  }

  /// A core without descriptors, woken by the bell.
  init(ringing bell: DispatchSemaphore) {
    mailbox = Mailbox(Wakeup(ringing: bell))
    confined = Confined(Poller(waitingFor: bell))
  }

  @inline(__always)
  var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

  func run() {
    thread.store(UInt(pthread_self()), ordering: .relaxed)
    var isStopped = false
    while !(isStopped && confined.jobs.isEmpty) {
      isStopped = mailbox.collect(into: &confined.jobs)
      let mayWait = confined.jobs.isEmpty && confined.endOfTurn.isEmpty && !isStopped
      confined.turn(mayWait: mayWait, onWakeup: mailbox.wakeup.silence)
    }
    confined.end()
    thread.store(0, ordering: .relaxed)
  }

  /// The state that only the loop's thread touches.
  ///
  /// `@exclusivity(unchecked)`, here and elsewhere on the loop, marks properties that every request changes several
  /// times. The check for overlapping accesses costs as much as an allocation. These accesses can't overlap: none of
  /// them calls out while it lasts, and none releases an object that could belong to a caller.
  final class Confined {
    static let wakeupToken = UInt64.max
    /// The number of jobs run per turn, limited so that a flood of them can't starve sockets.
    static let jobsPerTurn = 256

    let poller: Poller
    @exclusivity(unchecked) var jobs = Deque<Mailbox.Job>()
    @exclusivity(unchecked) var endOfTurn = Deque<() -> Void>()
    var lagObserver: (@Sendable (Double) -> Void)?
    var turnTime = MonotonicTime.now
    var readyCount = 0
    @exclusivity(unchecked) private var timers = TimerHeap()
    private var registrations: [Registration?] = []
    private var generation: UInt32 = 0

    private struct Registration {
      let handler: any EventHandler
      let generation: UInt32
      var events: IOEvents
    }

    init(_ poller: Poller) {
      self.poller = poller
    }
  }
}

extension LoopCore.Confined {
  fileprivate func turn(mayWait: Bool, onWakeup: () -> Void) {
    let count = poller.wait(until: mayWait ? timers.earliest ?? .distantFuture : nil)
    readyCount = count
    turnTime = .now  // before any handler runs: after a long wait, deadlines counted from the last turn would be past
    poller.forEach(count) { token, events in
      if token == Self.wakeupToken {
        onWakeup()
      } else {
        dispatch(token, events)
      }
    }
    fireTimers()
    runJobs()
    runEndOfTurn()
  }

  /// Drops the remaining registrations and timers, whose handlers may hold each other and the loop.
  fileprivate func end() {
    registrations = []
    timers = TimerHeap()
  }

  private func dispatch(_ token: UInt64, _ events: IOEvents) {
    let fd = Int(UInt32(truncatingIfNeeded: token))
    guard fd < registrations.count, let registration = registrations[fd],
      registration.generation == UInt32(truncatingIfNeeded: token >> 32)
    else { return }  // closed, or closed and reopened, by an earlier event of this batch
    registration.handler.descriptorReady(CInt(fd), events: events)
  }

  /// Fires the due timers that are armed now, each at most once. A timer that is armed for the present again and again
  /// must not keep sockets from being served.
  private func fireTimers() {
    var budget = timers.count
    while budget > 0, let timer = timers.popDue(at: turnTime) {
      // It waits for the next turn, as do those that were armed for the present after it.
      if timer.lastTurn == turnTime { return timers.insert(timer) }
      timer.lastTurn = turnTime
      budget -= 1
      // Taken out first, because the observer of the lag may arm this timer again.
      let handler = timer.handler
      timer.handler = nil
      lagObserver?(turnTime.seconds(since: timer.due))
      handler?.timerFired(timer, now: turnTime)
    }
  }

  /// Runs the work in the order given, including work that is added meanwhile, up to a bound. The loop doesn't sleep
  /// before the rest has run.
  private func runEndOfTurn() {
    var budget = Self.jobsPerTurn
    while budget > 0, let work = endOfTurn.popFirst() {
      budget -= 1
      work()
    }
  }

  private func runJobs() {
    var budget = Self.jobsPerTurn
    while budget > 0, let job = jobs.popFirst() {
      budget -= 1
      switch job {
      case .closure(let run): run()
      case .task(let job, let loop): job.runSynchronously(on: loop.asUnownedTaskExecutor())
      }
    }
  }

  func register(_ fd: CInt, for events: IOEvents, handler: any EventHandler) throws(Errno) {
    guard fd >= 0 else { throw .invalidArgument }
    generation &+= 1
    let registration = Registration(handler: handler, generation: generation, events: events)
    try poller.add(fd, events: events, token: token(of: fd, registration))
    while registrations.count <= Int(fd) { registrations.append(nil) }
    registrations[Int(fd)] = registration
  }

  func update(_ fd: CInt, for events: IOEvents) throws(Errno) {
    guard fd >= 0, Int(fd) < registrations.count, let registration = registrations[Int(fd)] else {
      throw .invalidArgument
    }
    guard registration.events != events else { return }
    try poller.modify(fd, events: events, token: token(of: fd, registration))
    registrations[Int(fd)]?.events = events
  }

  func unregister(_ fd: CInt) {
    guard fd >= 0, Int(fd) < registrations.count, registrations[Int(fd)] != nil else { return }
    poller.remove(fd)
    registrations[Int(fd)] = nil
  }

  func schedule(_ timer: LoopTimer, at due: MonotonicTime, handler: any TimerHandler) {
    timer.due = due
    timer.handler = handler
    if timer.isArmed { timers.update(timer) } else { timers.insert(timer) }
  }

  func cancel(_ timer: LoopTimer) {
    guard timer.isArmed else { return }
    timers.remove(timer)
    timer.handler = nil
  }

  private func token(of fd: CInt, _ registration: Registration) -> UInt64 {
    UInt64(registration.generation) << 32 | UInt64(UInt32(fd))
  }
}
