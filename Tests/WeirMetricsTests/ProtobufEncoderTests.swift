import Foundation
import Testing
import WeirTestSupport

@testable import WeirMetrics

@Suite struct ProtobufEncoderTests {
  private let registry = Registry(seriesLimit: 2_000, ownMetrics: false, clock: WallClock { 1_700_000_000.25 })

  private func page(only: Set<String>? = nil) -> [UInt8] {
    var page = ExpositionPage()
    registry.write(Exposition(.protobuf, only: only), to: &page)
    return page.withBytes { Array($0) }
  }

  /// The octets that a text of hexadecimal digits and blanks stands for.
  private func octets(_ digits: String) -> [UInt8] {
    digits.split(whereSeparator: \.isWhitespace).flatMap { word -> [UInt8] in
      stride(from: 0, to: word.count, by: 2).compactMap { UInt8(word.dropFirst($0).prefix(2), radix: 16) }
    }
  }

  /// A number has its name, type and value. A counter also says when it began: at 1,700,000,000 s and 250,000,000 ns.
  @Test func numbersWithoutLabels() throws {
    try registry.counter("a_total", help: "A.").increment()
    try registry.gauge("b", help: "").set(-3)
    try registry.counter("c", help: "") { 0.5 }
    let counter = "29 0a07615f746f74616c 1202412e 1800 2218 1a16 09000000000000f03f 1a0b 0880e2cfaa06 1080e59a77"
    let gauge = "12 0a0162 1801 220b 1209 0900000000000008c0"
    let computed = "12 0a0163 1800 220b 1a09 09000000000000e03f"
    #expect(page() == octets(counter + " " + gauge + " " + computed))
    #expect(page(only: ["b"]) == octets(gauge))
    #expect(page(only: ["x"]).isEmpty)
  }

  @Test func labelsAsTheyWereBeforeTheyWereEscaped() throws {
    let family = try registry.gauge("g", help: "", labels: "a", "bc")
    family.with("", "x").set(1)
    family.with("\"\\\n", "y").set(1)
    let one = "1209 09000000000000f03f"
    let plain = "221b 0a05 0a0161 1200 0a07 0a026263 120178 " + one
    let escaped = "221e 0a08 0a0161 1203225c0a 0a07 0a026263 120179 " + one
    #expect(page() == octets("42 0a0167 1801 " + plain + " " + escaped))
  }

  @Test func aLastLabelThatIsLeftOut() throws {
    let family = try registry.gauge("g", help: "", labels: "a", Label<String>(omittedIfEmpty: "bc"))
    family.with("x", "").set(1)
    family.with("x", "y").set(1)
    let (first, one) = ("0a06 0a0161 120178", "1209 09000000000000f03f")
    let all = "0a0167 1801 2213 \(first) \(one) 221c \(first) 0a07 0a026263 120179 \(one)"
    #expect(page() == octets("38" + " " + all))
  }

  @Test func anInfoMetricIsAGauge() throws {
    try registry.info("b_info", help: "", labels: ["v": "1"])
    #expect(page() == octets("1f 0a06625f696e666f 1801 2213 0a06 0a0176 120131 1209 09000000000000f03f"))
  }

  /// The buckets are cumulative. The observation with an exemplar is in the second one.
  @Test func histograms() throws {
    let histogram = try registry.histogram("h", help: "", buckets: [1])
    histogram.observe(0.5)
    histogram.observe(2, traceID: "4b")
    let bucket = "1a0b 0801 11000000000000f03f"
    let exemplar = "1a26 0a0e 0a0874726163655f6964 12023462 110000000000000040 1a0b 0880e2cfaa06 1080e59a77"
    let last = "1a33 0802 11000000000000f07f " + exemplar
    let rest = "0802 110000000000000440 7a0b 0880e2cfaa06 1080e59a77"
    #expect(page() == octets("63 0a0168 1804 225c 3a5a " + bucket + " " + last + " " + rest))
  }

  /// Two neighbours are one span, and each count is told as the difference to the one before. 0.5, 1 and 2 are bounds.
  @Test func nativeHistograms() throws {
    let registry = Registry(
      seriesLimit: 2_000, ownMetrics: false, nativeHistograms: .all, clock: WallClock { 1_700_000_000.25 })
    let histogram = try registry.histogram("h", help: "", buckets: [1])
    for value in [0.5, 1, 1.05, 1.05, 1.05, 2, 0, -1] { histogram.observe(value) }
    var page = ExpositionPage()
    registry.write(Exposition(.protobuf), to: &page)
    let buckets = "1a0b 0804 11000000000000f03f 1a0b 0808 11000000000000f07f"
    let rest = "0808 119999999999991640 7a0b 0880e2cfaa06 1080e59a77"
    let native = "2806 31000000000000f037 3801"
    let negative = "4a04 0800 1001 5002"
    let positive = "6204 080f 1001 6204 080e 1002 6204 080c 1001 6802 6800 6804 6803"
    let fields = octets([buckets, rest, native, negative, positive].joined(separator: " "))
    let metric = [0x3a, UInt8(fields.count)] + fields
    let body = octets("0a0168 1804 22") + [UInt8(metric.count)] + metric
    #expect(page.withBytes { Array($0) } == [UInt8(body.count)] + body)
  }

