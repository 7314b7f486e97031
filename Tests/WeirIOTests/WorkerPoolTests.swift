import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@Suite struct WorkerPoolTests {
  @Test func noMoreThanItsWidthAtOnce() {
    let (pool, log, done) = (WorkerPool(name: "test", width: 3), Log(), Signal())
    let (running, most, finished) = (Counter(), Counter(), Counter())
    for _ in 0..<200 {
      pool.submit {
        most.raise(to: running.add(1))
        for _ in 0..<1000 { log.append("") }
        _ = running.add(-1)
        if finished.add(1) == 200 { done.raise() }
      }
    }
    #expect(done.wait())
    #expect(most.value <= 3)
    #expect(pool.backlog == 0)
  }

  @Test func oneWorkerKeepsTheOrder() {
    let (pool, log, done) = (WorkerPool(name: "test", width: 0), Log(), Signal())
    for index in 0..<100 { pool.submit { log.append("\(index)") } }
    pool.submit { done.raise() }
    #expect(done.wait())
    #expect(log.all == (0..<100).map { "\($0)" })
  }

  @Test func waitingJobsAreCounted() {
    let (pool, gate, started, done) = (WorkerPool(name: "test", width: 1), Signal(), Signal(), Signal())
    pool.submit {
      started.raise()
      _ = gate.wait()
    }
    #expect(started.wait())
    pool.submit {}
    pool.submit { done.raise() }
    #expect(pool.backlog == 2)
    gate.raise()
    #expect(done.wait())
  }

  @Test func jobsBeyondTheBacklogAreRefused() {
    let (pool, gate, started, done) = (WorkerPool(name: "test", width: 1), Signal(), Signal(), Signal())
    let job: @Sendable () -> Void = {
      started.raise()
      _ = gate.wait()
    }
    #expect(pool.submit(unlessWaiting: 0, job))
    #expect(started.wait())
    #expect(!pool.submit(unlessWaiting: 0) {})
    #expect(pool.submit(unlessWaiting: 1) { done.raise() })
    #expect(!pool.submit(unlessWaiting: 1) {})
    gate.raise()
    #expect(done.wait())
  }

  @Test func threadsComeOnDemandAndEndWhenIdle() async throws {
    let pool = WorkerPool(name: "test", width: 2, idleTime: 0.01)
    #expect(pool.threadCount == 0)
    for _ in 0..<20 {
      let done = Signal()
      pool.submit { done.raise() }
      #expect(done.wait())
      try await eventually("its thread has ended") { pool.threadCount == 0 }
    }
  }

  /// Jobs come just when the thread's time is up.
  @Test func noJobIsLostToAThreadThatEnds() {
    let pool = WorkerPool(name: "test", width: 1, idleTime: 0)
    for _ in 0..<2000 {
      let done = Signal()
      pool.submit { done.raise() }
      guard done.wait() else {
        Issue.record("a job was not run")
        return
      }
    }
  }

  @Test func jobsOfAPoolThatHasGoneAreDone() {
    let (gate, done) = (Signal(), Signal())
    var pool: WorkerPool? = WorkerPool(name: "test", width: 1)
    pool?.submit { _ = gate.wait() }
    pool?.submit { done.raise() }
    pool = nil
    gate.raise()
    #expect(done.wait())
  }

  @Test func itsThreadsAreItsOwn() {
    let (pool, done) = (WorkerPool(name: "test-of-names", width: 1), Signal())
    let name = Text()
    pool.submit {
      name.set(threadName())
      done.raise()
    }
    #expect(done.wait())
    #expect(name.value == "test-of-names\n")
  }
}

private final class Text: Sendable {
  private let text = Mutex("")

  var value: String { text.withLock { $0 } }
  func set(_ value: String) { text.withLock { $0 = value } }
}

private func threadName() -> String {
  (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
}
