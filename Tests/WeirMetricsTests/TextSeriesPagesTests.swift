import Testing

@testable import WeirMetrics

/// Series with labels as text on pages of each format, and for readers.
@Suite struct TextSeriesPagesTests {
  private let registry = Registry(
    seriesLimit: 100, ownMetrics: false, nativeHistograms: .named(["h"]), clock: WallClock { 1_700_000_000.25 })

  @Test func openMetrics() throws {
    try registry.counter("a_total", help: "", labels: ["x": "\"", "a": "1"]).increment()
    try registry.counter("a_total", help: "", labels: [:]).increment()
    try registry.histogram("h", help: "", buckets: [1], labels: ["x": "1"]).observe(0.5, traceID: "t")
    #expect(
      registry.text(Exposition(.openMetrics, created: true)) == """
        # TYPE a counter
        a_total 1
        a_created 1700000000.25
        a_total{a="1",x="\\""} 1
        a_created{a="1",x="\\""} 1700000000.25
        # TYPE h histogram
        h_bucket{x="1",le="1.0"} 1 # {trace_id="t"} 0.5 1700000000.25
        h_bucket{x="1",le="+Inf"} 1
        h_sum{x="1"} 0.5
        h_count{x="1"} 1
        h_created{x="1"} 1700000000.25
        # EOF

        """)
  }

  /// The page is that of families with the same labels, whose series come in the same order.
  @Test func protobuf() throws {
    let typed = Registry(
      seriesLimit: 100, ownMetrics: false, nativeHistograms: .all, clock: WallClock { 1_700_000_000.25 })
    let long = String(repeating: "v", count: 300)
    for value in ["1", "\"\\\n", long] {
      try registry.counter("a_total", help: "", labels: ["bc": "2", "a": value]).increment()
      try typed.counter("a_total", help: "", labels: "a", "bc").with(value, "2").increment()
      try registry.histogram("h", help: "", buckets: [1], labels: ["x": value]).observe(0.5)
      try typed.histogram("h", help: "", buckets: [1], labels: "x").with(value).observe(0.5)
    }
    let page = protobuf(of: registry)
    #expect(page.count > 600)
    #expect(page == protobuf(of: typed))
  }

  /// Each message has the labels of its series and no others.
  @Test func protobufOfDifferentNames() throws {
    for labels in [[:], ["a": "1"], ["b": "2", "a": "1"]] {
      try registry.gauge("g", help: "", labels: labels).set(1)
    }
    let a: [UInt8] = [0x0A, 0x06, 0x0A, 0x01, 0x61, 0x12, 0x01, 0x31]
    let b: [UInt8] = [0x0A, 0x06, 0x0A, 0x01, 0x62, 0x12, 0x01, 0x32]
    let one: [UInt8] = [0x12, 0x09, 0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]
    let metrics = [one, a + one, a + b + one].flatMap { [0x22, UInt8($0.count)] + $0 } as [UInt8]
    let family: [UInt8] = [0x0A, 0x01, 0x67, 0x18, 0x01] + metrics
    #expect(protobuf(of: registry) == [UInt8(family.count)] + family)
  }

  @Test func readers() throws {
    try registry.counter("a_total", help: "", labels: ["x": "1\n"]).increment()
    #expect(registry.series(of: "a_total").map(\.labelValues) == [["x": "1\n"]])
    #expect(registry.metrics.map(\.name) == ["a_total"])
    #expect(registry.isRegistered("a_created"))
    var names: [String] = []
    registry.forEachMetric { metric, _ in names.append(metric.name) }
    #expect(names == ["a_total"])
    #expect(registry.text(Exposition(only: ["b"])).isEmpty)
  }

  private func protobuf(of registry: Registry) -> [UInt8] {
    var page = ExpositionPage()
    registry.write(Exposition(.protobuf), to: &page)
    return page.withBytes { Array($0) }
  }
}
