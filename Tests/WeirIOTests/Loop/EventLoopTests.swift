import Glibc
import Synchronization
import Testing

@testable import WeirIO

@Suite struct EventLoopTests {
  @Test func jobsRunOnTheLoopInOrder() throws {
    let (loop, log) = (try EventLoop(name: "test"), Log())
    #expect(!loop.isCurrent)
    for index in 0..<1000 { loop.post { log.append("\(index) \(loop.isCurrent)") } }
    loop.sync {}
    #expect(log.all == (0..<1000).map { "\($0) true" })
  }

  @Test func runIsImmediateOnTheLoopAndPostIsNot() throws {
    let (loop, log) = (try EventLoop(name: "test"), Log())
    loop.sync {
      loop.post { log.append("posted") }
      loop.run { log.append("run") }
    }
    loop.sync {}
    #expect(log.all == ["run", "posted"])
  }

  @Test func jobsOfManyThreadsAllRun() async throws {
    let loop = try EventLoop(name: "test")
    let count = Counter()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<2000 { loop.post { _ = count.add(1) } }
        }
      }
    }
    loop.sync {}
    #expect(count.value == 16_000)
  }

  @Test func jobsGivenBeforeTheEndStillRun() throws {
    let done = Signal()
    do {
      let loop = try EventLoop(name: "test")
      loop.post { done.raise() }
    }
    #expect(done.wait())
  }

  @Test func threadIsNamed() throws {
    let (loop, log) = (try EventLoop(name: "a name of many letters"), Log())
    loop.sync {
      var name = [UInt8](repeating: 0, count: 32)
      let file = open("/proc/thread-self/comm", O_RDONLY)
      let count = read(file, &name, name.count)
      close(file)
      log.append(String(decoding: name.prefix(max(0, count)), as: UTF8.self))
    }
    #expect(log.all == ["a name of many \n"])
  }

  @Test func threadTakesNoSignalsAndItsMakerAsBefore() throws {
    let before = Self.blockedSignals
    let (loop, log) = (try EventLoop(name: "test"), Log())
    loop.sync {
      var mask = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      for signal in [SIGTERM, SIGINT, SIGPIPE, SIGSEGV] { log.append("\(sigismember(&mask, signal))") }
    }
    #expect(log.all == ["1", "1", "1", "0"])
    #expect(Self.blockedSignals == before)
  }

  private static var blockedSignals: [Bool] {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return (1...31).map { sigismember(&mask, $0) == 1 }
  }

  @Test func endOfTurnWorkRunsInOrderBeforeTheLoopSleeps() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    loop.post {
      loop.atEndOfTurn { log.append("first") }
      loop.atEndOfTurn {
        log.append("second")
        loop.atEndOfTurn {
          log.append("added")
          done.raise()
        }
      }
      log.append("job")
    }
    #expect(done.wait())
    #expect(log.all == ["job", "first", "second", "added"])
  }

  @Test func endOfTurnWorkMayAddMoreWhenItIsLetGoOf() throws {
    final class Farewell: Sendable {
      let loop: EventLoop
      let done: Signal

      init(_ loop: EventLoop, _ done: Signal) {
        self.loop = loop
        self.done = done
      }

      deinit { loop.atEndOfTurn { [done] in done.raise() } }
    }
    let (loop, done) = (try EventLoop(name: "test"), Signal())
    loop.post {
      let farewell = Farewell(loop, done)
      loop.atEndOfTurn { withExtendedLifetime(farewell) {} }
    }
    #expect(done.wait())
  }

  @Test func endlessEndOfTurnWorkLetsJobsRun() throws {
    let loop = try EventLoop(name: "test")
    let isOver = Atomic(false)
    @Sendable func again() {
      if !isOver.load(ordering: .relaxed) { loop.atEndOfTurn(again) }
    }
    loop.sync(again)
    let done = Signal()
    loop.post {
      isOver.store(true, ordering: .relaxed)
      done.raise()
    }
    #expect(done.wait())
  }

  @Test func endlessJobsLetSocketsBeServed() throws {
    let (loop, pair, done) = (try EventLoop(name: "test"), try SocketPair(), Signal())
    let isOver = Atomic(false)
    @Sendable func again() {
      if !isOver.load(ordering: .relaxed) { loop.post(again) }
    }
    loop.post(again)
    loop.post {
      let handler = Handler { _, _ in
        loop.unregister(pair.left.descriptor)
        done.raise()
      }
      #expect(throws: Never.self) { try loop.register(pair.left.descriptor, for: .read, handler: handler) }
    }
    #expect(try pair.right.send("x") == 1)
    #expect(done.wait())
    isOver.store(true, ordering: .relaxed)
    pair.close()
  }

  @Test(.timeLimit(.minutes(5)))
  func tasksRunOnTheLoop() async throws {
    let loop = try EventLoop(name: "test")
    let isOnLoop = await Task(executorPreference: loop) {
      let before = loop.isCurrent
      await Task.yield()
      return before && loop.isCurrent
    }.value
    #expect(isOnLoop)
  }

  @Test func tasksAreNotRunInline() throws {
    let (loop, log, done) = (try EventLoop(name: "test"), Log(), Signal())
    loop.post {
      Task(executorPreference: loop) {
        log.append("task")
        done.raise()
      }
      log.append("job")
    }
    #expect(done.wait())
    #expect(log.all == ["job", "task"])
  }
}