  /// A pair, a metric and a family whose lengths take more than one octet.
  @Test(arguments: [1, 100, 114, 115, 127, 128, 300, 4096])
  func longLabels(_ count: Int) throws {
    let family = try registry.gauge("g", help: "", labels: "a", "b")
    let value = String(repeating: "v", count: count)
    family.with("", "").set(1)
    family.with(value, "w").set(1)
    func length(_ count: Int) -> [UInt8] {
      count < 128 ? [UInt8(count)] : [UInt8(count & 127 | 128), UInt8(count >> 7)]
    }
    func field(_ tag: UInt8, _ body: [UInt8]) -> [UInt8] { [tag] + length(body.count) + body }
    func pair(_ name: UInt8, _ value: String) -> [UInt8] {
      field(0x0a, [0x0a, 1, name] + field(0x12, Array(value.utf8)))
    }
    let one = octets("1209 09000000000000f03f")
    let metrics =
      field(0x22, pair(0x61, "") + pair(0x62, "") + one) + field(0x22, pair(0x61, value) + pair(0x62, "w") + one)
    let body = octets("0a0167 1801") + metrics
    #expect(page() == length(body.count) + body)
  }

  @Test func familiesWithoutSeriesAreLeftOut() throws {
    _ = try registry.counter("a_total", help: "A.", labels: "x")
    #expect(page().isEmpty)
  }

  @Test func textIsAskedForInstead() throws {
    try registry.gauge("b", help: "").set(2)
    #expect(registry.text(Exposition(.protobuf)) == "# TYPE b gauge\nb 2\n")
  }

  // MARK: Another reader

  private static let python = Tool("protobuf", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])

  /// Compares the page, as another program reads it, with the same one as text and as OpenMetrics. Returns what it says
  /// of native histograms.
  private func compare(_ registry: Registry) async throws -> String {
    let directory = try TemporaryDirectory()
    let files = try [Exposition.Format.protobuf, .text, .openMetrics].map { format in
      var page = ExpositionPage()
      registry.write(Exposition(format, created: true), to: &page)
      let path = "\(directory.path)/\(format)"
      try page.withBytes { try Data($0).write(to: URL(fileURLWithPath: path)) }
      return path
    }
    return try await Self.python.run(["\(PackageRoot.path)/Tests/Peers/client_model.py"] + files)
  }

  @Test(.enabled(if: python.isInstalled, Comment(rawValue: python.isMissing)))
  func anotherReaderFindsNativeBuckets() async throws {
    let registry = Registry(nativeHistograms: .all)
    let sides = try registry.histogram("sides", help: "Sides.", buckets: [0.1, 1], labels: "side")
    for value in [1e300, 3, -2, 0, 1e-30, 1, -1e9, 3] { sides.with("both").observe(value) }
    for power in 0..<161 { sides.with("many").observe(scalbn(1, power)) }
    sides.with("traced").observe(0.75, traceID: "4b")
    _ = try registry.histogram("empty", help: "Empty.")
    let twos = (1...79).map { "\"\($0)\": 2" }.joined(separator: ", ")
    let threshold = "2.938735877055719e-39"
    #expect(
      try await compare(registry) == """
        ["empty", {}, 3, \(threshold), 0, {}, {}]
        ["sides", {"side": "both"}, 3, \(threshold), 1, {"8": 1, "240": 1}, {"-797": 1, "0": 1, "13": 2, "7973": 1}]
        ["sides", {"side": "many"}, -1, \(threshold), 0, {}, {"0": 1, \(twos), "80": 2}]
        ["sides", {"side": "traced"}, 3, \(threshold), 0, {}, {"-3": 1}]

        """)
  }

  @Test(.enabled(if: python.isInstalled, Comment(rawValue: python.isMissing)))
  func anotherReaderFindsWhatTextHas() async throws {
    let registry = Registry()
    let requests = try registry.counter(
      "requests_total", help: "Requests \"quoted\".\n2 \\ lines.", labels: "route", "code")
    for index in 0..<300 { requests.with("/\(index)", "200").increment(by: Double(index) / 4) }
    for route in ["\"\\\n,a=\"", String(repeating: "\u{e4}", count: 200), ""] { requests.with(route, "").increment() }
    let wait = try registry.histogram("wait_seconds", help: "Wait.", buckets: [0.1, 1, 1_000_000], labels: "queue")
    for value in [0.05, 0.1, 0.5, 1, 2, 2_000_000] { wait.with("q").observe(value) }
    wait.with("q").observe(0.75, exemplar: ["trace_id": "4bf92f", "route": "a\\b\n,c=d"])
    wait.with("r").observe(0.01, trace: (high: 1, low: 2), span: 3)
    try registry.gauge("depth", help: "Depth.").set(-3)
    try registry.gauge("odd_number", help: "").set(Double.nan)
    try registry.gauge("large", help: "").set(Double.infinity)
    try registry.info("app_info", help: "Build.", labels: ["version": "1.0", "kind": "\"x\"\\\n"])
    try registry.counter("odd", help: "No total.").increment()
    try registry.counter("cpu_seconds_total", help: "Time.") { 0.5 }
    #expect(try await compare(registry) == "")
  }
}
