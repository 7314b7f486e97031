import Testing
import WeirTransport

@testable import WeirGateway

@Suite struct TraceConfigurationTests {
  private static func read(_ text: String) throws -> Configuration {
    try Configuration(
      parsing: Array((text + "routes: [{name: a, respond: {status: 200}}]\n").utf8), file: "weir.yml")
  }

  @Test func everythingIsRead() throws {
    #expect(try Self.read("").trace == nil && Self.read("").requestID == nil)
    #expect(try Self.read("trace: off\nrequestId: off\n").trace == nil)
    #expect(try Self.read("trace: {}\n").trace == TraceSettings(sample: 0.01, sampler: TraceSampler(share: 0.01)))
    #expect(
      try Self.read("trace: { begin: true, sample: 1, keepFailures: true, keepSlower: 500ms }\n").trace
        == TraceSettings(
          begins: true, sample: 1, keepsFailures: true, keepsSlower: 0.5, sampler: TraceSampler(share: 1)))
    #expect(try Self.read("requestId: {}\n").requestID == RequestIDSettings(header: "X-Request-ID", trust: true))
    #expect(
      try Self.read("requestId: { header: X-Id, trust: false }\n").requestID
        == RequestIDSettings(header: "X-Id", trust: false))
  }

  @Test(arguments: [
    ("trace: { sample: 2 }\n", "1:18: trace.sample: must be 0 to 1"),
    ("trace: { begin: 1 }\n", "1:17: trace.begin: expected true or false"),
    ("trace: { keepSlower: 1s }\n", "1:22: trace.keepSlower: is of no use without keepFailures: true"),
    ("trace: on\n", "1:8: trace: expected a mapping (key: value) or off"),
    ("trace: { ratio: 1 }\n", "1:10: trace.ratio: unknown key; known keys are begin, keepFailures, keepSlower, sample"),
    ("requestId: { header: a b }\n", "1:22: requestId.header: \"a b\" is not a field name"),
    ("requestId: { header: Via }\n", "1:22: requestId.header: the gateway finds loops by Via; leave it out"),
    ("requestId: { header: Date }\n", "1:22: requestId.header: Date is not the route's to change; leave it out"),
    (
      "requestId: { header: X-Forwarded-For }\n",
      "1:22: requestId.header: X-Forwarded-For has a meaning of its own here"
    ),
    ("requestId: { name: x }\n", "1:14: requestId.name: unknown key; known keys are header, trust"),
  ]) func problemsSayWhatToChange(text: String, problem: String) {
    let error = #expect(throws: ConfigurationError.self) { try Self.read(text) }
    #expect(error?.description.contains("weir.yml:" + problem) == true, "\(error?.description ?? "")")
  }
}
