import Testing
import WeirIO

@Suite struct MonotonicTimeTests {
  @Test(
    arguments: [
      (0, 1.5, 1_500_000_000), (7, 0, 7), (7, -3, 7), (7, .infinity, .max), (7, .nan, .max), (7, 1e300, .max),
      (.max - 1, 1, .max), (-5, 1e-9, -4),
    ] as [(Int64, Double, Int64)])
  func advancing(from start: Int64, by seconds: Double, to end: Int64) {
    #expect(MonotonicTime(nanoseconds: start).advanced(bySeconds: seconds).nanoseconds == end)
  }

  @Test func difference() {
    let (early, late) = (MonotonicTime(nanoseconds: 1), MonotonicTime(nanoseconds: 2_000_000_001))
    #expect(late.seconds(since: early) == 2)
    #expect(early.seconds(since: late) == -2)
    #expect(early < late)
  }

  @Test func clockGoesOn() {
    let first = MonotonicTime.now
    #expect(MonotonicTime.now >= first)
  }
}
