import Dispatch
import Synchronization

/// A few threads for work that would hold up a loop: large bodies, files, hashing. Jobs beyond the width wait in order.
///
/// The threads are its own, because those of Dispatch's shared queues may all be taken: a host that blocks them would
/// otherwise stop its metrics from being read when they are needed most. They are started on demand, and end after a
/// while without work or, when the pool has gone, without a job left.
package final class WorkerPool: Sendable {
  private let core: WorkerPoolCore

  /// - Parameters:
  ///   - width: how many jobs may run at once.
  ///   - idleTime: seconds after which a thread without work ends.
  package init(name: String, width: Int, idleTime: Double = 10) {
    core = WorkerPoolCore(name: name, width: max(1, width), idleTime: idleTime)
  }

  deinit {
    core.close()
  }

  /// Jobs that wait for a worker.
  package var backlog: Int { core.backlog }

  /// Threads that run a job or wait for one.
  package var threadCount: Int { core.threadCount }

  /// Has a thread run the job.
  package func submit(_ job: @escaping @Sendable () -> Void) {
    _ = core.submit(job, waiting: .max)
  }

  /// Has a thread run the job, unless it would have to wait and so many wait already: then false.
  package func submit(unlessWaiting limit: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
    core.submit(job, waiting: max(0, limit))
  }
}

/// The pool as its threads know it, so that they don't keep the pool itself alive.
private final class WorkerPoolCore: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State {
    var backlog = Deque<Job>()
    /// Jobs that wait or run.
    var unfinished = 0
    var threads = 0
    /// The wake-up call of each thread that waits for a job; the last one to fall idle is woken first, so that those
    /// not needed reach the end of their time.
    var idle: [DispatchSemaphore] = []
    var isClosed = false
  }

  private enum Start {
    case refused
    case queued
    case wake(DispatchSemaphore)
    case thread
  }

  private let name: String
  private let width: Int
  private let idleTime: Double
  private let state = Mutex(State())

  init(name: String, width: Int, idleTime: Double) {
    self.name = name
    self.width = width
    self.idleTime = idleTime
  }

  var backlog: Int { state.withLock { $0.backlog.count } }
  var threadCount: Int { state.withLock { $0.threads } }

  func submit(_ job: @escaping Job, waiting limit: Int) -> Bool {
    let start = state.withLock { state -> Start in
      guard state.unfinished - width < limit else { return .refused }
      state.unfinished += 1
      state.backlog.append(job)
      if let idle = state.idle.popLast() { return .wake(idle) }
      guard state.threads < width else { return .queued }
      state.threads += 1
      return .thread
    }
    switch start {
    case .refused: return false
    case .queued: break
    case .wake(let idle): idle.signal()
    case .thread: startThread()
    }
    return true
  }

  /// What waits is still done; threads without work end now.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
    for thread in idle { thread.signal() }
  }

  private func startThread() {
    do {
      try startDetachedThread(name: name) { self.work() }
    } catch {
      // The system has no thread for us; the shared ones are better than none.
      DispatchQueue.global().async { self.work() }
    }
  }

  private func work() {
    let wakeUp = DispatchSemaphore(value: 0)
    var finished = 0
    while true {
      let step = next(wakeUp, finished: finished)
      finished = 0
      switch step {
      case .run(let job):
        job()
        finished = 1
      case .wait:
        if wakeUp.wait(timeout: .now() + idleTime) == .timedOut, endIdle(wakeUp) { return }
      case .end: return
      }
    }
  }

  private enum Step {
    case run(Job)
    case wait
    case end
  }

  private func next(_ wakeUp: DispatchSemaphore, finished: Int) -> Step {
    state.withLock { state in
      state.unfinished -= finished
      if let job = state.backlog.popFirst() { return .run(job) }
      guard !state.isClosed else {
        state.threads -= 1
        return .end
      }
      state.idle.append(wakeUp)
      return .wait
    }
  }

  /// True for a thread whose time is up; false for one that was woken at the last moment. The signal for it has come or
  /// will, and is taken here, so that it doesn't end a later wait.
  private func endIdle(_ wakeUp: DispatchSemaphore) -> Bool {
    let isIdle = state.withLock { state in
      guard let index = state.idle.firstIndex(where: { $0 === wakeUp }) else { return false }
      state.idle.remove(at: index)
      state.threads -= 1
      return true
    }
    if !isIdle { wakeUp.wait() }
    return isIdle
  }
}
