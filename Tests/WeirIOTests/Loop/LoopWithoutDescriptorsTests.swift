import Testing
import WeirIO

/// A loop for a process that has no descriptors left.
@Suite(.timeLimit(.minutes(5)))
struct LoopWithoutDescriptorsTests {
  private final class Watch: TimerHandler, EventHandler {
    let onTimer: () -> Void

    init(_ onTimer: @escaping () -> Void) {
      self.onTimer = onTimer
    }

    func timerFired(_ timer: LoopTimer, now: MonotonicTime) { onTimer() }
    func descriptorReady(_ fd: CInt, events: IOEvents) {}
  }

  @Test func runsJobsFromAnywhere() async {
    let loop = EventLoop(withoutDescriptors: "test")
    for _ in 0..<1_000 {
      let isCurrent = await withCheckedContinuation { continuation in
        loop.post { continuation.resume(returning: loop.isCurrent) }
      }
      #expect(isCurrent)
    }
  }

  @Test func runsTimers() async {
    let loop = EventLoop(withoutDescriptors: "test")
    let began = MonotonicTime.now
    await withCheckedContinuation { continuation in
      loop.post {
        loop.schedule(LoopTimer(), at: .now.advanced(bySeconds: 0.05), handler: Watch { continuation.resume() })
      }
    }
    #expect(MonotonicTime.now.seconds(since: began) >= 0.05)
  }

  @Test func registersNothing() async {
    let loop = EventLoop(withoutDescriptors: "test")
    let isRefused = await withCheckedContinuation { continuation in
      loop.post {
        do {
          try loop.register(0, for: .read, handler: Watch {})
          continuation.resume(returning: false)
        } catch {
          continuation.resume(returning: true)
        }
      }
    }
    #expect(isRefused)
  }
}
