import Testing

@testable import WeirMetrics

@Suite struct ExpositionTests {
  let registry = Registry(
    seriesLimit: 2_000, ownMetrics: false, clock: WallClock { 1_700_000_000.5 })

  @Test func counterWithLabels() throws {
    let requests = try registry.counter("requests_total", help: "Requests.", labels: "route", "code")
    requests.with("/b", "200").increment()
    requests.with("/a", "500").increment(by: 12)
    requests.with("/b", "200").increment(by: 0.5)
    #expect(
      registry.text() == """
        # HELP requests_total Requests.
        # TYPE requests_total counter
        requests_total{route="/a",code="500"} 12
        requests_total{route="/b",code="200"} 1.5

        """)
  }

  @Test func histogramWithoutLabels() throws {
    let seconds = try registry.histogram("wait_seconds", help: "Wait.", buckets: [0.1, 1, 1_000_000])
    for value in [0.05, 0.1, 0.5, 1, 2, 2_000_000] { seconds.observe(value) }
    #expect(
      registry.text() == """
        # HELP wait_seconds Wait.
        # TYPE wait_seconds histogram
        wait_seconds_bucket{le="0.1"} 2
        wait_seconds_bucket{le="1.0"} 4
        wait_seconds_bucket{le="1e+06"} 5
        wait_seconds_bucket{le="+Inf"} 6
        wait_seconds_sum 2000003.65
        wait_seconds_count 6

        """)
  }
}
