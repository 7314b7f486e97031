import Synchronization
import WeirIO

/// One download's work on files: done by the session's workers, one piece after another in the order given.
final class FileLane: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State {
    var waiting = Deque<Job>()
    var isRunning = false
  }

  private let workers: WorkerPool
  private let state = Mutex(State())

  init(workers: WorkerPool) {
    self.workers = workers
  }

  func submit(_ job: @escaping Job) {
    let isFirst = state.withLock { state in
      state.waiting.append(job)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { workers.submit { self.runNext() } }
  }

  /// One, and then whoever else waits for a worker.
  private func runNext() {
    if let job = state.withLock({ $0.waiting.popFirst() }) { job() }
    let isDone = state.withLock { state in
      state.isRunning = !state.waiting.isEmpty
      return state.waiting.isEmpty
    }
    if !isDone { workers.submit { self.runNext() } }
  }
}
