import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Compares the events of embedded sessions, and the page of metrics afterwards, with their recordings.
@Suite struct ClientRecordingTests {
  @Test func theClientDoesWhatWasRecorded() async throws {
    let registry = Registry()
    let monitor = try MetricsMonitor(registry: registry)
    var ports = PortNames()
    var events = ""
    var senders: Set<String> = []
    // Kept to the end, so that no two have the same port.
    var servers: [ScriptedServer] = []
    for example in ClientCase.data + ClientCase.kinds + ClientCase.controls + ClientCase.cancelled {
      let server = try example.startServer()
      if let server { servers.append(server) }
      let port = server?.port ?? LoopbackPort.free()
      ports.name(example.slug, port: port)
      let stage = try ClientStage(url: "http://127.0.0.1:\(port)/", events: EventLog(ports), monitor: monitor)
      try await example.run(stage)
      let happened = try await stage.finish()
      if happened.contains("didSendBodyData") { senders.insert(example.slug) }
      events += "### \(example.name)\n" + happened
    }
    try Recording("client-events").check(events)
    try Recording("client-page").check(MetricsPage.recorded(registry.text(), ports, senders: senders))
    for server in servers { server.stop() }
  }
}
