import Testing
import WeirOTLP

@Suite struct TracesMessageTests {
  private let least = Span("GET", .client, at: Span.Place(high: 1, low: 2, id: 3), from: 4, to: 5)

  /// A span with every field, and every type of attribute.
  private var full: Span {
    let place = Span.Place(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736, id: 0x00f0_67aa_0ba9_02b7)
    var span = Span("GET \"api\"\n", .server, at: place, from: 1_700_000_000_000_000_001, to: .max)
    span.parent = 0xffff_ffff_ffff_ffff
    span.traceState = "a=1,b=2"
    span.flags = 3
    span.hasRemoteParent = true
    span.attributes = [
      Attribute("url.path", "/ä/\\\u{7f}\u{1}"), Attribute("empty", ""), Attribute("server.port", 443),
      Attribute("below", -1), Attribute("weir.queue.wait", .double(0.0125)), Attribute("whole", .double(2)),
      Attribute("yes", .boolean(true)), Attribute("no", .boolean(false)),
      Attribute("long", String(repeating: "l", count: 200)),
    ]
    span.events = [
      Span.Event("dns", at: 1_700_000_000_000_000_002),
      Span.Event("retry", at: 1_700_000_000_000_000_003, [Attribute("weir.retry.reason", "status")]),
    ]
    span.links = [Span.Place(high: place.high, low: place.low, id: 7), Span.Place(high: 1, low: 0, id: 8)]
    span.isError = true
    span.statusText = "connect"
    return span
  }

  private static let fullAsJSON = #"""
    {"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","traceState":"a=1,b=2",\#
    "parentSpanId":"ffffffffffffffff","name":"GET \"api\"\u000a","kind":2,"startTimeUnixNano":"1700000000000000001",\#
    "endTimeUnixNano":"18446744073709551615","attributes":[\#
    {"key":"url.path","value":{"stringValue":"/ä/\\\u007f\u0001"}},{"key":"empty","value":{"stringValue":""}},\#
    {"key":"server.port","value":{"intValue":"443"}},{"key":"below","value":{"intValue":"-1"}},\#
    {"key":"weir.queue.wait","value":{"doubleValue":0.0125}},{"key":"whole","value":{"doubleValue":2.0}},\#
    {"key":"yes","value":{"boolValue":true}},{"key":"no","value":{"boolValue":false}},\#
    {"key":"long","value":{"stringValue":"\#(String(repeating: "l", count: 200))"}}],\#
    "events":[{"timeUnixNano":"1700000000000000002","name":"dns"},\#
    {"timeUnixNano":"1700000000000000003","name":"retry",\#
    "attributes":[{"key":"weir.retry.reason","value":{"stringValue":"status"}}]}],\#
    "links":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"0000000000000007","flags":259},\#
    {"traceId":"00000000000000010000000000000000","spanId":"0000000000000008","flags":259}],\#
    "status":{"message":"connect","code":2},"flags":771}
    """#

  private static let leastAsJSON = #"""
    {"traceId":"00000000000000010000000000000002","spanId":"0000000000000003","name":"GET","kind":3,\#
    "startTimeUnixNano":"4","endTimeUnixNano":"5","flags":257}
    """#

  @Test func theLeastSpanAsProtobuf() {
    let message = TracesMessage([[least]], of: Resource(), by: Scope("weir"))
    let expected = """
      0a49 0a00 1245 0a06 0a0477656972 123b
      0a10 0000000000000001 0000000000000002 1208 0000000000000003 2a03474554 3003
      39 0400000000000000 41 0500000000000000 8501 01010000
      """
    #expect(message.encoded(as: .protobuf) == octets(expected))
  }

  @Test func spansAsJSON() {
    let resource = Resource([Attribute("service.name", "weir"), Attribute("process.pid", 7)])
    let message = TracesMessage([[least], [full]], of: resource, by: Scope("weir", version: "0.4.0"))
    let expected = #"""
      {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"weir"}},\#
      {"key":"process.pid","value":{"intValue":"7"}}]},"scopeSpans":[{"scope":{"name":"weir","version":"0.4.0"},\#
      "spans":[\#(Self.leastAsJSON),\#(Self.fullAsJSON)]}]}]}
      """#
    #expect(String(decoding: message.encoded(as: .json), as: UTF8.self) == expected)
  }

  @Test(.enabled(if: OtherReader.isInstalled, OtherReader.isMissing))
  func anotherReaderFindsEveryField() async throws {
    let spans = [least, full] + table()
    let message = TracesMessage(
      [spans], of: Resource([Attribute("service.name", "weir")]), by: Scope("weir", version: "0.4.0"))
    let lines = try await OtherReader.lines("traces", message.encoded)
    #expect(lines.protobuf == lines.json)
    let json = String(decoding: message.encoded(as: .json), as: UTF8.self)
    #expect(try OtherReader.sorted(lines.protobuf) == OtherReader.sorted(json))
  }

  /// Spans of each kind with names of lengths at which something changes.
  private func table() -> [Span] {
    [1, 15, 16, 127, 128, 16_384].flatMap { length in
      [Span.Kind.internal, .server, .client].map { kind in
        let place = Span.Place(high: .max, low: UInt64(length), id: .max)
        var span = Span(String(repeating: "n", count: length), kind, at: place, from: 1, to: 2)
        span.parent = UInt64(length)
        span.attributes = (0..<length % 40).map { Attribute("key.\($0)", .integer(length << $0)) }
        span.isError = length > 100
        return span
      }
    }
  }
}
