import Testing

@testable import WeirMetrics

/// Series whose labels are given as text.
@Suite struct TextSeriesTests {
  let registry = Registry(ownMetrics: false)

  private func counter(_ labels: [String: String]) throws -> Counter {
    try registry.counter("a_total", help: "A.", labels: labels)
  }

  /// Labels in another order than others have given them.
  private func reversed(_ labels: [String: String]) -> [String: String] {
    var reversed = [String: String](minimumCapacity: 100)
    for (name, value) in labels.sorted(by: { $0.key > $1.key }) { reversed[name] = value }
    return reversed
  }

  @Test func theSameLabelsAreTheSameSeries() throws {
    let labels = ["route": "/", "code": "200", "method": "GET", "upstream_name": "orders.example.com:8080"]
    try counter(labels).increment()
    for _ in 0..<3 { try counter(reversed(labels)).increment() }
    #expect(try counter(labels).series === counter(reversed(labels)).series)
    for other in [["route": "200", "code": "/"], ["route": "/"], [:], ["route": "/", "code": "200", "x": "1"]] {
      #expect(try counter(other).series !== counter(labels).series)
    }
    #expect(try counter(labels).value == 4)
  }

  /// An absent label is not shown; an empty one is the same as an absent one.
  @Test func namesDifferBetweenSeries() throws {
    try counter([:]).increment()
    try counter(["b": "1", "a": "2"]).increment(by: 2)
    try counter(["c": "3", "a": ""]).increment(by: 3)
    try counter(["c": "3"]).increment(by: 3)
    try counter(["c": "", "d": ""]).increment()
    #expect(
      registry.text() == """
        # HELP a_total A.
        # TYPE a_total counter
        a_total 2
        a_total{a="2",b="1"} 2
        a_total{c="3"} 6

        """)
  }

  @Test func gaugesAndHistograms() throws {
    try registry.gauge("g", help: "", labels: ["x": "1"]).set(5)
    try registry.gauge("g", help: "", labels: ["x": "1"]).increment()
    try registry.histogram("h", help: "", buckets: [1], labels: ["x": "1"]).observe(0.5)
    try registry.histogram("h", help: "", buckets: [1, .infinity], labels: [:]).observe(2)
    #expect(
      registry.text() == """
        # TYPE g gauge
        g{x="1"} 6
        # TYPE h histogram
        h_bucket{le="1.0"} 0
        h_bucket{le="+Inf"} 1
        h_sum 2
        h_count 1
        h_bucket{x="1",le="1.0"} 1
        h_bucket{x="1",le="+Inf"} 1
        h_sum{x="1"} 0.5
        h_count{x="1"} 1

        """)
  }

  /// Every length up to where strings are cut, as short ones are compared in another way than long ones.
  @Test func valuesOfAllLengths() throws {
    let registry = Registry(seriesLimit: 10_000, ownMetrics: false)
    for length in 1..<70 {
      for letter in ["a", "b", "\"", "\n", "é"] {
        let value = String(repeating: letter, count: length)
        // A string that was longer has another form than one that never was.
        var shrunk = value + String(repeating: "x", count: 40)
        shrunk.removeLast(40)
        for value in [value, shrunk, String(decoding: Array(value.utf8), as: UTF8.self)] {
          try registry.counter("a_total", help: "", labels: ["x": value, "n" + String(length): "\(length)"]).increment()
        }
      }
    }
    let series = registry.series(of: "a_total")
    #expect(series.count == 69 * 5)
    #expect(series.allSatisfy { Counter($0).value == 3 })
  }

  @Test func longValuesAreCutAndOddOnesEscaped() throws {
    let long = String(repeating: "x", count: 5_000)
    try counter(["x": long]).increment()
    try counter(["x": long + "y"]).increment()
    #expect(try counter(["x": String(repeating: "x", count: 4_096)]).value == 2)
    let odd = ["\",y=\"", "\\", "\n", "\0", "}", "{", "é", "e\u{301}", " "]
    for (index, value) in odd.enumerated() { try counter(["x": value, "y": "z"]).increment(by: index + 1) }
    for (index, value) in odd.enumerated() {
      #expect(try counter(["y": "z", "x": value]).value == Double(index + 1))
      #expect(try counter(["y": "z", "x": value]).series.labelValues == ["y": "z", "x": value])
    }
  }

  @Test(arguments: ["", "1a", "a-b", "a:b", "é", "x=\"y\"", "http.method"])
  func labelsThatAreNotValid(label: String) throws {
    #expect(throws: RegistryError.invalidLabel(metric: "a_total", label: label)) {
      try counter([label: "1", "x": "2"])
    }
    #expect(registry.metrics.isEmpty)
    #expect(throws: RegistryError.invalidLabel(metric: "a_total", label: label)) { try counter([label: ""]) }
    try counter(["x": "2"]).increment()
    #expect(throws: RegistryError.invalidLabel(metric: "a_total", label: label)) {
      try counter([label: "1", "x": "2"])
    }
  }

  @Test(arguments: ["le", "__name__", "__"])
  func labelsThatAreReserved(label: String) {
    #expect(throws: RegistryError.reservedLabel(metric: "a_total", label: label)) { try counter([label: "1"]) }
  }

  @Test func conflicts() throws {
    let registry = Registry()
    _ = try registry.histogram("a", help: "h", buckets: [1], labels: ["x": "1"])
    #expect(throws: RegistryError.kindConflict(metric: "a", registered: .histogram, requested: .gauge)) {
      try registry.gauge("a", help: "h", labels: ["x": "1"])
    }
    #expect(throws: RegistryError.helpConflict(metric: "a")) {
      try registry.histogram("a", help: "", buckets: [1], labels: ["x": "1"])
    }
    #expect(throws: RegistryError.bucketConflict(metric: "a")) {
      try registry.histogram("a", help: "h", buckets: [2], labels: ["x": "1"])
    }
    #expect(throws: RegistryError.invalidBuckets(metric: "b", problem: .empty)) {
      try registry.histogram("b", help: "", buckets: [], labels: [:])
    }
    #expect(throws: RegistryError.textLabelConflict(metric: "a")) {
      try registry.histogram("a", help: "h", buckets: [1], labels: "x")
    }
    _ = try registry.gauge("typed", help: "", labels: "x")
    _ = try registry.gauge("bare", help: "")
    for name in ["typed", "bare"] {
      #expect(throws: RegistryError.textLabelConflict(metric: name)) {
        try registry.gauge(name, help: "", labels: ["x": "1"])
      }
    }
    #expect(throws: RegistryError.invalidName(metric: "a b")) { try registry.counter("a b", help: "", labels: [:]) }
    #expect(registry.text().contains("weir_metrics_registration_errors_total{reason=\"label_conflict\"} 3\n"))
  }

  /// The registry's buckets take the place of all that are asked for.
  @Test func bucketsOfTheRegistry() throws {
    let registry = Registry(ownMetrics: false, buckets: ["h": [3]])
    try registry.histogram("h", help: "", buckets: [1], labels: [:]).observe(1)
    #expect(try registry.histogram("h", help: "", buckets: [2], labels: [:]).snapshot.bounds == [3])
  }

  @Test func removal() throws {
    let (one, two) = (["x": "1", "y": "z"], ["x": "2"])
    let held = try counter(one)
    held.increment()
    try counter(two).increment()
    #expect(registry.remove("a_total", labels: reversed(one)))
    #expect(!registry.remove("a_total", labels: one))
    #expect(!registry.remove("b_total", labels: one))
    held.increment()
    #expect(registry.text(Exposition(only: ["a_total"])).hasSuffix("counter\na_total{x=\"2\"} 1\n"))
    try counter(one).increment(by: 5)
    #expect(held.value == 2)
    #expect(try counter(reversed(one)).value == 5)
    #expect(try counter(two).value == 1)
    #expect(registry.text().hasSuffix("a_total{x=\"1\",y=\"z\"} 5\na_total{x=\"2\"} 1\n"))
    let typed = try registry.counter("typed_total", help: "", labels: "x")
    typed.with("1").increment()
    #expect(!registry.remove("typed_total", labels: ["x": "1"]))
  }

  @Test func unregistering() throws {
    let held = try counter(["x": "1"])
    try registry.gauge("g", help: "", labels: ["x": "1"]).set(1)
    #expect(registry.unregister("a_total"))
    held.increment()
    #expect(registry.text() == "# TYPE g gauge\ng{x=\"1\"} 1\n")
    try counter(["x": "1"]).increment(by: 3)
    try registry.gauge("g", help: "", labels: ["x": "1"]).set(2)
    #expect(registry.text().contains("a_total{x=\"1\"} 3\n"))
    #expect(registry.unregister("a_total"))
    _ = try registry.gauge("a_total", help: "A.", labels: "x")
  }
}

