import Testing
import WeirMetrics

@Suite struct CounterTests {
  let registry = Registry()

  @Test func addsWholeAndOtherAmounts() throws {
    let counter = try registry.counter("jobs_total", help: "")
    counter.increment()
    counter.increment(by: 41)
    #expect(counter.value == 42)
    counter.increment(by: 0.25)
    counter.increment(by: 2.0)
    #expect(counter.value == 44.25)
    counter.increment(by: 1e300)
    #expect(counter.value == 1e300)
  }

  @Test(arguments: [-1, -0.5, .nan, .infinity, -.infinity])
  func ignoresAndCountsWhatIsNoAmount(amount: Double) throws {
    let counter = try registry.counter("jobs_total", help: "")
    counter.increment(by: amount)
    counter.increment(by: -3)
    counter.increment(by: Int.min)
    #expect(counter.value == 0)
    #expect(registry.text().contains("weir_metrics_invalid_updates_total{metric=\"jobs_total\"} 3\n"))
  }

  @Test func staysExactBeyondTheIntegersOfADouble() throws {
    let counter = try registry.counter("bytes_total", help: "")
    counter.increment(by: 1 << 53)
    counter.increment()
    #expect(registry.text().contains("bytes_total 9007199254740993\n"))
  }
}
