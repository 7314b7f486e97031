import Testing
import WeirMetrics

@Suite struct GaugeTests {
  let registry = Registry(ownMetrics: false)

  @Test func goesUpAndDown() throws {
    let gauge = try registry.gauge("depth", help: "")
    gauge.set(5)
    gauge.increment()
    gauge.increment(by: 0.5)
    gauge.decrement(by: 10)
    gauge.decrement()
    #expect(gauge.value == -4.5)
  }

  @Test(arguments: [(Double.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (-0.5, "-0.5"), (-12, "-12")])
  func showsAnyValue(value: Double, text: String) throws {
    try registry.gauge("depth", help: "").set(value)
    #expect(registry.text() == "# TYPE depth gauge\ndepth \(text)\n")
  }
}
