// docs/embedding.md begins
import Synchronization
import Weir
import WeirExporter
import WeirMetrics

/// Answers what things cost: from memory, or by asking another service. Its metrics are beside the client's.
final class PriceService: Sendable {
  struct Price: Decodable, Sendable { let amount: Double }

  enum Source: String, LabelValue { case memory, upstream, nowhere }

  let exporter: Exporter
  private let upstream: String
  private let session: Session
  private let served: CounterFamily<Source>
  private let known = Mutex<[String: Price]>([:])

  init(upstream: String, metrics address: String = "127.0.0.1:9464") throws {
    self.upstream = upstream
    exporter = try Exporter(listenAddress: address)
    let registry = exporter.registry

    // A counter that the code moves. All sources begin at 0, so that the first failure is an increase.
    served = try registry.counter(
      "prices_served_total", help: "Prices asked for, by where the answer came from.",
      labels: Label("source", as: Source.self))
    for source in [Source.memory, .upstream, .nowhere] { _ = served.with(source) }

    session = Session(
      configuration: .server, interceptor: RetryPolicy.recommended(),
      eventMonitors: [try MetricsMonitor(registry: registry)])

    // A gauge that is asked for when Prometheus reads the page.
    try registry.gauge("prices_known", help: "Prices in memory.") { [weak self] in
      self.map { service in Double(service.known.withLock { $0.count }) }
    }
    try exporter.start()
  }

  func price(of item: String) async throws -> Price {
    if let price = known.withLock({ $0[item] }) {
      served.with(.memory).increment()
      return price
    }
    do {
      let price = try await session.request("\(upstream)/price", parameters: ["item": item]).validate()
        .serializingDecodable(Price.self).value
      known.withLock { $0[item] = price }
      served.with(.upstream).increment()
      return price
    } catch {
      served.with(.nowhere).increment()
      throw error
    }
  }
}
// docs/embedding.md ends
