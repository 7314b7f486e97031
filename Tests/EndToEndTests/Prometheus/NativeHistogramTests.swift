import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// Native histograms, and the rules that read them, in a real Prometheus.
@Suite(.needs(.prometheus, .curl)) struct NativeHistogramTests {
  @Test func prometheusKeepsThemAndTheRulesReadThem() async throws {
    let port = LoopbackPort.free()
    let registry = Registry(nativeHistograms: .all)
    let exporter = try Exporter(registry: registry, listenAddress: "127.0.0.1:\(port)").start()
    let depth = try registry.histogram("depth_meters", help: "Of either sign.", buckets: [-1, 1], labels: "side")
    let session = Session(eventMonitors: [try MetricsMonitor(registry: registry)])
    // Each request connects anew, and fails.
    let answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    let server = try ScriptedServer(.answering(answer))
    let prometheus = try await PrometheusServer(
      jobs: ["weir": [port]], rules: PrometheusServer.shippedRules, features: ["native-histograms"])

    for rule in [
      "job_destination:weir_request_duration_seconds:p99_rate10m", "job_destination:weir_connect_seconds:p99_rate5m",
      "job_destination:weir_attempt_failures:ratio_rate5m",
    ] {
      try await eventually(rule) {
        #expect(await session.request("http://127.0.0.1:\(server.port)/").serializingString().response.value == "ok")
        depth.with("above").observe(0.5)
        depth.with("below").observe(-3)
        return try await prometheus.value(rule) != nil
      }
    }
    // Quantiles lie in the buckets of what was observed.
    let above = try #require(try await prometheus.value("histogram_quantile(0.9, depth_meters{side='above'})"))
    let below = try #require(try await prometheus.value("histogram_quantile(0.9, depth_meters{side='below'})"))
    #expect(above > 0.458 && above <= 0.5 && below >= -3.085 && below < -2.828)
    // Prometheus keeps one series for each label set.
    #expect(try await prometheus.value("count(depth_meters)") == 2)
    #expect(try await prometheus.value("count({__name__=~'depth_meters_.+'})") == nil)
    for rule in try await prometheus.rules() { #expect(rule.lastError ?? "" == "", "\(rule)") }
    await exporter.stop(grace: 0)
  }
}
