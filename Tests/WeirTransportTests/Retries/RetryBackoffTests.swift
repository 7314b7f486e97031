import Testing
import WeirTestSupport

@testable import WeirTransport

@Suite struct RetryBackoffTests {
  struct Case: Sendable {
    var backoff = RetryBackoff(base: 2, scale: 0.5)
    var retryCount: Int
    var random = 0.0
    var delay: Double
  }

  @Test(arguments: [
    Case(retryCount: 0, delay: 0.5), Case(retryCount: 1, delay: 1), Case(retryCount: 4, random: 0.9, delay: 8),
    Case(retryCount: 7, delay: 60), Case(retryCount: 100_000, delay: 60),
    Case(backoff: RetryBackoff(base: 3, scale: 1, maximumDelay: 1000), retryCount: 4, delay: 81),
    Case(backoff: RetryBackoff(base: 2, scale: 1, maximumDelay: 0), retryCount: 4, delay: 0),
    Case(backoff: RetryBackoff(base: 2, scale: 1, maximumDelay: -1), retryCount: 4, delay: 0),
    Case(backoff: RetryBackoff(base: 2, scale: 0), retryCount: 100_000, delay: 0),
    Case(backoff: RetryBackoff(base: 2, scale: -1), retryCount: 2, delay: 0),
    Case(backoff: RetryBackoff(base: 2, scale: .nan), retryCount: 2, delay: 0),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .full), retryCount: 2, random: 0, delay: 0),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .full), retryCount: 2, random: 0.5, delay: 1),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .full), retryCount: 20, random: 0.5, delay: 30),
    Case(
      backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .full, maximumDelay: 20), retryCount: 9, random: 0.5, delay: 10
    ),
    Case(
      backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .full, maximumDelay: .infinity), retryCount: 100_000,
      random: 0,
      delay: 0),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 0, random: 0, delay: 0.5),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 1, random: 0.5, delay: 1),
    Case(
      backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated, maximumDelay: 3), retryCount: 9, random: 0.9,
      delay: 3),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 0, random: 0.5, delay: 1),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 2, random: 0.5, delay: 1.75),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 20, random: 0.9, delay: 60),
  ])
  func delays(example: Case) {
    #expect(example.backoff.delay(retryCount: example.retryCount, random: example.random) == example.delay)
  }

  /// The same random numbers, the same delays; many of them are spread evenly over where they may lie.
  @Test(
    arguments: [
      (Jitter.full, 0, 0...0.5), (.full, 3, 0...4), (.full, 50, 0...20), (.decorrelated, 0, 0.5...1.5),
      (.decorrelated, 3, 0.5...6), (.decorrelated, 50, 0.5...20),
    ] as [(Jitter, Int, ClosedRange<Double>)])
  func jitterIsSpreadEvenlyAndRepeatable(jitter: Jitter, retryCount: Int, range: ClosedRange<Double>) {
    let backoff = RetryBackoff(base: 2, scale: 0.5, jitter: jitter, maximumDelay: 20)
    func delays(seed: UInt64) -> [Double] {
      var generator = SeededRandom(seed: seed)
      return (0..<4000).map { _ in backoff.delay(retryCount: retryCount, random: .random(in: 0..<1, using: &generator))
      }
    }
    let some = delays(seed: 1)
    #expect(some == delays(seed: 1))
    #expect(some != delays(seed: 2))
    #expect(some.allSatisfy(range.contains))
    // What would exceed the maximum is the maximum, so that only an uncut range is even.
    guard jitter == .full || retryCount < 50 else { return }
    let width = range.upperBound - range.lowerBound
    for part in 0..<4 {
      let (low, high) = (range.lowerBound + width * Double(part) / 4, range.lowerBound + width * Double(part + 1) / 4)
      let share = Double(some.count { $0 >= low && $0 < high }) / 4000
      #expect(abs(share - 0.25) < 0.03, "\(part)")
    }
  }

  @Test(arguments: [Jitter.none, .full, .decorrelated])
  func everyDelayIsWithinItsBounds(jitter: Jitter) {
    var generator = SeededRandom(seed: 4)
    for _ in 0..<1000 {
      let backoff = RetryBackoff(
        base: .random(in: 2...10, using: &generator), scale: .random(in: 0...5, using: &generator), jitter: jitter,
        maximumDelay: .random(in: 0...100, using: &generator))
      let delay = backoff.delay(
        retryCount: .random(in: 0...2000, using: &generator), random: .random(in: 0..<1, using: &generator))
      #expect(delay >= 0 && delay <= backoff.maximumDelay)
    }
  }
}

@Suite struct RetryAfterTests {
  /// 6 November 1994, 08:49:37 UTC.
  static let now = 784_111_777.0

  @Test(
    arguments: [
      ("0", 0), ("7", 7), (" 7 ", 7), ("60", 60), ("61", 61), ("86400", 86400), ("99999999999999999999999999", 1e26),
      ("007", 7),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
      ("Sunday, 06-Nov-94 08:49:47 GMT", 10), ("Sun Nov  6 08:49:47 1994", 10),
      ("Sun, 06 Nov 1994 08:49:27 GMT", 0), ("Mon, 06 Nov 1995 08:49:37 GMT", 31_536_000),
      // What other than RFC 9110 servers send, and mean.
      ("1.5", 1.5), ("0.0", 0), ("120.000", 120), ("Sun, 06 Nov 1994 08:49:47 UTC", 10),
      ("Sun, 06 Nov 1994 08:49:47 +0000", 10), ("Sun, 06 Nov 1994 09:49:47 +0100", 10),
      ("", nil), ("-1", nil), ("1.", nil), (".5", nil), (".", nil), ("1.5.2", nil), ("1,5", nil), ("1.5s", nil),
      ("-1.5", nil), ("1e3", nil), ("soon", nil), ("٧", nil), ("1, 2", nil), ("0x10", nil),
    ] as [(String, Double?)])
  func values(value: String, delay: Double?) {
    #expect(RetryAfter.delay(value, now: Self.now) == delay)
  }

  @Test func moreDigitsThanAnyNumberHas() throws {
    let delay = try #require(RetryAfter.delay(String(repeating: "9", count: 1000), now: Self.now))
    #expect(delay >= .greatestFiniteMagnitude)
  }
}
