import Dispatch
import Synchronization

/// A few threads for work that would hold up a loop: large bodies, files, hashing. Jobs beyond the width wait in order.
///
/// The threads are the pool's own, because those of Dispatch's shared queues may all be taken. A host that blocks them
/// would otherwise stop its metrics from being read when they are needed most. Threads are started on demand. They end
/// after a while without work or, once the pool has gone, when no job is left.
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

  /// The number of jobs that wait for a worker.
  package var backlog: Int { core.backlog }

  /// The number of threads that run a job or wait for one.
  package var threadCount: Int { core.threadCount }

  /// Runs the job on a thread of the pool.
  package func submit(_ job: @escaping @Sendable () -> Void) {
    _ = core.submit(job, waiting: .max)
  }

  /// Runs the job on a thread of the pool. Returns false, without taking the job, if `limit` jobs already wait for a
  /// thread.
  package func submit(unlessWaiting limit: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
    core.submit(job, waiting: max(0, limit))
  }
}

/// The part of the pool that its threads refer to, so that they don't keep the pool itself alive.
private final class WorkerPoolCore: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State {
    var backlog = Deque<Job>()
    /// The number of jobs that wait or run.
    var unfinished = 0
    var threads = 0
    /// The semaphore of each thread that waits for a job. The last one to fall idle is woken first, so that threads
    /// that are not needed reach the end of their idle time.
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
    case .thread: startThread(name: name) { self.work() }
    }
    return true
  }

  /// Runs the jobs that still wait; threads without work end now.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
    for thread in idle { thread.signal() }
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

  /// Returns true for a thread whose idle time is up, and false for one that was woken at the last moment. In that case
  /// the semaphore has been signalled or will be. The signal is consumed here, so that it doesn't end a later wait.
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
