import Testing

@testable import WeirMetrics

@Suite struct RemovalTests {
  let registry = Registry(seriesLimit: 100, ownMetrics: false)

  @Test func takesASeriesOffThePage() throws {
    let family = try registry.counter("a_total", help: "", labels: "x")
    let held = family.with("1")
    family.with("2").increment()
    held.increment()
    #expect(family.remove("1"))
    #expect(!family.remove("1"))
    #expect(!family.remove("3"))
    held.increment()
    #expect(registry.text() == "# TYPE a_total counter\na_total{x=\"2\"} 1\n")
    family.with("1").increment(by: 5)
    #expect(held.value == 2)
    #expect(registry.text() == "# TYPE a_total counter\na_total{x=\"1\"} 5\na_total{x=\"2\"} 1\n")
  }

  @Test func takesAllWithCertainValuesOffThePage() throws {
    let family = try registry.counter("a_total", help: "", seriesLimit: 6, labels: "host", "port", "code")
    let tricky = "x\",port=\"1"
    let held = family.with("h", "1", "200")
    held.increment()
    for (host, port, code) in [
      ("h", "1", "404"), ("h", "2", "200"), ("hh", "1", "200"), (tricky, "2", "1"), ("", "", ""),
    ] {
      family.with(host, port, code).increment()
    }
    family.with("one", "too", "many").increment()
    #expect(family.removeAll(where: [:]) == 0)
    #expect(family.removeAll(where: ["hos": "h"]) == 0)
    #expect(family.removeAll(where: ["host": "_other"]) == 0)
    #expect(family.removeAll(where: ["host": "h", "port": "1"]) == 2)
    #expect(family.removeAll(where: ["port": "1"]) == 1)
    #expect(family.removeAll(where: ["host": tricky]) == 1)
    #expect(family.store.seriesCount == 3)
    held.increment()
    family.with("h", "1", "200").increment()
    let values = registry.text().split(separator: "\n").dropFirst()
    #expect(
      values == [
        #"a_total{host="",port="",code=""} 1"#, #"a_total{host="_other",port="_other",code="_other"} 1"#,
        #"a_total{host="h",port="1",code="200"} 1"#, #"a_total{host="h",port="2",code="200"} 1"#,
      ])
  }

  @Test func takesAllWithOneOfManyValuesOffThePage() throws {
    let family = try registry.counter("a_total", help: "", labels: "host", "port")
    let tricky = "x\",port=\"1", slash = "y\\"
    for (host, port) in [("h", "1"), ("h", "2"), ("hh", "1"), (tricky, "2"), (slash, "3"), ("", "")] {
      family.with(host, port).increment()
    }
    #expect(family.removeAll(LabelChoice(["host"], [])) == 0)
    #expect(family.removeAll(LabelChoice(["hos"], [["h"]])) == 0)
    #expect(family.removeAll(LabelChoice(["port"], [["4"], ["\""]])) == 0)
    #expect(family.removeAll(LabelChoice(["port"], [["2"], ["7"]])) == 2)
    #expect(family.removeAll(LabelChoice(["host"], [["h"], [slash], ["z"]])) == 2)
    #expect(
      registry.text().split(separator: "\n").dropFirst() == [
        #"a_total{host="",port=""} 1"#, #"a_total{host="hh",port="1"} 1"#,
      ])
  }

  @Test func severalLabelsCountTogether() throws {
    let family = try registry.counter("a_total", help: "", labels: "host", "port", "code")
    let tricky = "h\",port=\"1"
    for (host, port) in [("h", "1"), ("h", "2"), ("i", "1"), (tricky, "2"), ("", "")] {
      for code in ["200", "500"] { family.with(host, port, code).increment() }
    }
    #expect(family.removeAll(LabelChoice(["host", "port"], [["h", "1"], ["i", "2"], ["h", ""]])) == 2)
    #expect(family.removeAll(LabelChoice(["port", "host"], [["1", "h"]])) == 0)
    #expect(family.removeAll(LabelChoice(["port", "code"], [["2", "200"], ["", "404"]])) == 2)
    #expect(family.removeAll(LabelChoice(["host", "port"], [[tricky, "2"], ["", ""]])) == 3)
    #expect(
      registry.text().split(separator: "\n").dropFirst() == [
        #"a_total{host="h",port="2",code="500"} 1"#, #"a_total{host="i",port="1",code="200"} 1"#,
        #"a_total{host="i",port="1",code="500"} 1"#,
      ])
  }

  @Test func givesTheirPlaceFree() throws {
    let family = try registry.counter("a_total", help: "", seriesLimit: 2, labels: "x")
    for value in ["a", "b", "c"] { family.with(value).increment() }
    #expect(family.with("c").series.labels == "x=\"_other\"")
    #expect(family.remove("a"))
    #expect(family.with("c").series.labels == "x=\"c\"")
    #expect(family.with("d").series.labels == "x=\"_other\"")
    #expect(!family.remove("_other"))
    #expect(family.store.seriesCount == 3)
  }

  /// Adds, removes and finds at random, beside a dictionary; scrapes now and then.
  @Test func behavesAsADictionary() throws {
    let family = try registry.counter("a_total", help: "", labels: "x")
    var random = SplitMix(state: 3)
    var model: [String: Int] = [:]
    for step in 0..<20_000 {
      let key = "key-\(random.next() % 80)"
      if random.next() % 3 == 0 {
        #expect(family.remove(key) == (model.removeValue(forKey: key) != nil))
      } else {
        family.with(key).increment()
        model[key, default: 0] += 1
        #expect(family.with(key).value == Double(model[key] ?? 0))
      }
      guard step % 500 == 0 else { continue }
      let lines = model.sorted { $0.key < $1.key }.map { "a_total{x=\"\($0.key)\"} \($0.value)\n" }
      #expect(registry.text() == (lines.isEmpty ? "" : "# TYPE a_total counter\n") + lines.joined())
    }
  }

  @Test func givesMemoryBack() throws {
    let family = try registry.counter("a_total", help: "", labels: "x")
    family.with("first").increment()
    family.remove("first")
    weak var gone: Series?
    do {
      let held = family.with("second")
      gone = held.series
      family.remove("second")
    }
    for value in 0..<3_000 {
      family.with("\(value)").increment()
      family.remove("\(value)")
    }
    #expect(gone == nil)
  }

  @Test func unregisteringFreesTheNames() throws {
    let counter = try registry.counter("a_total", help: "", labels: "x")
    counter.with("1").increment()
    #expect(registry.unregister("a_total"))
    #expect(!registry.unregister("a_total"))
    counter.with("1").increment()
    #expect(registry.text() == "")
    try registry.gauge("a", help: "").set(1)
    #expect(registry.text() == "# TYPE a gauge\na 1\n")
  }
}
