import Testing
import Weir
import WeirExporter
import WeirGateway
import WeirIO
import WeirTestSupport

/// The traces of sampled requests, as a real Prometheus keeps them.
@Suite(.needs(.prometheus, .curl)) struct ExemplarTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

  @Test func prometheusKeepsTheTraces() async throws {
    let port = LoopbackPort.free()
    let exporter = try Exporter(listenAddress: "127.0.0.1:\(port)").start()
    let monitor = try MetricsMonitor(registry: exporter.registry)
    let server = try ScriptedServer(.answering(okResponse("ok")))
    let file = "trace: {}\nroutes: [{name: shop, upstream: 'http://127.0.0.1:\(server.port)'}]\n"
    let gateway = try Gateway(
      Configuration(parsing: Array(file.utf8), file: "weir.yml"), options: .init(address: .loopback(port: 0)),
      metrics: GatewayMetrics(exporter.registry, client: monitor), observer: monitor, log: Logger(level: .error))
    gateway.start()
    var configuration = SessionConfiguration()
    configuration.traceContext = { TraceContext(traceparent: "00-\(Self.trace)-00f067aa0ba902b7-01") }
    let session = Session(configuration: configuration, eventMonitors: [monitor])
    let prometheus = try await PrometheusServer(jobs: ["weir": [port]], features: ["exemplar-storage"])
    let url = "http://127.0.0.1:\(gateway.address.port ?? 0)/"
    #expect(await session.request(url).serializingString().response.value == "ok")
    for (name, count) in [("http_server_request_duration_seconds", 1), ("weir_request_duration_seconds", 2)] {
      let found = try await eventually("exemplars of \(name)") {
        let found = try await prometheus.exemplars(of: name + "_bucket")
        return Set(found.map(\.series)).count >= count ? found : nil
      }
      #expect(found.allSatisfy { $0.exemplar == ["trace_id": Self.trace] }, "\(name): \(found)")
    }
    await gateway.stop(grace: 0)
    await exporter.stop(grace: 0)
  }
}
