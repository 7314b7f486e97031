import Dispatch
import Synchronization

/// A few threads for work that would hold up a loop: large bodies, files, hashing. Jobs beyond the width wait in order.
package final class WorkerPool: Sendable {
  private struct State {
    var backlog = Deque<@Sendable () -> Void>()
    var running = 0
  }

  private let width: Int
  private let queue: DispatchQueue
  private let state = Mutex(State())

  package init(name: String, width: Int) {
    self.width = max(1, width)
    queue = DispatchQueue(label: name, attributes: .concurrent)
  }

  /// Jobs that wait for a worker.
  package var backlog: Int { state.withLock { $0.backlog.count } }

  package func submit(_ job: @escaping @Sendable () -> Void) {
    let mayStart = state.withLock { state in
      state.backlog.append(job)
      guard state.running < width else { return false }
      state.running += 1
      return true
    }
    if mayStart { queue.async { self.work() } }
  }

  private func work() {
    while let job = next() { job() }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let job = state.backlog.popFirst()
      if job == nil { state.running -= 1 }
      return job
    }
  }
}
