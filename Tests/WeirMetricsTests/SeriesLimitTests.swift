import Testing

@testable import WeirMetrics

@Suite struct SeriesLimitTests {
  let registry = Registry(seriesLimit: 3)

  @Test func foldsCountersAndHistograms() throws {
    let counter = try registry.counter("a_total", help: "", labels: "x", "y")
    let histogram = try registry.histogram("b", help: "", buckets: [1], labels: "x")
    for value in 0..<10 {
      counter.with("\(value)", "z").increment()
      histogram.with("\(value)").observe(0.5)
    }
    counter.with("1", "z").increment()
    let page = registry.text(
      Exposition(only: ["a_total", "b_count", "weir_metrics_series_folded_total", "weir_metrics_series"]))
    #expect(
      page == """
        # TYPE a_total counter
        a_total{x="0",y="z"} 1
        a_total{x="1",y="z"} 2
        a_total{x="2",y="z"} 1
        a_total{x="_other",y="_other"} 7
        # TYPE b histogram
        b_bucket{x="0",le="1.0"} 1
        b_bucket{x="0",le="+Inf"} 1
        b_sum{x="0"} 0.5
        b_count{x="0"} 1
        b_bucket{x="1",le="1.0"} 1
        b_bucket{x="1",le="+Inf"} 1
        b_sum{x="1"} 0.5
        b_count{x="1"} 1
        b_bucket{x="2",le="1.0"} 1
        b_bucket{x="2",le="+Inf"} 1
        b_sum{x="2"} 0.5
        b_count{x="2"} 1
        b_bucket{x="_other",le="1.0"} 7
        b_bucket{x="_other",le="+Inf"} 7
        b_sum{x="_other"} 3.5
        b_count{x="_other"} 7
        # HELP weir_metrics_series Series per metric.
        # TYPE weir_metrics_series gauge
        weir_metrics_series{metric="a_total"} 4
        weir_metrics_series{metric="b"} 4
        # HELP weir_metrics_series_folded_total Lookups of label sets beyond the metric's limit: folded into _other, or dropped if it is a gauge.
        # TYPE weir_metrics_series_folded_total counter
        weir_metrics_series_folded_total{metric="a_total"} 7
        weir_metrics_series_folded_total{metric="b"} 7

        """)
  }

  @Test func dropsGauges() throws {
    let gauge = try registry.gauge("g", help: "", labels: "x")
    for value in 0..<10 { gauge.with("\(value)").set(value + 1) }
    let page = registry.text()
    #expect(page.contains("g{x=\"2\"} 3\n"))
    #expect(!page.contains("_other\""))
    #expect(page.contains("weir_metrics_series{metric=\"g\"} 3\n"))
    #expect(page.contains("weir_metrics_series_folded_total{metric=\"g\"} 7\n"))
  }

  @Test func aFamilysOwnLimitCountsFirst() throws {
    let counter = try registry.counter("a_total", help: "", seriesLimit: 1, labels: "x")
    counter.with("a").increment()
    counter.with("b").increment()
    #expect(counter.with("c").series.labels == "x=\"_other\"")
  }

  @Test func oddLimitsAreOne() throws {
    let counter = try registry.counter("a_total", help: "", seriesLimit: .min, labels: "x")
    #expect(counter.with("a").series.labels == "x=\"a\"")
    #expect(counter.with("b").series.labels == "x=\"_other\"")
  }

  /// The series that a destination folded by somebody else asks for is the registry's own.
  @Test func otherAskedForByNameIsTheSameSeries() throws {
    let counter = try registry.counter("a_total", help: "", labels: "x")
    counter.with("_other").increment()
    for value in 0..<5 { counter.with("\(value)").increment() }
    #expect(counter.with("_other").value == 4)
    #expect(counter.store.seriesCount == 3)
  }

  @Test func longValuesStillFindTheirSeriesInAFullFamily() throws {
    let counter = try registry.counter("a_total", help: "", labels: "x")
    let long = String(repeating: "l", count: 5000)
    for value in [long, "a", "b", "c", "d"] { counter.with(value).increment() }
    counter.with(long + "l").increment()
    #expect(counter.with(long).value == 2)
  }
}
