import Testing
import Weir
import WeirCurl
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Metrics mean the same with either engine: the same requests lead to the same page.
@Suite(.timeLimit(.minutes(5))) struct EngineMetricsTests {
  @Test func bothEnginesCountTheSame() async throws {
    let (libcurl, own) = (try await Self.lines(.libcurl), try await Self.lines(.own))
    #expect(libcurl.contains { $0.hasPrefix("http_client_request_duration_seconds_count") })
    #expect(libcurl.contains { $0.hasPrefix("weir_stale_connection_retries_total") && $0.hasSuffix(" 1") })
    // libcurl does not tell of bytes that are no response, so that its engine knows of no first byte.
    let untold = own.subtracting(libcurl).filter { $0.contains("not-a-response") && $0.contains("\"transfer\"") }
    #expect(own.subtracting(libcurl) == untold)
    #expect(libcurl.subtracting(own) == [])
  }

  /// The page's samples, one for each destination.
  private static func lines(_ engine: HTTP1EngineChoice) async throws -> Set<String> {
    let registry = Registry()
    let monitor = try MetricsMonitor(registry: registry)
    var ports = PortNames()
    var senders: Set<String> = []
    // Kept to the end, so that no two have the same port.
    var servers: [ScriptedServer] = []
    let cases = ClientCase.metrics
    #expect(cases.count >= 20)
    for example in cases {
      let server = try example.startServer()
      if let server { servers.append(server) }
      let port = server?.port ?? LoopbackPort.free()
      ports.name(example.slug, port: port)
      let stage = try ClientStage(
        url: "http://127.0.0.1:\(port)/", events: EventLog(ports), monitor: monitor, engine: engine)
      try await example.run(stage)
      if try await stage.finish().contains("didSendBodyData") { senders.insert(example.slug) }
    }
    let page = MetricsPage.recorded(registry.text(), ports, senders: senders)
    for server in servers { server.stop() }
    return Set(page.split(separator: "\n").flatMap(Self.separated))
  }

  /// A line for each of the destinations that a line of a recorded page names.
  private static func separated(_ line: Substring) -> [String] {
    let mark = "server_port=\""
    guard let start = line.range(of: mark)?.upperBound else { return [String(line)] }
    let names = line[start...].prefix { $0 != "\"" }
    return names.split(separator: " ").map { "\(line[..<start])\($0)\(line[names.endIndex...])" }
  }
}
