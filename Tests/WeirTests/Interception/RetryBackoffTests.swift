import Foundation
import Testing

@testable import Weir

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
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 0, random: 0, delay: 0.5),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 0, random: 0.5, delay: 1),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 2, random: 0.5, delay: 1.75),
    Case(backoff: RetryBackoff(base: 2, scale: 0.5, jitter: .decorrelated), retryCount: 20, random: 0.9, delay: 60),
  ])
  func delays(example: Case) {
    #expect(example.backoff.delay(retryCount: example.retryCount, random: example.random) == example.delay)
  }

  @Test(arguments: [Jitter.none, .full, .decorrelated])
  func everyDelayIsWithinItsBounds(jitter: Jitter) {
    var generator = SplitMix(state: 4)
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
  static let now = Date(timeIntervalSince1970: 784_111_777)

  @Test(
    arguments: [
      ("0", 0), ("7", 7), (" 7 ", 7), ("60", 60), ("61", 60), ("99999999999999999999999999", 60), ("007", 7),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
      ("Sunday, 06-Nov-94 08:49:47 GMT", 10), ("Sun Nov  6 08:49:47 1994", 10),
      ("Sun, 06 Nov 1994 08:49:27 GMT", 0), ("Sun, 06 Nov 1995 08:49:37 GMT", 60),
      ("", nil), ("-1", nil), ("1.5", nil), ("1e3", nil), ("soon", nil), ("٧", nil), ("1, 2", nil), ("0x10", nil),
    ] as [(String, Double?)])
  func values(value: String, delay: Double?) {
    #expect(RetryAfter.delay(value, now: Self.now) == delay)
  }
}
