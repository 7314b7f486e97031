import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// The clock of a test: seconds since a ledger's birth.
func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64(seconds * 1e9)) }

@Suite("Retry budget") struct RetryBudgetTests {
  private func ledger(requests: Int = 0, at seconds: Double = 0) -> RetryLedger {
    var ledger = RetryLedger(at: at(0))
    for _ in 0..<requests { ledger.started(at: at(seconds)) }
    return ledger
  }

  private func granted(
    _ ledger: inout RetryLedger, _ budget: RetryBudget?, at seconds: Double, asking: Int = 10_000
  )
    -> Int
  {
    (0..<asking).count { _ in ledger.grant(by: budget, at: at(seconds)) }
  }

  @Test func theDefaults() {
    #expect(RetryBudget() == RetryBudget(ratio: 0.2, minimumPerSecond: 1, burst: 10, window: 10))
  }

  struct Case: CustomTestStringConvertible {
    let budget: RetryBudget
    let requests: Int
    let seconds: Double
    let expected: Int

    init(_ budget: RetryBudget, requests: Int, at seconds: Double, grants expected: Int) {
      self.budget = budget
      self.requests = requests
      self.seconds = seconds
      self.expected = expected
    }

    var testDescription: String { "\(budget) after \(requests) requests at \(seconds) s" }
  }

