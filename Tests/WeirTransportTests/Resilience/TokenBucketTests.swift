import Testing
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirTransport

@Suite struct TokenBucketTests {
  private static func at(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + milliseconds * 1_000_000)
  }

  private static func terms(_ count: Int, per period: Int = 1, burst: Int) -> TokenBucket.Terms {
    TokenBucket.Terms(count, per: period, burst: burst)
  }

  /// Milliseconds of arrivals, and what each gets: 0 for a token, or the seconds to the next one.
  @Test(
    arguments: [
      // A burst, then a token each half second.
      (2, 1, 3, [(0, 0), (0, 0), (0, 0), (0, 1), (499, 1), (500, 0), (500, 1), (1499, 0), (1500, 0), (1501, 1)]),
      // A token not used is kept up to the burst.
      (1, 1, 2, [(0, 0), (10_000, 0), (10_000, 0), (10_000, 1), (11_000, 0)]),
      // Refusals take nothing.
      (1, 1, 1, [(0, 0), (100, 1), (200, 1), (999, 1), (1000, 0)]),
      // Five in an hour: one in twelve minutes.
      (5, 3600, 1, [(0, 0), (0, 720), (1, 720), (1000, 719), (719_999, 1), (720_000, 0)]),
      // A third of a second is no whole number of nanoseconds.
      (3, 1, 1, [(0, 0), (333, 1), (334, 0), (667, 1), (668, 0), (1001, 1), (1002, 0)]),
      // An earlier time is none before the latest.
      (1, 1, 1, [(1000, 0), (0, 2), (1999, 1), (2000, 0)]),
    ] as [(Int, Int, Int, [(Int64, Int)])])
  func tokens(count: Int, period: Int, burst: Int, arrivals: [(Int64, Int)]) {
    let terms = Self.terms(count, per: period, burst: burst)
    var bucket = TokenBucket()
    for (time, expected) in arrivals {
      #expect(bucket.take(by: terms, at: Self.at(time)) ?? 0 == expected, "at \(time) ms")
    }
  }

  @Test func aTokenThatIsGivenBackIsThereAgain() {
    let terms = Self.terms(1, burst: 2)
    var bucket = TokenBucket()
    #expect(bucket.take(by: terms, at: Self.at(0)) == nil)
    #expect(bucket.take(by: terms, at: Self.at(0)) == nil)
    bucket.giveBack(by: terms)
    #expect(bucket.take(by: terms, at: Self.at(0)) == nil)
    #expect(bucket.take(by: terms, at: Self.at(0)) == 1)
  }

  /// Tokens taken at the beginning, the milliseconds of the question, the number of others before, and the nanoseconds at which
  /// the token is there.
  @Test(
    arguments: [
      (3, 1, 1, 0, 0, 0, 0), (3, 1, 1, 1, 0, 0, 333_333_334), (3, 1, 1, 1, 0, 1, 666_666_667),
      (3, 1, 1, 1, 0, 2, 1_000_000_000), (3, 1, 1, 1, 300, 0, 333_333_334), (3, 1, 1, 1, 400, 0, 400_000_000),
      (3, 1, 1, 1, 400, 1, 733_333_334), (1, 1, 3, 0, 0, 2, 0), (1, 1, 3, 0, 0, 3, 1_000_000_000),
      (1, 1, 3, 3, 0, 0, 1_000_000_000), (1, 1, 3, 3, 500, 1, 2_000_000_000),
      (1, 3600, 1, 1, 0, 10_000, 36_003_600_000_000_000),
    ] as [(Int, Int, Int, Int, Int64, Int, Int64)])
  func theTimeOfATokenIsKnown(
    count: Int, period: Int, burst: Int, taken: Int, milliseconds: Int64, ahead: Int, expected: Int64
  ) {
    let terms = Self.terms(count, per: period, burst: burst)
    var bucket = TokenBucket()
    for _ in 0..<taken { #expect(bucket.take(by: terms, at: Self.at(0)) == nil) }
    let time = bucket.time(after: ahead, by: terms, at: Self.at(milliseconds))
    #expect(time.nanoseconds == Self.at(0).nanoseconds + expected)
    if ahead > 0 { return }
    #expect(bucket.take(by: terms, at: time) == nil, "the token is there")
    var earlier = TokenBucket()
    for _ in 0..<taken { _ = earlier.take(by: terms, at: Self.at(0)) }
    let before = MonotonicTime(nanoseconds: time.nanoseconds - 1)
    #expect(time == Self.at(milliseconds) || earlier.take(by: terms, at: before) != nil, "it was not there before")
  }

  @Test func extremesAreNumbers() {
    for (count, period) in [(1, 3600), (3_600_000_000, 3600), (1_000_000, 1), (.max, 1), (0, 0)] {
      let terms = Self.terms(count, per: period, burst: 1_000_000)
      var bucket = TokenBucket()
      #expect(bucket.take(by: terms, at: .distantFuture) == nil)
      #expect(!bucket.isFull(by: terms, at: .distantFuture))
      #expect((bucket.take(by: terms, at: MonotonicTime(nanoseconds: 0)) ?? 0) > 0)
      #expect(bucket.time(after: .max, by: terms, at: MonotonicTime(nanoseconds: 0)) == .distantFuture)
    }
  }

  @Test(
    arguments: [
      // Given, new rate and burst, what is left.
      (100, 10, 100, 0), (40, 10, 100, 60), (40, 1000, 100, 60), (40, 10, 50, 10), (70, 10, 50, 0), (0, 10, 7, 7),
    ])
  func otherTermsKeepWhatWasGiven(given: Int, rate: Int, burst: Int, left: Int) {
    let old = Self.terms(100, burst: 100), new = Self.terms(rate, burst: burst)
    var bucket = TokenBucket()
    for _ in 0..<given { _ = bucket.take(by: old, at: Self.at(0)) }
    bucket = bucket.changed(from: old, to: new, at: Self.at(0))
    for _ in 0..<left { #expect(bucket.take(by: new, at: Self.at(0)) == nil) }
    #expect(bucket.take(by: new, at: Self.at(0)) != nil)
  }

  /// In any window a bucket gives at most its burst and what the rate allows, and it refuses only what would be more.
  @Test(arguments: 0..<40) func inAnyWindowTheRateHolds(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let period = [1, 60, 3600][Int.random(in: 0..<3, using: &random)]
    let count = Int.random(in: 1...(seed % 3 == 0 ? 7 : 1_000_000), using: &random)
    let burst = Int.random(in: 1...20, using: &random)
    let terms = Self.terms(count, per: period, burst: burst)
    let interval = Int64(period) * 1_000_000_000 / Int64(count)
    var bucket = TokenBucket()
    var now = Int64.random(in: 0...1 << 60, using: &random)
    var given: [Int64] = []
    for _ in 0..<300 {
      let pause = [0, interval / 7, interval, interval * 3, interval * Int64(burst)]
      now += Int64.random(in: 0...pause[Int.random(in: 0..<pause.count, using: &random)], using: &random)
      let isGiven = bucket.take(by: terms, at: MonotonicTime(nanoseconds: now)) == nil
      // With this token, the windows that end here hold so many tokens.
      let windows = given.reversed().enumerated().map { (tokens: $0.offset + 2, length: now - $0.element) }
      let isTooMuch = windows.contains { tokens, length in
        Int128(tokens - burst) * Int128(period) * 1_000_000_000 > Int128(length) * Int128(count)
      }
      #expect(isGiven == !isTooMuch)
      if isGiven { given.append(now) }
    }
    #expect(given.count > burst)
  }
}
