import Dispatch
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite struct WatchdogTests {
  enum Step {
    case tick(loops: Int, round: Int?)
    case answer(round: Int, sign: Bool)
  }

  @Test(
    arguments: [
      [
        .tick(loops: 2, round: 1), .answer(round: 1, sign: false),
        // One of them has not turned.
        .tick(loops: 2, round: nil), .tick(loops: 2, round: nil), .answer(round: 1, sign: true),
        // Once for each round.
        .answer(round: 1, sign: false), .tick(loops: 3, round: 2), .answer(round: 1, sign: false),
        .answer(round: 2, sign: false), .answer(round: 2, sign: false), .answer(round: 2, sign: true),
        .answer(round: 3, sign: false),
      ],
      [
        .tick(loops: 0, round: nil), .answer(round: 0, sign: false), .tick(loops: 1, round: 1),
        .answer(round: 1, sign: true),
      ],
    ] as [[Step]])
  func theSignIsGivenWhenAllHaveAnswered(steps: [Step]) {
    var round = WatchdogRound()
    for (index, step) in steps.enumerated() {
      switch step {
      case .tick(let loops, let number):
        let begun = round.tick(loops: loops)
        #expect(begun == number, "step \(index)")
      case .answer(let number, let sign):
        let isGiven = round.answered(round: number)
        #expect(isGiven == sign, "step \(index)")
      }
    }
  }

  @Test func aLoopThatStandsStillEndsTheSigns() throws {
    let (own, other) = (try EventLoop(name: "test"), try EventLoop(name: "test"))
    let count = Counter()
    let watchdog = LoopBound(
      Watchdog(
        on: own, interval: .milliseconds(20), loops: { [other] }, sign: { count.value.add(1, ordering: .relaxed) }),
      on: own)
    own.post { watchdog.value.start() }
    #expect(eventually { count.value.load(ordering: .relaxed) >= 3 })
    let gate = DispatchSemaphore(value: 0), held = DispatchSemaphore(value: 0)
    other.post {
      held.signal()
      gate.wait()
    }
    held.wait()
    // An answer of before may still be under way. After it the ticks bring no more: their number is that of timers.
    own.waitForTurns(3)
    let before = count.value.load(ordering: .relaxed)
    own.waitForTurns(20)
    #expect(count.value.load(ordering: .relaxed) == before)
    gate.signal()
    #expect(eventually { count.value.load(ordering: .relaxed) > before })
    own.post { watchdog.value.stop() }
    own.waitForTurns(3)
    let last = count.value.load(ordering: .relaxed)
    own.waitForTurns(10)
    #expect(count.value.load(ordering: .relaxed) == last)
  }

  private final class Counter: Sendable {
    let value = Atomic(0)
  }
}

extension EventLoop {
  /// Blocks until a timer of this loop has fired so many times, ten milliseconds apart.
  fileprivate func waitForTurns(_ count: Int) {
    let done = DispatchSemaphore(value: 0)
    post { [self] in
      let ticker = Ticker(self, count, done)
      schedule(ticker.timer, at: turnTime.advanced(bySeconds: 0.01), handler: ticker)
    }
    done.wait()
  }
}

private final class Ticker: TimerHandler {
  let timer = LoopTimer()
  private let loop: EventLoop
  private var left: Int
  private let done: DispatchSemaphore

  init(_ loop: EventLoop, _ count: Int, _ done: DispatchSemaphore) {
    self.loop = loop
    left = count
    self.done = done
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    left -= 1
    if left == 0 { done.signal() } else { loop.schedule(timer, at: now.advanced(bySeconds: 0.01), handler: self) }
  }
}
