import Foundation
import Weir
import WeirCurl
import WeirExporter
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Whether the requests that our own engine may run go by it. It alone lets servers switch protocols, and closes idle
/// connections before their age does.
let isOwnEngine = HTTP1EngineChoice.standard == .own

/// A gateway of one worker, named `weir` in Via, in front of what a test gives it.
final class GatewayRig: Sendable {
  let gateway: Gateway
  let registry = Registry()

  /// - Parameter window: Seconds in which one line of a kind is written.
  convenience init(
    _ routes: Route..., workers: Int = 1, pseudonym: String = "weir", window: Double = 10,
    log: Logger = Logger(level: .error)
  ) throws {
    try self.init(Configuration(routes: routes), workers: workers, pseudonym: pseudonym, window: window, log: log)
  }

  init(
    _ configuration: Configuration, workers: Int = 1, pseudonym: String = "weir", connections: Int = .max,
    window: Double = 10, coders: Int = CodingPlan.mostBodies,
    replayBytes: Int = ReplayAccount.mostBytes, spans: (any SpanSink)? = nil, log: Logger = Logger(level: .error)
  ) throws {
    let monitor = try MetricsMonitor(registry: registry)
    var options = Gateway.Options(address: .loopback(port: 0), workers: workers, pseudonym: pseudonym)
    options.connections = connections
    options.failureWindow = window
    options.coders = coders
    options.replayBytes = replayBytes
    options.spans = spans
    gateway = try Gateway(
      configuration, options: options,
      metrics: try GatewayMetrics(registry, client: monitor), observer: monitor, log: log)
    gateway.start()
  }

  func client() throws -> RawClient {
    try RawClient(port: gateway.address.port ?? 0)
  }

  /// The value of a sample, given by its name and labels as the page shows them; nil if it isn't there.
  func sample(_ name: String) -> Double? {
    registry.text().split(separator: "\n").first { $0.hasPrefix(name + " ") }
      .flatMap { Double($0.dropFirst(name.count + 1)) }
  }

  func count(_ outcome: String, route: String = "r") -> Double? {
    sample("weir_gateway_requests_total{route=\"\(route)\",outcome=\"\(outcome)\"}")
  }
}

extension Route {
  /// A route named `r` to a port of this machine.
  init(to port: Int, path: String = "/", name: String = "r") throws {
    self.init(
      name: name, match: RouteMatch(pathPrefix: path), upstream: try Upstream(parsing: "http://127.0.0.1:\(port)"))
  }
}