/// Label sets as text beyond the limit.
@Suite struct TextSeriesLimitTests {
  let registry = Registry(seriesLimit: 2)

  private func counter(_ labels: [String: String]) throws -> Counter {
    try registry.counter("a_total", help: "", labels: labels)
  }

  @Test func foldsIntoASeriesWithAllNames() throws {
    for value in 0..<5 { try counter(["x": "\(value)"]).increment() }
    try counter(["y": "1", "z": "2"]).increment()
    try counter([:]).increment()
    try counter(["x": "1"]).increment()
    #expect(
      registry.text(Exposition(only: ["a_total", "weir_metrics_series_folded_total", "weir_metrics_series"])) == """
        # TYPE a_total counter
        a_total{x="0"} 1
        a_total{x="1"} 2
        a_total{x="_other"} 5
        # HELP weir_metrics_series Series per metric.
        # TYPE weir_metrics_series gauge
        weir_metrics_series{metric="a_total"} 3
        # HELP weir_metrics_series_folded_total Lookups of label sets beyond the metric's limit: folded into _other, or dropped if it is a gauge.
        # TYPE weir_metrics_series_folded_total counter
        weir_metrics_series_folded_total{metric="a_total"} 5

        """)
    #expect(!registry.remove("a_total", labels: ["x": "_other"]))
    #expect(registry.remove("a_total", labels: ["x": "0"]))
    #expect(try counter(["x": "4"]).series.labels == "x=\"4\"")
    #expect(try counter(["x": "5"]).series.labels == "x=\"_other\"")
  }

  @Test func theFoldedSeriesHasTheNamesOfAllOthers() throws {
    for labels in [["x": "1"], ["y": "1"], ["z": "1"]] { try counter(labels).increment() }
    #expect(try counter([:]).series.labels == "x=\"_other\",y=\"_other\",z=\"_other\"")
  }

  @Test func gaugesAreDropped() throws {
    for value in 0..<5 { try registry.gauge("g", help: "", labels: ["x": "\(value)"]).set(1) }
    #expect(!registry.text(Exposition(only: ["g"])).contains("_other"))
  }

  @Test func namesAreCheckedInAFullFamilyToo() throws {
    for value in 0..<5 { try counter(["x": "\(value)"]).increment() }
    #expect(throws: RegistryError.invalidLabel(metric: "a_total", label: "a.b")) { try counter(["a.b": "1"]) }
    let long = String(repeating: "l", count: 5_000)
    #expect(try counter(["x": long]).series.labels == "x=\"_other\"")
  }

  @Test func longValuesStillFindTheirSeriesInAFullFamily() throws {
    let long = String(repeating: "l", count: 5_000)
    for value in [long, "a", "b", "c"] { try counter(["x": value]).increment() }
    try counter(["x": long + "l"]).increment()
    #expect(try counter(["x": long]).value == 2)
  }
}
