import WeirMetrics

/// A plan with what one worker keeps while it follows it. Confined to the worker's loop.
final class ActivePlan {
  let plan: ForwardingPlan
  private let metrics: GatewayMetrics
  private var cache: SeriesCache

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

  func countRefused() {
    metrics.requests.with("", GatewayOutcome.refused.label).increment()
  }
}
