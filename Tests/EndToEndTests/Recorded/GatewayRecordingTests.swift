import Testing
import WeirTestSupport

/// Compares the bytes that clients and upstreams receive through the gateway, its log, and its page of metrics with
/// their recordings.
@Suite(.needs(.shippedWeir)) struct GatewayRecordingTests {
  @Test func theGatewayDoesWhatWasRecorded() async throws {
    let groups = WireGroup.all
    let bench = try await WireBench(groups.flatMap(\.routes))
    for example in groups.flatMap(\.cases) { try await bench.run(example) }
    try Recording("gateway-wire").check(bench.wire)
    try Recording("gateway-page").check(try await bench.page())
    try await bench.recordRepeated(3)
    try Recording("gateway-log").check(bench.log)
  }
}

/// Cases of one topic, and the routes that they use.
struct WireGroup {
  let routes: [WireRoute]
  let cases: [WireCase]

  static var all: [WireGroup] { [.fields, .targets, .bodies, .connections, .retries, .failures, .controls] }
}
