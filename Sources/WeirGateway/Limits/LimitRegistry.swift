import Synchronization
import WeirIO

/// The state of the limits of the present configuration. A reload keeps what it counts by the same key: a limit that has
/// another rate, burst or limit goes on with what its keys have used. What is under way counts also for a limit that
/// has left and is back.
final class LimitRegistry: Sendable {
  private struct Name: Hashable {
    let route: String
    let limit: String
    let key: LimitKey
  }

  private struct Known {
    var rates: [Name: RateLimiter] = [:]
    var concurrency: [Name: ConcurrencyLimiter] = [:]
  }

  private let known = Mutex(Known())

  /// The limiters of routes, in their order; nil for those without limits.
  func follow(_ routes: [Route], at now: MonotonicTime = .now) -> [RouteLimiter?] {
    known.withLock { known in
      var next = Known(concurrency: known.concurrency.filter { $0.value.keyCount > 0 })
      defer { known = next }
      return routes.map { route in
        if route.limits.isEmpty, route.bodyBytes == nil { return nil }
        return RouteLimiter(
          bodyBytes: route.bodyBytes,
          rates: route.limits.rates.map { rule in
            let name = Name(route: route.name, limit: rule.name, key: rule.key)
            let limiter = known.rates[name] ?? RateLimiter(rule)
            limiter.change(to: rule, at: now)
            next.rates[name] = limiter
            return (rule, limiter)
          },
          concurrency: route.limits.concurrency.map { rule in
            let name = Name(route: route.name, limit: rule.label, key: rule.key)
            let limiter = known.concurrency[name] ?? ConcurrencyLimiter()
            next.concurrency[name] = limiter
            return (rule, limiter)
          })
      }
    }
  }
}
