import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

@Suite struct RateLimiterTests {
  private static func at(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000).advanced(bySeconds: seconds)
  }

  /// A client that is a number.
  private struct Client: LimitedRequest {
    var limitedAddress: IPAddress?
    var user: [UInt8]? { nil }

    init(_ number: Int) {
      limitedAddress = .v6(high: UInt64(bitPattern: Int64(number)), low: 0)
    }

    func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void) {}

    var fingerprint: UInt64 { LimitKey.standard.fingerprint(self) }
  }

  @Test func keysHaveBucketsOfTheirOwn() {
    let limiter = RateLimiter(RateLimit("r", RequestRate(1), burst: 2))
    // Spread evenly: those of clients change with each run, and once in many runs too many want the same places.
    let keys = (0..<1000).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 }
    for turn in 0..<3 {
      for key in keys { #expect((limiter.take(key, at: Self.at(0)) == nil) == (turn < 2)) }
    }
    limiter.giveBack(keys[7])
    #expect(limiter.take(keys[7], at: Self.at(0)) == nil)
    #expect(limiter.take(keys[8], at: Self.at(0)) == 1)
  }

  @Test func aLimitWithoutKeysCostsLittle() {
    #expect(RateLimiter(RateLimit("r", RequestRate(1))).bytes == 0)
    let ofRoute = RateLimiter(RateLimit("r", RequestRate(1), key: .route))
    _ = ofRoute.take(1, at: Self.at(0))
    #expect(ofRoute.bytes <= 512)
    let limiter = RateLimiter(RateLimit("r", RequestRate(1)))
    for key in 0..<100 { _ = limiter.take(Client(key).fingerprint, at: Self.at(0)) }
    #expect(limiter.bytes <= 64 << 10)
  }

  @Test func remembers65536Keys() {
    let limiter = RateLimiter(RateLimit("r", RequestRate(1, per: 3600), burst: 1))
    let keys = (0..<65_536).map { Client($0).fingerprint }
    for key in keys { _ = limiter.take(key, at: Self.at(0)) }
    let forgotten = keys.count { limiter.take($0, at: Self.at(1)) == nil }
    // Those whose eight places were all taken.
    #expect(forgotten < 65_536 / 20)
    #expect(limiter.bytes <= 65_536 * 65)
  }

  /// Many keys come and go, while some exceed their rate.
  @Test func keysInDebtAreNotForgottenFirst() {
    let limiter = RateLimiter(RateLimit("r", RequestRate(1), burst: 5))
    let greedy = (0..<100).map { Client(-1 - $0).fingerprint }
    var admitted = 0
    let turns = 600
    for turn in 0..<turns {
      let now = Self.at(Double(turn) * 0.1)
      for key in greedy where limiter.take(key, at: now) == nil { admitted += 1 }
      for number in 0..<1_000_000 / turns {
        let isAdmitted = limiter.take(Client(turn * 10_000 + number).fingerprint, at: now) == nil
        if !isAdmitted { Issue.record("a client's first request was refused") }
      }
    }
    #expect(limiter.bytes <= 8 << 20)
    // Each has its burst, and one token per second.
    #expect(admitted <= 100 * (5 + 60))
    #expect(admitted >= 100 * (5 + 59))
  }

  @Test func allWorkersShareABucket() {
    let limiter = RateLimiter(RateLimit("r", RequestRate(1, per: 3600), burst: 1000))
    let keys = (0..<4).map { Client($0).fingerprint }
    let admitted = Mutex([0, 0, 0, 0])
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for turn in 0..<4000 where limiter.take(keys[turn % 4], at: Self.at(0)) == nil {
        admitted.withLock { $0[turn % 4] += 1 }
      }
    }
    #expect(admitted.withLock { $0 } == [1000, 1000, 1000, 1000])
  }

  @Test func anotherRateKeepsTheKeys() {
    let limiter = RateLimiter(RateLimit("r", RequestRate(5, per: 3600), burst: 5))
    let key = Client(1).fingerprint
    for _ in 0..<5 { _ = limiter.take(key, at: Self.at(0)) }
    limiter.change(to: RateLimit("r", RequestRate(100), burst: 100), at: Self.at(0))
    let admitted = (0..<200).count { _ in limiter.take(key, at: Self.at(0)) == nil }
    #expect(admitted == 95)
  }

  @Test func permitsAreGivenBackOnce() {
    let limiter = ConcurrencyLimiter()
    #expect(limiter.enter(1, limit: 2, mayExceed: false))
    var permits: ConcurrencyPermits? = ConcurrencyPermits()
    #expect(limiter.enter(1, limit: 2, mayExceed: false))
    permits?.add(limiter, 1)
    #expect(!limiter.enter(1, limit: 2, mayExceed: false))
    #expect(limiter.enter(2, limit: 2, mayExceed: false))
    permits?.release()
    permits = nil
    #expect(limiter.enter(1, limit: 2, mayExceed: false))
    #expect(!limiter.enter(1, limit: 2, mayExceed: true))
    for _ in 0..<3 { limiter.leave(1) }
    #expect(limiter.keyCount == 1)
    limiter.leave(2)
    limiter.leave(2)
    #expect(limiter.keyCount == 0)
    permits = ConcurrencyPermits()
    _ = limiter.enter(1, limit: 1, mayExceed: false)
    permits?.add(limiter, 1)
    permits = nil
    #expect(limiter.keyCount == 0)
  }
}
