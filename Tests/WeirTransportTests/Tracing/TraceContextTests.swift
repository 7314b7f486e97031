import Testing
import WeirHTTP
import WeirTestSupport

@testable import WeirTransport

/// The cases of W3C's public test suite for trace contexts.
@Suite struct TraceContextTests {
  private static let trace = "12345678901234567890123456789012"
  private static let parent = "1234567890123456"

  @Test(arguments: [
    // Continued; with the flags that go on.
    ("00-\(trace)-\(parent)-00", "00"), ("00-\(trace)-\(parent)-01", "01"), ("00-\(trace)-\(parent)-02", "02"),
    ("00-\(trace)-\(parent)-03", "03"), ("00-\(trace)-\(parent)-ff", "03"),
    // Later versions, of which the known parts are read.
    ("cc-\(trace)-\(parent)-01", "01"), ("cc-\(trace)-\(parent)-01-what-the-future-will-be-like", "01"),
    ("cc-\(trace)-\(parent)-03", "01"), ("fe-\(trace)-\(parent)-00", "00"), ("01-\(trace)-\(parent)-01-", "01"),
  ]) func continued(text: String, flags: String) throws {
    let context = try #require(TraceContext(traceparent: text))
    #expect(context.traceparent == "00-\(Self.trace)-\(Self.parent)-\(flags)")
    #expect(context.traceID == Self.trace && context.parentID == Self.parent)
    #expect(context.isSampled == (flags == "01" || flags == "03"))
    let child = context.child(parent: 0xabc)
    #expect(child.traceparent == "00-\(Self.trace)-0000000000000abc-\(flags)")
  }

  @Test(arguments: [
    "", "00", "00-", "00-\(trace)", "00-\(trace)-\(parent)", "00-\(trace)-\(parent)-", "00-\(trace)-\(parent)-1",
    // Versions.
    "ff-\(trace)-\(parent)-01", "0-\(trace)-\(parent)-01", "000-\(trace)-\(parent)-01", ".0-\(trace)-\(parent)-01",
    "0.-\(trace)-\(parent)-01", "CC-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01-what",
    "00-\(trace)-\(parent)-01-",
    "00-\(trace)-\(parent)-01.", "cc-\(trace)-\(parent)-01.what-the-future-will-not-be-like",
    "cc-\(trace)-\(parent)-011",
    // The identifier of the trace.
    "00-00000000000000000000000000000000-\(parent)-01", "00-.2345678901234567890123456789012-\(parent)-01",
    "00-1234567890123456789012345678901.-\(parent)-01", "00-1234567890123456789012345678901-\(parent)-01",
    "00-123456789012345678901234567890123-\(parent)-01", "00-ABCDEF78901234567890123456789012-\(parent)-01",
    // The identifier of the parent.
    "00-\(trace)-0000000000000000-01", "00-\(trace)-.234567890123456-01", "00-\(trace)-123456789012345.-01",
    "00-\(trace)-123456789012345-01", "00-\(trace)-12345678901234567-01", "00-\(trace)-ABCDEF7890123456-01",
    // Flags and blanks.
    "00-\(trace)-\(parent)-.0", "00-\(trace)-\(parent)-0.", "00-\(trace)-\(parent)-001", "00-\(trace)-\(parent)-FF",
    " 00-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01 ", "00 \(trace) \(parent) 01", "00_\(trace)_\(parent)_01",
    "00-\(trace)-\(parent)-01,00-\(trace)-\(parent)-01",
  ]) func refused(text: String) {
    #expect(TraceContext(traceparent: text) == nil)
  }

  private static func state(_ fields: [String]) -> String? {
    var state = TraceState()
    for field in fields { field.withOctets { state.add($0) } }
    return state.text
  }

  private static func members(_ count: Int) -> String { (0..<count).map { "bar\($0)=\($0)" }.joined(separator: ",") }

  @Test(
    arguments: [
      (["foo=1"], "foo=1"), (["foo=1,bar=2"], "foo=1,bar=2"), (["foo=1", "bar=2"], "foo=1,bar=2"),
      (["foo=1", "", "bar=2"], "foo=1,bar=2"), (["foo=1,,bar=2", ","], "foo=1,bar=2"),
      (["foo=1 \t , \t bar=2, \t baz=3"], "foo=1,bar=2,baz=3"), ([" foo=1 ", "bar=2\t"], "foo=1,bar=2"),
      (["foo@vendor=1", "0t@v=2"], "foo@vendor=1,0t@v=2"),
      (["a_-*/1=!\"#$%&'()*+-./:;<>?@[\\]^_`{|}~ x"], "a_-*/1=!\"#$%&'()*+-./:;<>?@[\\]^_`{|}~ x"),
      ([members(32)], members(32)),
      ([String(repeating: "z", count: 256) + "=1"], String(repeating: "z", count: 256) + "=1"),
      (
        [String(repeating: "t", count: 241) + "@" + String(repeating: "v", count: 14) + "=1"],
        String(repeating: "t", count: 241) + "@" + String(repeating: "v", count: 14) + "=1"
      ),
      (["a=" + String(repeating: "v", count: 256)], "a=" + String(repeating: "v", count: 256)),
    ] as [([String], String)]) func statesThatPass(fields: [String], text: String)
  {
    #expect(Self.state(fields) == text)
  }

  @Test(arguments: [
    [], [""], ["foo"], ["=1"], ["foo="], ["foo =1"], ["FOO=1"], ["foo.bar=1"], ["foo@=1,bar=2"], ["@foo=1,bar=2"],
    ["foo@@bar=1,bar=2"], ["foo@bar@baz=1,bar=2"], ["foo=1=2"], ["foo=\u{7f}"], ["foo=ü"], ["0foo=1"], ["foo@0=1"],
    ["foo=1,foo=2"], ["foo=1", "foo=1"], [members(33)], [String(repeating: "z", count: 257) + "=1"],
    [String(repeating: "t", count: 242) + "@v=1"], ["t@" + String(repeating: "v", count: 15) + "=1"],
    ["a=" + String(repeating: "v", count: 257)],
    ["a=" + String(repeating: "v", count: 256), "b=" + String(repeating: "v", count: 253)],
  ]) func statesThatAreDropped(fields: [String]) {
    #expect(Self.state(fields) == nil)
  }

  @Test func aMalformedStateLeavesTheTrace() {
    let text = "00-\(Self.trace)-\(Self.parent)-01"
    #expect(TraceContext(traceparent: text, tracestate: "a=1")?.traceState == "a=1")
    #expect(TraceContext(traceparent: text, tracestate: "A=1")?.traceState == nil)
    #expect(TraceContext(traceparent: text, tracestate: "A=1")?.traceparent == text)
  }

  @Test func drawnIdentifiers() {
    var random = SeededRandom(seed: 1), same = SeededRandom(seed: 1)
    var ids = TraceIDs(using: &random), twin = TraceIDs(using: &same)
    var traces: Set<String> = []
    var sampled = 0
    for _ in 0..<10_000 {
      let context = ids.begin(by: TraceSampler(share: 0.1))
      #expect(context == twin.begin(by: TraceSampler(share: 0.1)))
      #expect(TraceContext(traceparent: context.traceparent) == context)
      traces.insert(context.traceID)
      if context.isSampled { sampled += 1 }
    }
    #expect(traces.count == 10_000)
    #expect((900...1100).contains(sampled))
    #expect(!ids.begin(by: TraceSampler(share: 0)).isSampled && ids.begin(by: TraceSampler()).isSampled)
    #expect(ids.request().count == 32)
  }
}
