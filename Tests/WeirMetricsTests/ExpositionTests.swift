import Testing

@testable import WeirMetrics

@Suite struct ExpositionTests {
  let registry = Registry(seriesLimit: 2_000, ownMetrics: false, clock: WallClock { 1_700_000_000.5 })

  private func fill() throws {
    let requests = try registry.counter(
      "requests_total", help: "Requests \"quoted\".\nSecond \\ line.", labels: "route", "code")
    requests.with("/b", "200").increment()
    requests.with("/a", "500").increment(by: 12)
    requests.with("/b", "200").increment(by: 0.5)
    try registry.gauge("depth", help: "Depth.").set(-3)
    let wait = try registry.histogram("wait_seconds", help: "Wait.", buckets: [0.1, 1, 1_000_000], labels: "queue")
    for value in [0.05, 0.1, 0.5, 1, 2, 2_000_000] { wait.with("q").observe(value) }
    try registry.histogram("alone", help: "", buckets: [1]).observe(0.25, traceID: "4bf92f")
    try registry.info("app_info", help: "Build.", labels: ["version": "1.0", "kind": "\"x\"\\\n"])
    try registry.counter("odd", help: "No total.").increment()
  }

  @Test func text() throws {
    try fill()
    #expect(
      registry.text() == #"""
        # TYPE alone histogram
        alone_bucket{le="1.0"} 1
        alone_bucket{le="+Inf"} 1
        alone_sum 0.25
        alone_count 1
        # HELP app_info Build.
        # TYPE app_info gauge
        app_info{version="1.0",kind="\"x\"\\\n"} 1
        # HELP depth Depth.
        # TYPE depth gauge
        depth -3
        # HELP odd No total.
        # TYPE odd counter
        odd 1
        # HELP requests_total Requests "quoted".\nSecond \\ line.
        # TYPE requests_total counter
        requests_total{route="/a",code="500"} 12
        requests_total{route="/b",code="200"} 1.5
        # HELP wait_seconds Wait.
        # TYPE wait_seconds histogram
        wait_seconds_bucket{queue="q",le="0.1"} 2
        wait_seconds_bucket{queue="q",le="1.0"} 4
        wait_seconds_bucket{queue="q",le="1e+06"} 5
        wait_seconds_bucket{queue="q",le="+Inf"} 6
        wait_seconds_sum{queue="q"} 2000003.65
        wait_seconds_count{queue="q"} 6

        """#)
  }

  @Test func openMetrics() throws {
    try fill()
    #expect(
      registry.text(Exposition(.openMetrics, created: true)) == #"""
        # TYPE alone histogram
        alone_bucket{le="1.0"} 1 # {trace_id="4bf92f"} 0.25 1700000000.5
        alone_bucket{le="+Inf"} 1
        alone_sum 0.25
        alone_count 1
        alone_created 1700000000.5
        # TYPE app info
        # HELP app Build.
        app_info{version="1.0",kind="\"x\"\\\n"} 1
        # TYPE depth gauge
        # HELP depth Depth.
        depth -3
        # TYPE odd unknown
        # HELP odd No total.
        odd 1
        # TYPE requests counter
        # HELP requests Requests \"quoted\".\nSecond \\ line.
        requests_total{route="/a",code="500"} 12
        requests_created{route="/a",code="500"} 1700000000.5
        requests_total{route="/b",code="200"} 1.5
        requests_created{route="/b",code="200"} 1700000000.5
        # TYPE wait_seconds histogram
        # HELP wait_seconds Wait.
        wait_seconds_bucket{queue="q",le="0.1"} 2
        wait_seconds_bucket{queue="q",le="1.0"} 4
        wait_seconds_bucket{queue="q",le="1e+06"} 5
        wait_seconds_bucket{queue="q",le="+Inf"} 6
        wait_seconds_sum{queue="q"} 2000003.65
        wait_seconds_count{queue="q"} 6
        wait_seconds_created{queue="q"} 1700000000.5
        # EOF

        """#)
    #expect(!registry.text(Exposition(.openMetrics)).contains("_created"))
  }

  /// With a bound below zero the sum is no counter, and OpenMetrics then allows neither it nor the count.
  @Test func negativeBounds() throws {
    try registry.histogram("t", help: "", buckets: [-1, 1]).observe(-3)
    #expect(
      registry.text(Exposition(.openMetrics)) == """
        # TYPE t histogram
        t_bucket{le="-1.0"} 1
        t_bucket{le="1.0"} 1
        t_bucket{le="+Inf"} 1
        # EOF

        """)
    #expect(registry.text().hasSuffix("t_sum -3\nt_count 1\n"))
  }

  @Test func emptyPages() throws {
    _ = try registry.counter("a_total", help: "", labels: "x")
    #expect(registry.text() == "")
    #expect(registry.text(Exposition(.openMetrics)) == "# EOF\n")
  }

  @Test(arguments: [
    ["depth"], ["requests_total"], ["requests"], ["wait_seconds_bucket"], ["wait_seconds"], ["app"], ["nothing"], [],
    ["depth", "odd"],
  ])
  func filter(names: Set<String>) throws {
    try fill()
    let lines = registry.text(Exposition(only: names)).split(separator: "\n")
    let shown = Set(lines.filter { $0.hasPrefix("# TYPE") }.map { String($0.split(separator: " ")[2]) })
    let expected: [String: Set<String>] = [
      "requests": ["requests_total"], "wait_seconds_bucket": ["wait_seconds"], "app": ["app_info"], "nothing": [],
    ]
    #expect(shown == names.reduce(into: []) { $0.formUnion(expected[$1] ?? [$1]) })
  }

  @Test func newSeriesTakeTheirPlace() throws {
    let family = try registry.gauge("g", help: "", labels: "x")
    var values: [String] = []
    for batch in [["m", "c", "x"], ["a"], ["z", "y"], ["n", "b", "0"]] {
      for value in batch { family.with(value).set(1) }
      values = (values + batch).sorted()
      #expect(registry.text() == "# TYPE g gauge\n" + values.map { "g{x=\"\($0)\"} 1\n" }.joined())
    }
  }

  @Test func exemplars() throws {
    let histogram = try registry.histogram("h", help: "", buckets: [1, 2])
    histogram.observe(0.5, exemplar: ["a": "1"])
    histogram.observe(0.75, exemplar: ["a": "\\\n", "b": "3"])
    histogram.observe(1.5, exemplar: ["not valid": "1"])
    for trap in ["\"", "{", "}", "a\u{0}"] { histogram.observe(1.5, exemplar: ["trap": trap]) }
    histogram.observe(1.5, exemplar: ["a": String(repeating: "é", count: 128)])
    histogram.observe(1.5, exemplar: ["a": "1", "a": "2"])
    histogram.observe(3, exemplar: ["a": String(repeating: "é", count: 127)])
    #expect(
      registry.text(Exposition(.openMetrics)) == """
        # TYPE h histogram
        h_bucket{le="1.0"} 2 # {a="\\\\\\n",b="3"} 0.75 1700000000.5
        h_bucket{le="2.0"} 9
        h_bucket{le="+Inf"} 10 # {a="\(String(repeating: "é", count: 127))"} 3 1700000000.5
        h_sum 14.75
        h_count 10
        # EOF

        """)
  }

  @Test func pagesGrowAndAreReused() throws {
    let family = try registry.counter("a_total", help: "", labels: "x")
    for value in 0..<1_000 { family.with(String(repeating: "v", count: value)).increment() }
    var page = ExpositionPage()
    registry.write(to: &page)
    let first = page.withBytes { Array($0) }
    #expect(first.count > 500_000)
    page.removeAll()
    registry.write(to: &page)
    #expect(page.withBytes { Array($0) } == first)
    registry.write(to: &page)
    #expect(page.withBytes { Array($0) } == first + first)
  }

  @Test func ownMetrics() throws {
    let registry = Registry()
    _ = try registry.counter("a_total", help: "", labels: "x").with("1")
    _ = try registry.gauge("g", help: "")
    try registry.info("app_info", help: "", labels: [:])
    let page = registry.text(Exposition(only: ["weir_metrics_series", "weir_metrics_series_folded_total"]))
    let samples = page.split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(
      samples == [
        "weir_metrics_series{metric=\"a_total\"} 1", "weir_metrics_series{metric=\"app_info\"} 1",
        "weir_metrics_series{metric=\"g\"} 1", "weir_metrics_series_folded_total{metric=\"a_total\"} 0",
      ])
  }
}
