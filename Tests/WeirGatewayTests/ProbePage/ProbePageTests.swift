import Foundation
import Testing
import Weir
import WeirExporter
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// The page as a scraper sees it.
@Suite struct ProbePageTests {
  private let configuration: ProbeConfiguration

  init() throws {
    let text = """
      targets: { otherwise: any }
      modules:
        quick: { prober: http, timeout: 2s }
        named: { prober: http, http: { headers: { Host: a.example } } }
      """
    configuration = try ProbeConfiguration(parsing: Array(text.utf8), file: "probe.yml")
  }

  private func order(_ query: String, _ timeout: String? = nil) throws(ProbeProblem) -> ProbeOrder {
    try ProbePage.order(QueryItems(query), timeout, configuration)
  }

  @Test(
    arguments: [
      ("target=a", nil, 119.5), ("target=a", "10", 9.5), ("target=a", "0.6", 0.3), ("target=a", "0", 119.5),
      ("target=a", "", 119.5),
      ("target=a&module=quick", nil, 2), ("target=a&module=quick", "1", 0.5), ("target=a&module=quick", "10", 2),
    ] as [(String, String?, Double)])
  func timeouts(query: String, scrape: String?, seconds: Double) throws {
    #expect(abs(try order(query, scrape).timeout - seconds) < 0.001)
  }

  @Test(
    arguments: [
      ("", "the target is missing: /probe?target=URL&module=NAME"),
      ("target=", "the target is missing: /probe?target=URL&module=NAME"),
      ("target=a&module=quik", #"unknown module "quik"; did you mean "quick"?"#),
      ("target=a&module=tcp_connect", #"unknown module "tcp_connect"; the probe file has 3"#),
      ("target=%zz", "the target is not percent-encoded UTF-8"),
      (
        "target=a&module=named&hostname=b",
        #"the module has the header Host, "a.example", so that there can be no hostname"#
      ),
    ])
  func refusals(query: String, text: String) {
    let refusal = #expect(throws: ProbeProblem.self) { try order(query) }
    #expect(refusal?.description == text)
  }

  @Test func aHostname() throws {
    let named = try order("target=http%3A%2F%2F10.0.0.1%2Fa%3Fb&hostname=c.example")
    #expect(named.target == "http://10.0.0.1/a?b")
    #expect(named.module.header("Host") == "c.example")
    #expect(try order("target=a&module=named&hostname=a.example").module.header("host") == "a.example")
  }

  /// More than 64 at once are refused, and there is room again once they have ended.
  @Test func atMost64AtOnce() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.forever([.head, .wait(gate), .send(Array(okResponse("ok").utf8))])))
    let page = try ProbePage(configuration)
    var options = Exporter.Options()
    options.pages = [ProbePage.path: page.page]
    options.registersProcessMetrics = false
    let exporter = try Exporter(listenAddress: "127.0.0.1:0", options: options).start()
    defer { exporter.stop(grace: 0) }
    let url = "http://\(exporter.address ?? "")/probe?target=http://127.0.0.1:\(server.port)/"
    let session = Session(configuration: .ephemeral)
    let waiting = (0..<ProbePage.limit).map { _ in Task { await session.request(url).serializingString().response } }
    try await eventually("all are asked") { server.connectionCount == ProbePage.limit }
    // The first session has no connection left.
    let other = Session(configuration: .ephemeral)
    let refused = await other.request(url).serializingString().response
    #expect(refused.response?.statusCode == 503)
    #expect(refused.response?.value(forHTTPHeaderField: "Retry-After") == "1")
    #expect(refused.value?.hasPrefix("64 probes are under way") == true)
    gate.open()
    for task in waiting { #expect(await task.value.value?.contains("\nprobe_success 1\n") == true) }
    let next = await other.request(url).serializingString().response
    #expect(next.value?.contains("\nprobe_success 1\n") == true)
    #expect(next.response?.value(forHTTPHeaderField: "Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
  }

  @Test func hashesOfAddresses() {
    #expect(ProbeMetrics.hash(.v4(0x7f00_0001)) == 3_668_918_509)
    #expect(ProbeMetrics.hash(.v6(high: 0, low: 1)) == 1_751_717_746)
  }

  @Test(
    arguments: [
      ("1B", 1), ("0", 0), ("10MB", 10 << 20), ("1KiB", 1024), ("1.5KB", 1536), ("1MB512KB", (1 << 20) + (512 << 10)),
    ])
  func sizes(text: String, bytes: Int64) { #expect(ByteSize.parse(text) == bytes) }

  @Test(arguments: ["", "MB", "10", "1mb", "-1B", "1B2", "99999EB"])
  func badSizes(text: String) { #expect(ByteSize.parse(text) == nil) }
}
