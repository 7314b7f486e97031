import Testing

@testable import WeirMetrics

@Suite struct FamilyTests {
  enum Outcome: String, LabelValue {
    case success
    case timeout
  }

  let registry = Registry(ownMetrics: false)

  @Test func sameValuesSameSeries() throws {
    let family = try registry.counter("a_total", help: "", labels: "x", "y")
    #expect(family.with("1", "2").series === family.with("1", "2").series)
    let others = [("12", ""), ("", "12"), ("1", "2 "), ("2", "1"), ("", "")]
    for (x, y) in others { #expect(family.with(x, y).series !== family.with("1", "2").series) }
    #expect(family.store.seriesCount == 6)
  }

  @Test func everyNumberOfLabels() throws {
    let one = try registry.gauge("g1", help: "", labels: "a")
    let three = try registry.gauge("g3", help: "", labels: "a", "b", "c")
    let six = try registry.gauge("g6", help: "", labels: "a", "b", "c", "d", "e", "f")
    let eight = try registry.gauge("g8", help: "", labels: "a", "b", "c", "d", "e", "f", "g", "h")
    for value in 1...2 {
      one.with("1").set(value)
      three.with("1", "2", "3").set(value)
      six.with("1", "2", "3", "4", "5", "6").set(value)
      eight.with("1", "2", "3", "4", "5", "6", "7", "8").set(value)
    }
    #expect(
      registry.text() == """
        # TYPE g1 gauge
        g1{a="1"} 2
        # TYPE g3 gauge
        g3{a="1",b="2",c="3"} 2
        # TYPE g6 gauge
        g6{a="1",b="2",c="3",d="4",e="5",f="6"} 2
        # TYPE g8 gauge
        g8{a="1",b="2",c="3",d="4",e="5",f="6",g="7",h="8"} 2

        """)
  }

  @Test func typedValues() throws {
    let family: CounterFamily<(Int, Bool, Outcome, Substring, StaticString)> = try registry.counter(
      "a_total", help: "", labels: Label("code", as: Int.self), Label("ok", as: Bool.self),
      Label("outcome", as: Outcome.self), Label("part", as: Substring.self), Label("fixed", as: StaticString.self))
    family.with(Int.min, true, .timeout, "xyz".dropFirst(), "static").increment()
    family.with(Int.max, false, .success, "", "").increment()
    family.with(0, false, .success, "", "").increment()
    #expect(
      registry.text() == """
        # TYPE a_total counter
        a_total{code="-9223372036854775808",ok="true",outcome="timeout",part="yz",fixed="static"} 1
        a_total{code="0",ok="false",outcome="success",part="",fixed=""} 1
        a_total{code="9223372036854775807",ok="false",outcome="success",part="",fixed=""} 1

        """)
  }

  /// Values of all lengths around the steps of hash and comparison, and values that only differ in one byte.
  @Test func tellsAllValuesApart() throws {
    let registry = Registry(seriesLimit: 10_000, ownMetrics: false)
    let family = try registry.counter("a_total", help: "", labels: "x", "y")
    var values: [String] = []
    for length in 0..<70 {
      let base = String(repeating: "a", count: length)
      values.append(base)
      for place in stride(from: 0, to: length, by: 5) {
        values.append(base.prefix(place) + "\"" + base.dropFirst(place + 1))
        values.append(base.prefix(place) + "b" + base.dropFirst(place + 1))
      }
    }
    for (index, value) in values.enumerated() { family.with(value, "z").increment(by: index) }
    for (index, value) in values.enumerated() { #expect(family.with(value, "z").value == Double(index)) }
    #expect(family.store.seriesCount == values.count)
  }

  /// Escapes that look like another value's bytes.
  @Test func keepsEscapedValuesApart() throws {
    let family = try registry.counter("a_total", help: "", labels: "x", "y")
    let values = ["\n", "\\n", "\\\n", "\\", "\\\\", "\"", "\\\"", "n", "\",y=\"", "\n\n", "\r", "\0", "a\0b"]
    for (index, value) in values.enumerated() {
      family.with(value, "z").increment(by: index + 1)
      family.with("z", value).increment(by: 100 + index)
    }
    for (index, value) in values.enumerated() {
      #expect(family.with(value, "z").value == Double(index + 1))
      #expect(family.with("z", value).value == Double(100 + index))
    }
    #expect(family.store.seriesCount == 2 * values.count)
  }

  @Test func cutsLongValuesOnAScalar() throws {
    let family = try registry.counter("a_total", help: "", labels: "x")
    let long = String(repeating: "x", count: 1 << 20)
    family.with(long).increment()
    family.with(long + "y").increment()
    #expect(family.with(String(repeating: "x", count: 4096)).value == 2)
    for count in 4093...4096 {
      let start = String(repeating: "x", count: count)
      family.with(start + "🙂🙂").increment()
      #expect(family.with(start).value == (count == 4096 ? 3 : 1))
    }
  }

  @Test(
    arguments: [
      ([0xFF], "\u{FFFD}"), ([0x61, 0xC3], "a\u{FFFD}"), ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
      (Array("é".utf8), "é"), ([0x22, 0x0A, 0x80], "\"\n\u{FFFD}"),
    ] as [([UInt8], String)])
  func repairsBytes(bytes: [UInt8], text: String) throws {
    let family = try registry.counter("a_total", help: "", labels: Label("x", as: LabelBytes.self))
    family.with(LabelBytes(bytes)).increment()
    #expect(LabelBytes(bytes).text == text)
    #expect(family.with(LabelBytes(Array(text.utf8))).value == 1)
    let broken = LabelBytes(Array(repeating: 0xFF, count: 1 << 20))
    #expect(family.with(broken).series.labels.utf8.count == 4095 + "x=\"\"".utf8.count)
  }

  /// A type that breaks its promise can't break the page.
  @Test func repairsWhatAConformanceGivesWrong() throws {
    struct Wild: LabelValue {
      func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        [UInt8]([0xFF, 0x22]).withUnsafeBytes(body)
      }
    }
    let family = try registry.counter("a_total", help: "", labels: Label("x", as: Wild.self))
    family.with(Wild()).increment()
    family.with(Wild()).increment()
    #expect(registry.text() == "# TYPE a_total counter\na_total{x=\"\u{FFFD}\\\"\"} 2\n")
  }

  @Test func aLastLabelMayBeLeftOutIfItIsEmpty() throws {
    let registry = Registry(ownMetrics: false)
    let counts = try registry.counter("counts_total", help: "h", labels: "a", Label<String>(omittedIfEmpty: "b"))
    for (first, second) in [("x", ""), ("x", "y"), ("x\"", ""), ("x\"", "y"), ("", ""), ("", "y")] {
      for _ in 0..<2 { counts.with(first, second).increment() }
    }
    #expect(
      registry.text().split(separator: "\n").dropFirst(2) == [
        "counts_total{a=\"\"} 2", "counts_total{a=\"\",b=\"y\"} 2", "counts_total{a=\"x\"} 2",
        "counts_total{a=\"x\",b=\"y\"} 2", "counts_total{a=\"x\\\"\"} 2", "counts_total{a=\"x\\\"\",b=\"y\"} 2",
      ])
    #expect(counts.remove("x", "") && !counts.remove("x", "") && counts.remove("x", "y"))
  }
}
