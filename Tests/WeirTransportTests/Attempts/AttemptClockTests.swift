import Testing
import WeirCurl
import WeirIO

@testable import WeirTransport

@Suite("Clock of an attempt") struct AttemptClockTests {
  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  private static func seconds(_ time: MonotonicTime?) -> Double? {
    time.map { ($0.seconds(since: Self.time(0)) * 1e6).rounded() / 1e6 }
  }

  /// Times at which the clock of a limit of one second is to run or stand, whether that is a change, and then its end.
  @Test(
    arguments: [
      [(0, true, true, 1), (0.4, true, false, 1)],
      [(0, false, false, nil), (5, true, true, 6)],
      [(0, true, true, 1), (0.4, false, true, nil), (0.9, false, false, nil), (7, true, true, 7.6)],
      [
        (0, true, true, 1), (0.4, false, true, nil), (1, true, true, 1.6), (1.5, false, true, nil),
        (2, true, true, 2.1),
      ],
      // The limit was reached while no timer could fire.
      [(0, true, true, 1), (3, false, true, nil), (4, true, true, 4)],
      // An earlier time takes nothing back.
      [(1, true, true, 2), (0.5, false, true, nil), (2, true, true, 3)],
    ] as [[(Double, Bool, Bool, Double?)]])
  func itRunsWhileTheDestinationIsBusy(steps: [(time: Double, runs: Bool, changes: Bool, end: Double?)]) {
    var clock = AttemptClock(limit: 1)
    #expect(clock.end == nil)
    for step in steps {
      #expect(clock.run(step.runs, at: Self.time(step.time)) == step.changes, "at \(step.time)")
      #expect(Self.seconds(clock.end) == step.end, "at \(step.time)")
    }
  }

  @Test func anEndlessLimitIsNeverReached() {
    var clock = AttemptClock(limit: .infinity)
    _ = clock.run(true, at: Self.time(0))
    #expect(clock.end == .distantFuture)
  }

  @Test func onlyTheLimitsOwnEndIsATimeout() throws {
    let limit = AttemptLimit(seconds: 2)
    let cancelled = TransferError(.cancelled, message: "cancelled")
    let other = TransferError(.stopped, message: "other")
    #expect(limit.judged(cancelled)?.kind == .cancelled)
    limit.isReached = true
    #expect(limit.judged(nil) == nil)
    #expect(limit.judged(other)?.kind == other.kind)
    #expect(limit.judged(cancelled) == .attemptTimeout(2))
  }
}
