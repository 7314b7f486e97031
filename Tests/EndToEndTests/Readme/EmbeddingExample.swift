import Weir
import WeirExporter

/// README's example, compiled: what stands between the marks stands in README, word for word.
func embeddingExample() async throws {
  // README begins
  let exporter = try Exporter(listenAddress: "127.0.0.1:9465").start()  // http://127.0.0.1:9465/metrics
  let session = Session(
    configuration: .server, interceptor: RetryPolicy.recommended(),
    eventMonitors: [try MetricsMonitor(registry: exporter.registry)])

  struct Price: Decodable, Sendable { let amount: Double }
  let price = try await session.request("https://api.example.com/price").validate()
    .serializingDecodable(Price.self).value
  // README ends
  print(price.amount)
}
