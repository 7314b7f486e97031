import Synchronization
import WeirIO

/// The file operations of one download. The session's workers run them one after another, in the order given.
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

  /// Runs one job, then queues behind other lanes that wait for a worker.
  private func runNext() {
    if let job = state.withLock({ $0.waiting.popFirst() }) { job() }
    let isDone = state.withLock { state in
      state.isRunning = !state.waiting.isEmpty
      return state.waiting.isEmpty
    }
    if !isDone { workers.submit { self.runNext() } }
  }
}
