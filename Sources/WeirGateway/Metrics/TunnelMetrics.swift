import WeirMetrics

/// How a tunnel ended: the `outcome` label of `weir_gateway_tunnels_total`.
enum TunnelOutcome: String, CaseIterable {
  /// The client and the upstream have both ended their sides, or the upstream is gone in good order.
  case success
  /// Nothing came from either side for too long.
  case idle
  /// The client has reset its connection, or cut it.
  case clientLeft = "client_left"
  /// The upstream has reset its connection, or cut it.
  case upstreamFailed = "upstream_failed"
  /// The gateway has closed it: it stops, or the client took nothing for too long.
  case closed
}

/// The metrics of tunnels. Only routes that allow them have series.
final class TunnelMetrics: Sendable {
  private let open: GaugeFamily<String>
  private let ended: CounterFamily<(String, String)>
  private let bytes: CounterFamily<(String, String)>

  init(_ registry: Registry) throws(RegistryError) {
    let routes = 2 * Configuration.maximumRoutes
    open = try registry.gauge(
      "weir_gateway_open_tunnels", help: "Tunnels of clients to upstreams that are open.", seriesLimit: routes,
      labels: "route")
    ended = try registry.counter(
      "weir_gateway_tunnels_total", help: "Tunnels that ended, by route and outcome.",
      seriesLimit: routes * TunnelOutcome.allCases.count, labels: "route", "outcome")
    bytes = try registry.counter(
      "weir_gateway_tunnel_bytes_total", help: "Bytes that came through tunnels, by route and direction.",
      seriesLimit: routes * 2, labels: "route", "direction")
  }

  /// Makes the series of a route at zero.
  func prepare(_ route: String) {
    _ = series(of: route)
    for outcome in TunnelOutcome.allCases { _ = ended.with(route, outcome.rawValue) }
  }

  func remove(_ gone: LabelChoice) {
    open.removeAll(gone)
    ended.removeAll(gone)
    bytes.removeAll(gone)
  }

  func series(of route: String) -> TunnelSeries {
    TunnelSeries(
      open: open.with(route), toUpstream: bytes.with(route, "to_upstream"), toClient: bytes.with(route, "to_client"),
      ended: ended, route: route)
  }
}

/// The series that one tunnel changes.
struct TunnelSeries {
  let open: Gauge
  let toUpstream: Counter
  let toClient: Counter
  fileprivate let ended: CounterFamily<(String, String)>
  fileprivate let route: String

  func count(_ outcome: TunnelOutcome) {
    ended.with(route, outcome.rawValue).increment()
  }
}
