import Hummingbird
import Metrics
import Weir
import WeirExporter
import WeirServiceLifecycle
import WeirSwiftLog
import WeirSwiftMetrics
import WeirTracing

/// Answers what things cost, by asking another service.
@main struct PriceService {
  struct Price: Decodable, Sendable { let amount: Double }

  static func main() async throws {
    // Here come LoggingSystem.bootstrap(…) and InstrumentationSystem.bootstrap(…), with the handler and the tracer of
    // your choice.

    // One page for all that the process counts: http://127.0.0.1:9464/metrics
    let exporter = try Exporter()
    MetricsSystem.bootstrap(RegistryFactory(exporter.registry))
    let session = Session(
      configuration: .server, interceptor: RetryPolicy.recommended(),
      eventMonitors: [try MetricsMonitor(registry: exporter.registry)])

    let router = Router()
    router.add(middleware: TracingMiddleware())
    router.add(middleware: MetricsMiddleware())
    router.get("price/:item") { _, context in
      let item = try context.parameters.require("item")
      let price = try await session.request("https://api.example.com/price", parameters: ["item": item])
        .operation("GET /price").traced().log(to: context.logger).validate()
        .serializingDecodable(Price.self).value
      return "\(price.amount)"
    }

    // They shut down from the last to the first: the server, then the session that its requests need, then the page.
    let application = Application(router: router, services: [ExporterService(exporter), SessionService(session)])
    try await application.runService()
  }
}
