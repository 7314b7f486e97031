import Testing
import WeirOTLP

@testable import WeirMetrics

@Suite struct MetricsMessageTests {
  private let registry = Registry(
    seriesLimit: 2_000, ownMetrics: false, nativeHistograms: .named(["native_seconds"]),
    clock: WallClock { 1_700_000_000.25 })

  private func message(
    at time: UInt64 = 1_700_000_060_000_000_000, hasExponential: Bool = false
  ) -> MetricsMessage {
    MetricsMessage(
      registry, of: Resource([Attribute("service.name", "weir")]), by: Scope("weir"), from: 1_600_000_000_000_000_000,
      at: time, hasExponential: hasExponential)
  }

  private func json(_ message: MetricsMessage) -> String {
    String(decoding: message.encoded(as: .json), as: UTF8.self)
  }

  /// The metrics in the message, without the frame of the request around them.
  private func metrics(_ message: MetricsMessage) throws -> String {
    let begin = #"""
      {"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"weir"}}]},\#
      "scopeMetrics":[{"scope":{"name":"weir"},"metrics":[
      """#
    let (text, end) = (json(message), "]}]}]}")
    try #require(text.hasPrefix(begin) && text.hasSuffix(end), "\(text)")
    return String(text.dropFirst(begin.count).dropLast(end.count))
  }

  private func fill() throws {
    let requests = try registry.counter("requests_total", help: "Requests.", labels: "route", "code")
    requests.with("/\"b\"\\\n", "200").increment(by: 1.5)
    requests.with("/a", "").increment(by: 12)
    try registry.gauge("depth", help: "").set(-3)
    try registry.gauge("memory_bytes", help: "Memory.").set(Double.infinity)
    try registry.gauge("fill_ratio", help: "Fill.").set(Double.nan)
    try registry.counter("odd", help: "No total.").increment()
    try registry.info("app_info", help: "Build.", labels: ["version": "1.0"])
    try registry.counter("cpu_seconds_total", help: "Time.") { 0.5 }
    let wait = try registry.histogram("wait_seconds", help: "Wait.", buckets: [0.1, 1], labels: "queue")
    for value in [0.05, 0.1, 0.5, 2] { wait.with("q").observe(value) }
    try registry.histogram("shift", help: "Shift.", buckets: [-1, 1]).observe(-2)
  }

  @Test func aCounterAsProtobuf() throws {
    try registry.counter("a_total", help: "A.").increment()
    let message = MetricsMessage(registry, of: Resource(), by: Scope("w"), from: 1, at: 1_700_000_000_250_000_000)
    let expected = """
      0a3b 0a00 1237 0a03 0a0177 1230 0a07615f746f74616c 1202412e
      3a21 0a1b 11 80b21045fe9c9717 19 80b21045fe9c9717 21 000000000000f03f 1002 1801
      """
    #expect(message.encoded(as: .protobuf) == octets(expected))
  }

  @Test func countersAreSumsThatOnlyGrow() throws {
    try registry.counter("bytes_total", help: "").increment(by: 7)
    #expect(
      try metrics(message()) == #"""
        {"name":"bytes_total","sum":{"dataPoints":[{"startTimeUnixNano":"1700000000250000000",\#
        "timeUnixNano":"1700000060000000000","asDouble":7.0,"attributes":[]}],"aggregationTemporality":2,\#
        "isMonotonic":true}}
        """#)
  }

  @Test func labelsAreAttributesAsTheyWereBeforeTheyWereEscaped() throws {
    try registry.gauge("g", help: "", labels: "a", "b").with("\"\\\n", "").set(1)
    #expect(
      try metrics(message()).contains(
        #"""
        "attributes":[{"key":"a","value":{"stringValue":"\"\\\u000a"}},{"key":"b","value":{"stringValue":""}}]
        """#))
  }

  @Test(
    arguments: [
      ("a_seconds_total", "s"), ("a_bytes_total", "By"), ("seconds_total", nil), ("a_total", nil),
      ("a_bytes_x_total", nil),
    ] as [(String, String?)])
  func aUnitIsTheOneInTheName(_ name: String, _ unit: String?) throws {
    try registry.counter(name, help: "").increment()
    let metric = try metrics(message())
    #expect(metric.hasPrefix(#"{"name":"\#(name)",\#(unit.map { #""unit":"\#($0)","# } ?? "")"sum":"#), "\(metric)")
  }

  @Test func aCounterWithoutTotalIsAGauge() throws {
    try registry.counter("odd", help: "").increment()
    #expect(
      try metrics(message()) == #"""
        {"name":"odd","gauge":{"dataPoints":[{"timeUnixNano":"1700000060000000000","asDouble":1.0,"attributes":[]}]}}
        """#)
  }

  @Test func gaugesMayHaveNoNumber() throws {
    try registry.gauge("a_ratio", help: "").set(Double.nan)
    try registry.gauge("b", help: "").set(-Double.infinity)
    let metrics = try metrics(message())
    #expect(metrics.contains(#""name":"a_ratio","unit":"1","gauge":"#) && metrics.contains(#""asDouble":"NaN""#))
    #expect(metrics.contains(#""asDouble":"-Infinity""#))
  }

  @Test func histogramsHaveCountsOfEachBucketAndExemplars() throws {
    let wait = try registry.histogram("wait_seconds", help: "", buckets: [0.1, 1], labels: "queue").with("q")
    for value in [0.05, 0.1, 2] { wait.observe(value) }
    wait.observe(
      0.5,
      exemplar: [
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7", "route": "r",
      ])
    #expect(
      try metrics(message()) == #"""
        {"name":"wait_seconds","unit":"s","histogram":{"dataPoints":[{"startTimeUnixNano":"1700000000250000000",\#
        "timeUnixNano":"1700000060000000000","count":"4","sum":2.65,"bucketCounts":["2","1","1"],\#
        "explicitBounds":[0.1,1.0],"exemplars":[{"timeUnixNano":"1700000000250000000","asDouble":0.5,\#
        "traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7",\#
        "filteredAttributes":[{"key":"route","value":{"stringValue":"r"}}]}],\#
        "attributes":[{"key":"queue","value":{"stringValue":"q"}}]}],"aggregationTemporality":2}}
        """#)
  }

  /// Index 0 has the lower bound 1: its number is one less than Prometheus'. Empty buckets between others are there.
  @Test func nativeHistogramsAreExponentialWhereThatIsAskedFor() throws {
    let native = try registry.histogram("native_seconds", help: "", buckets: [1], labels: "queue").with("q")
    for value in [0, 1, 1, 1.3, 1.05, -0.5] { native.observe(value) }
    native.observe(2, traceID: "4b")
    #expect(
      try metrics(message(hasExponential: true)) == #"""
        {"name":"native_seconds","unit":"s","exponentialHistogram":{"dataPoints":[\#
        {"startTimeUnixNano":"1700000000250000000","timeUnixNano":"1700000060000000000","count":"7","sum":5.85,\#
        "scale":3,"zeroCount":"1","positive":{"offset":-1,"bucketCounts":["2","1","0","0","1","0","0","0","1"]},\#
        "negative":{"offset":-9,"bucketCounts":["1"]},"exemplars":[{"timeUnixNano":"1700000000250000000",\#
        "asDouble":2.0,"filteredAttributes":[{"key":"trace_id","value":{"stringValue":"4b"}}]}],\#
        "zeroThreshold":2.938735877055719e-39,"attributes":[{"key":"queue","value":{"stringValue":"q"}}]}],\#
        "aggregationTemporality":2}}
        """#)
    #expect(try metrics(message()).contains(#""bucketCounts":["4","3"],"explicitBounds":[1.0]"#))
  }

  @Test func otherHistogramsHaveTheirBounds() throws {
    try registry.histogram("wait_seconds", help: "", buckets: [1]).observe(0.5)
    #expect(try metrics(message(hasExponential: true)) == metrics(message()))
  }

  /// A scale at which there are no more than 160 buckets between the lowest and the highest.
  @Test func exponentialHistogramsAreNoLongerThanTheyMayBe() throws {
    let native = try registry.histogram("native_seconds", help: "", buckets: [1])
    for value in [1, 1e300] { native.observe(value) }
    let zeros = Array(repeating: #""0","#, count: 124).joined()
    #expect(
      try metrics(message(hasExponential: true)).contains(
        #""scale":-3,"zeroCount":"0","positive":{"offset":-1,"bucketCounts":["1",\#(zeros)"1"]},"zeroThreshold""#))
  }

  @Test(arguments: ["4bf92f", "+bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e473g"])
  func anIdentifierThatIsNoneIsAnAttribute(_ text: String) throws {
    try registry.histogram("h", help: "", buckets: [1]).observe(0.5, traceID: text)
    #expect(
      try metrics(message()).contains(
        #""asDouble":0.5,"filteredAttributes":[{"key":"trace_id","value":{"stringValue":"\#(text)"}}]"#))
  }

  @Test func aSumThatMayShrinkIsLeftOut() throws {
    try registry.histogram("h", help: "", buckets: [-1, 1]).observe(-2)
    #expect(try metrics(message()).contains(#""count":"1","bucketCounts":["1","0","0"],"explicitBounds":[-1.0,1.0]"#))
  }

  @Test func aCollectorsCounterBeganWithTheProcess() throws {
    try registry.counter("a_total", help: "") { 0.5 }
    #expect(
      try metrics(message()).contains(
        #""startTimeUnixNano":"1600000000000000000","timeUnixNano":"1700000060000000000","asDouble":0.5"#))
  }

  @Test func noSumBeginsAfterItsValue() throws {
    try registry.counter("a_total", help: "").increment()
    #expect(try metrics(message(at: 5)).contains(#""startTimeUnixNano":"5","timeUnixNano":"5""#))
  }

  @Test func metricsWithoutSeriesAreLeftOut() throws {
    _ = try registry.counter("a_total", help: "", labels: "b")
    #expect(try metrics(message()) == "")
  }

  @Test(.enabled(if: OtherReader.isInstalled, OtherReader.isMissing))
  func anotherReaderFindsEveryField() async throws {
    try fill()
    let native = try registry.histogram("native_seconds", help: "Native.", buckets: [1])
    for value in [0, 1, 300, 1e9, -0.5] { native.observe(value, traceID: "4bf92f3577b34da6a3ce929d0e0e4736") }
    try registry.histogram("traced", help: "", buckets: [1]).observe(
      0.5, exemplar: ["trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7", "route": "r"])
    let lines = try await OtherReader.lines("metrics", message(hasExponential: true).encoded)
    #expect(lines.protobuf == lines.json)
    #expect(lines.protobuf.contains(#""exponentialHistogram": {"#))
    for name in registry.metrics.map(\.name) { #expect(lines.protobuf.contains(#""name": "\#(name)""#)) }
  }

  @Test(.enabled(if: OtherReader.isInstalled, OtherReader.isMissing))
  func anotherReaderReadsAPageOfMuch() async throws {
    let wait = try registry.histogram("wait_seconds", help: "Wait.", labels: "queue", "state")
    let requests = try registry.counter("requests_total", help: "Requests.", labels: "route")
    for index in 0..<500 {
      wait.with("queue \(index)", String(repeating: "s", count: index)).observe(Double(index) / 100)
      requests.with("\(index)").increment(by: index)
    }
    let lines = try await OtherReader.lines("metrics", message().encoded)
    #expect(lines.protobuf == lines.json)
  }
}
