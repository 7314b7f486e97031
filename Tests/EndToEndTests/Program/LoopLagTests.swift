import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Each event loop of a process has a series of its own.
@Suite(.needs(.weir, .curl)) struct LoopLagTests {
  /// The values of the label `loop`.
  private static func loops(_ page: String) -> Set<String> {
    let sample = #/weir_event_loop_lag_seconds_count\{loop="([^"]*)"\}/#
    return Set(page.matches(of: sample).map { String($0.output.1) })
  }

  @Test func aGatewayShowsEachWorkerAndTheExporter() async throws {
    let weir = try await WeirProgram(["--gateway.workers=2"])
    let page = try await CurlAnswer.get(weir.metricsURL("/metrics")).body
    #expect(Self.loops(page) == ["gateway.0", "gateway.1", "metrics"])
  }

  @Test func aClientShowsItsSessions() async throws {
    let exporter = try Exporter(listenAddress: "127.0.0.1:0").start()
    defer { exporter.stop(grace: 0) }
    let monitor = try MetricsMonitor(registry: exporter.registry)
    let session = Session(eventMonitors: [monitor])
    monitor.session(session, loopLag: 0.2)
    let page = exporter.registry.text()
    #expect(Self.loops(page) == ["metrics", "session"])
    #expect(page.contains("weir_event_loop_lag_seconds_bucket{loop=\"session\",le=\"0.1\"} 0\n"))
  }
}
