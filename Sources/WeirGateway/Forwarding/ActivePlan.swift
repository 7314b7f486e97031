import WeirIO
import WeirMetrics

/// A plan with what one worker keeps while it follows it. Confined to the worker's loop.
final class ActivePlan {
  let plan: ForwardingPlan
  private let metrics: GatewayMetrics
  private var cache: SeriesCache
  private var lastPeer: (address: SocketAddress, text: [UInt8]) = (.unnamed, [])

  init(_ plan: ForwardingPlan, _ metrics: GatewayMetrics) {
    self.plan = plan
    self.metrics = metrics
    cache = SeriesCache(metrics, routes: plan.routes.map(\.route.name))
  }

  func began(_ method: KnownMethod) {
    cache.active(method).increment()
  }

  func ended(_ key: SeriesCache.Key, seconds: Double) {
    cache.active(key.method).decrement()
    let series = cache.series(key)
    series.duration.observe(seconds)
    series.count.increment()
  }

  /// A peer's IP address as text, without port and zone; empty for a Unix socket.
  ///
  /// Requests tend to come from few addresses, often from one, and to write an address costs more than to compare it.
  func text(of peer: SocketAddress) -> [UInt8] {
    let address = peer.withoutPort
    if address == lastPeer.address { return lastPeer.text }
    let text = Array(address.ipText.utf8)
    lastPeer = (address, text)
    return text
  }

  func countRefused() {
    metrics.requests.with("", GatewayOutcome.refused.label).increment()
  }
}

extension SocketAddress {
  fileprivate var withoutPort: SocketAddress {
    switch self {
    case .v4(let address, _): .v4(address, port: 0)
    case .v6(let high, let low, _, _): .v6(high: high, low: low, port: 0)
    case .unix, .unnamed: .unnamed
    }
  }

  fileprivate var ipText: String {
    switch self {
    case .v4, .v6: host
    case .unix, .unnamed: ""
    }
  }
}
