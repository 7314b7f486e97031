import Metrics
import ServiceLifecycle
import Vapor
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
    var environment = try Environment.detect()
    try LoggingSystem.bootstrap(from: &environment)
    // Here comes InstrumentationSystem.bootstrap(…), with the tracer of your choice.

    // One page for all that the process counts, Vapor's requests too: http://127.0.0.1:9464/metrics
    let exporter = try Exporter().start()
    MetricsSystem.bootstrap(RegistryFactory(exporter.registry))
    // Vapor has a type of this name too.
    let session = Weir.Session(
      configuration: .server, interceptor: RetryPolicy.recommended(),
      eventMonitors: [try MetricsMonitor(registry: exporter.registry)])

    let application = try await Application.make(environment)
    // Longer than a request may take; by default Vapor ends them after 10 s.
    application.http.server.configuration.shutdownTimeout = .seconds(35)
    application.middleware.use(TracingMiddleware())
    application.get("price", ":item") { request in
      let item = try request.parameters.require("item")
      let price = try await session.request("https://api.example.com/price", parameters: ["item": item])
        .operation("GET /price").traced(in: request.serviceContext).log(to: request.logger).validate()
        .serializingDecodable(Price.self).value
      return "\(price.amount)"
    }

    // Vapor ends by itself on SIGTERM. Then the session drains, which its requests needed, and then the page.
    let services = ServiceGroup(
      services: [ExporterService(exporter), SessionService(session)], logger: application.logger)
    async let drained: Void = services.run()
    do {
      try await application.execute()
    } catch {
      try? await application.asyncShutdown()
      throw error
    }
    try await application.asyncShutdown()
    await services.triggerGracefulShutdown()
    try await drained
  }
}
