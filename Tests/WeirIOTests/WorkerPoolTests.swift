import Testing
import WeirIO

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
    #expect(log.all == (0..<100).map(String.init))
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
}