  @Test(arguments: [
    // New: the share, the floor and the burst.
    Case(RetryBudget(), requests: 0, at: 0, grants: 20),
    Case(RetryBudget(), requests: 100, at: 0, grants: 40),
    Case(RetryBudget(), requests: 104, at: 5, grants: 40),
    Case(RetryBudget(), requests: 105, at: 5, grants: 41),
    // One window old: no burst, and the requests of the first quarter of a second are not in it.
    Case(RetryBudget(), requests: 0, at: 10, grants: 10),
    Case(RetryBudget(), requests: 100, at: 9.9, grants: 40),
    Case(RetryBudget(), requests: 100, at: 10.25, grants: 10),
    Case(RetryBudget(ratio: 1, minimumPerSecond: 0, burst: 0), requests: 7, at: 1, grants: 7),
    Case(RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 0), requests: 7, at: 1, grants: 0),
    Case(RetryBudget(ratio: 0, minimumPerSecond: 0.3, burst: 0, window: 5), requests: 7, at: 1, grants: 1),
    Case(RetryBudget(ratio: 0, minimumPerSecond: 1, burst: 0, window: 60), requests: 7, at: 100, grants: 60),
    // Numbers that mean nothing.
    Case(RetryBudget(ratio: -1, minimumPerSecond: -1, burst: -1, window: -1), requests: 7, at: 0, grants: 0),
    Case(RetryBudget(ratio: .nan, minimumPerSecond: .nan, burst: .nan, window: .nan), requests: 7, at: 0, grants: 0),
    Case(RetryBudget(ratio: 0, minimumPerSecond: 1, burst: 0, window: 0), requests: 7, at: 0, grants: 1),
    Case(RetryBudget(ratio: 0, minimumPerSecond: 1, burst: 0, window: .infinity), requests: 7, at: 0, grants: 60),
    Case(
      RetryBudget(ratio: .infinity, minimumPerSecond: 0, burst: 0, window: 10), requests: 0, at: 0, grants: 0),
    Case(
      RetryBudget(ratio: 0, minimumPerSecond: .infinity, burst: 0, window: 10), requests: 0, at: 0, grants: 10_000),
  ])
  func aBudgetGrants(_ example: Case) {
    var ledger = ledger(requests: example.requests)
    #expect(granted(&ledger, example.budget, at: example.seconds) == example.expected)
    #expect(granted(&ledger, example.budget, at: example.seconds, asking: 1) == (example.expected == 10_000 ? 1 : 0))
  }

  @Test func whatIsLeftIsWhatIsGranted() {
    var ledger = ledger(requests: 51)
    #expect(abs(ledger.available(of: RetryBudget(), at: at(1)) - 30.2) < 1e-9)
    #expect(granted(&ledger, RetryBudget(), at: 1) == 30)
    #expect(abs(ledger.available(of: RetryBudget(), at: at(1)) - 0.2) < 1e-9)
    #expect(ledger.available(of: RetryBudget(), at: at(11)) == 0, "no burst any more, and thirty in the window")
    #expect(ledger.available(of: RetryBudget(), at: at(11.5)) == 10)
  }

  @Test func withoutABudgetAllAreGrantedAndCountForOthers() {
    var ledger = ledger()
    #expect(granted(&ledger, nil, at: 0, asking: 15) == 15)
    #expect(granted(&ledger, RetryBudget(), at: 0) == 5)
    #expect(ledger.available(of: RetryBudget(minimumPerSecond: 0), at: at(0)) == 0, "not less than nothing")
  }

  @Test func whoRetriesForSomebodyElseEarnsNothing() {
    var ledger = ledger()
    for _ in 0..<100 { ledger.started(at: at(0), earnsRetryBudget: false) }
    #expect(granted(&ledger, RetryBudget(), at: 0) == 20)
  }

  @Test func whatWasGrantedComesBackAWindowLater() {
    var ledger = ledger()
    #expect(granted(&ledger, RetryBudget(), at: 10) == 10)
    #expect(granted(&ledger, RetryBudget(), at: 19.99) == 0)
    #expect(granted(&ledger, RetryBudget(), at: 20.24) == 0, "its quarter of a second is not over a window ago")
    #expect(granted(&ledger, RetryBudget(), at: 20.25) == 10)
  }

  @Test func aBudgetOfAnotherWindowLooksAtTheSameCounts() {
    var ledger = ledger(requests: 100)
    #expect(granted(&ledger, RetryBudget(ratio: 0.1, minimumPerSecond: 0, burst: 0, window: 10), at: 5) == 10)
    let long = RetryBudget(ratio: 0.2, minimumPerSecond: 0, burst: 0, window: 60)
    #expect(granted(&ledger, long, at: 30) == 10, "ten of the twenty have been granted")
    #expect(granted(&ledger, RetryBudget(ratio: 1, minimumPerSecond: 0, burst: 0, window: 10), at: 35) == 0)
  }

  /// Threads read the clock before they get the lock.
  @Test func timeThatGoesBackALittleChangesNothing() {
    var ledger = RetryLedger(at: at(0))
    ledger.started(at: at(9.9))
    #expect(granted(&ledger, RetryBudget(), at: 10.1) == 10)
    ledger.started(at: at(9.9))
    #expect(granted(&ledger, RetryBudget(), at: 9.9) <= 10)
    #expect(granted(&ledger, RetryBudget(), at: 20) == 0)
  }

  @Test func aLongSilenceForgetsAll() {
    for silence in [61.0, 64.25, 128.0, 1e6] {
      var ledger = ledger(requests: 1_000)
      _ = granted(&ledger, RetryBudget(), at: 1)
      #expect(granted(&ledger, RetryBudget(window: 60), at: 1 + silence) == 60, "\(silence)")
      #expect(ledger.isQuiet(for: 1, at: at(2_000_000)))
    }
  }

  // MARK: Simulation

  private struct Storm {
    let budget: RetryBudget
    var ledger = RetryLedger(at: at(0))
    var now = 0.0
    var starts: [Double] = []
    var grants: [Double] = []
    var random: SeededRandom

    init(seed: UInt64) {
      random = SeededRandom(seed: seed)
      budget = RetryBudget(
        ratio: [0, 0.05, 0.2, 0.5, 1].randomElement(using: &random) ?? 0.2,
        minimumPerSecond: [0, 0.5, 1, 4].randomElement(using: &random) ?? 1,
        burst: [0, 1, 10, 50].randomElement(using: &random) ?? 10,
        window: [1, 1.1, 2.5, 9.99, 10, 30].randomElement(using: &random) ?? 10)
    }

    func count(_ times: [Double]) -> Int { times.reversed().prefix { $0 >= now - budget.window }.count }

    /// What the contract allows in the window that ends now.
    var bound: Double {
      budget.ratio * Double(count(starts)) + budget.minimumPerSecond * budget.window
        + (now < budget.window ? budget.burst : 0)
    }

    mutating func start() {
      ledger.started(at: at(now))
      starts.append(now)
    }

    mutating func ask() -> Bool {
      guard ledger.grant(by: budget, at: at(now)) else { return false }
      grants.append(now)
      return true
    }
  }

  /// Requests come in bursts and pauses, fail mostly, and each failure asks for retries without end.
  @Test(arguments: 0..<10) func noWindowHoldsMoreRetriesThanItMay(part: UInt64) {
    for seed in part * 100..<part * 100 + 100 {
      var storm = Storm(seed: seed)
      var isBusy = true
      for _ in 0..<200 {
        if Int.random(in: 0..<40, using: &storm.random) == 0 { isBusy.toggle() }
        storm.now += Double.random(in: 0...(isBusy ? 0.02 : 2), using: &storm.random)
        storm.start()
        for _ in 0..<Int.random(in: 0...3, using: &storm.random) where storm.ask() {
          guard Double(storm.count(storm.grants)) > storm.bound + 1e-6 else { continue }
          Issue.record("seed \(seed): \(storm.count(storm.grants)) retries at \(storm.now), \(storm.bound) allowed")
          return
        }
      }
    }
  }

  /// However many retries were granted before, a window later there is room again for at least the floor.
  @Test func theFloorIsNeverLost() {
    for seed in 0..<1_000 as Range<UInt64> {
      var storm = Storm(seed: seed)
      for _ in 0..<50 {
        storm.now += Double.random(in: 0...0.1, using: &storm.random)
        storm.start()
        while storm.ask() {}
      }
      storm.now += storm.budget.window + 0.5
      let floor = Int(storm.budget.minimumPerSecond * storm.budget.window)
      let granted = (0..<floor).count { _ in storm.ask() }
      #expect(granted == floor, "seed \(seed)")
    }
  }
}
