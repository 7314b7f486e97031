import Synchronization
import Testing
import WeirIO

@Suite struct LoopTimerTests {
  @Test func timersFireInTheOrderOfTheirTimes() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    loop.post {
      for delay in [3, 1, 2] {
        let handler = Handler { _, now in
          log.append("\(delay)")
          if delay == 3 { done.raise() }
        }
        loop.schedule(LoopTimer(), at: loop.turnTime.advanced(bySeconds: Double(delay) * 1e-3), handler: handler)
      }
    }
    #expect(done.wait())
    #expect(log.all == ["1", "2", "3"])
  }

  @Test func firesAtItsTimeNotBefore() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    loop.post {
      let due = loop.turnTime.advanced(bySeconds: 0.0205)
      let timer = LoopTimer()
      let handler = Handler { _, now in
        log.append("\(now >= due) \(MonotonicTime.now >= due) \(timer.isArmed)")
        done.raise()
      }
      loop.schedule(timer, at: due, handler: handler)
      #expect(timer.isArmed)
    }
    #expect(done.wait())
    #expect(log.all == ["true true false"])
  }

  @Test func cancelledAndMovedTimers() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    loop.post {
      let (cancelled, moved, last) = (LoopTimer(), LoopTimer(), LoopTimer())
      let now = loop.turnTime
      loop.schedule(cancelled, at: now.advanced(bySeconds: 0.001), handler: Handler { _, _ in log.append("cancelled") })
      loop.schedule(moved, at: now.advanced(bySeconds: 60), handler: Handler { _, _ in log.append("unmoved") })
      loop.schedule(moved, at: now.advanced(bySeconds: 0.002), handler: Handler { _, _ in log.append("moved") })
      loop.schedule(last, at: now.advanced(bySeconds: 0.003), handler: Handler { _, _ in done.raise() })
      loop.cancel(cancelled)
      loop.cancel(cancelled)
      #expect(!cancelled.isArmed)
    }
    #expect(done.wait())
    #expect(log.all == ["moved"])
  }

  @Test func timerArmedForThePresentAgainAndAgainLetsJobsRun() throws {
    let loop = try EventLoop(name: "test")
    let isOver = Atomic(false)
    loop.sync {
      let timer = LoopTimer()
      var handler: Handler?
      let again = Handler { _, now in
        if isOver.load(ordering: .relaxed) {
          handler = nil
        } else {
          handler.map { loop.schedule(timer, at: now, handler: $0) }
        }
      }
      handler = again
      loop.schedule(timer, at: loop.turnTime, handler: again)
    }
    loop.sync { isOver.store(true, ordering: .relaxed) }
  }

  /// However many other timers are armed.
  @Test func timerArmedForThePresentFiresInTheNextTurn() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    loop.post {
      for _ in 0..<100 { loop.schedule(LoopTimer(), at: .distantFuture, handler: Handler { _, _ in }) }
      let timer = LoopTimer()
      var (handler, count): (Handler?, Int) = (nil, 0)
      handler = Handler { _, now in
        log.append("\(now.nanoseconds)")
        count += 1
        if count < 5 {
          handler.map { loop.schedule(timer, at: now, handler: $0) }
        } else {
          handler = nil
          done.raise()
        }
      }
      handler.map { loop.schedule(timer, at: loop.turnTime, handler: $0) }
    }
    #expect(done.wait())
    #expect(Set(log.all).count == 5)
  }

  @Test func firedAndCancelledTimersLetGoOfTheirHandler() throws {
    let (loop, done) = (try EventLoop(name: "test"), Signal())
    let kept = LoopBound(Kept(), on: loop)
    loop.post {
      let (fired, cancelled) = (Handler { _, _ in done.raise() }, Handler { _, _ in })
      kept.value.fired = fired
      kept.value.cancelled = cancelled
      loop.schedule(kept.value.timers[0], at: loop.turnTime, handler: fired)
      loop.schedule(kept.value.timers[1], at: .distantFuture, handler: cancelled)
      loop.cancel(kept.value.timers[1])
    }
    #expect(done.wait())
    loop.sync {
      #expect(kept.value.fired == nil)
      #expect(kept.value.cancelled == nil)
    }
  }

  @Test func lagIsReported() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    loop.post {
      loop.observeLag { log.append($0 >= 1 ? "late" : "early") }
      loop.schedule(
        LoopTimer(), at: MonotonicTime(nanoseconds: loop.turnTime.nanoseconds - 1_000_000_000),
        handler: Handler { _, _ in done.raise() })
    }
    #expect(done.wait())
    #expect(log.all == ["late"])
  }
}

private final class Kept {
  let timers = [LoopTimer(), LoopTimer()]
  weak var fired: Handler?
  weak var cancelled: Handler?
}
