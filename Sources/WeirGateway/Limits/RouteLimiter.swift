import Synchronization
import WeirIO

/// A route's limits, with the state that all workers share.
final class RouteLimiter: Sendable {
  enum Verdict {
    /// The request goes on. It has permits if the route limits what is under way.
    case admitted(ConcurrencyPermits?)
    /// There will be a token after so many seconds.
    case rateLimited(retryAfter: Int)
    /// So many requests are under way, of the whole route or of the request's key.
    case busy(isOfRoute: Bool)
  }

  typealias Rate = (rule: RateLimit, limiter: RateLimiter)
  typealias Concurrency = (rule: ConcurrencyLimit, limiter: ConcurrencyLimiter)

  /// The most bytes of a request's body; nil if only the listener limits them.
  let bodyBytes: Int64?
  private let rates: [Rate]
  private let concurrency: [Concurrency]

  init(bodyBytes: Int64?, rates: [Rate], concurrency: [Concurrency]) {
    self.bodyBytes = bodyBytes
    self.rates = rates
    self.concurrency = concurrency
  }

  /// Asks the limits in order. A request that one of them refuses keeps no token and no permit of the others.
  ///
  /// - Parameter exceeded: Called with the number of each limit that the request exceeds, of all limits in order. All of
  ///   them only count but the last one, if the request is refused.
  func admit(_ request: some LimitedRequest, at now: MonotonicTime, exceeded: (Int) -> Void) -> Verdict {
    var taken: UInt8 = 0
    for (index, rate) in rates.enumerated() {
      guard let seconds = rate.limiter.take(rate.rule.key.fingerprint(request), at: now) else {
        taken |= 1 << UInt8(index)
        continue
      }
      exceeded(index)
      if rate.rule.enforces {
        giveBack(taken, of: request)
        return .rateLimited(retryAfter: seconds)
      }
    }
    if concurrency.isEmpty { return .admitted(nil) }
    let permits = ConcurrencyPermits()
    for (index, entry) in concurrency.enumerated() {
      let fingerprint = entry.rule.key.fingerprint(request)
      let mayExceed = !entry.rule.enforces
      let isWithin = entry.limiter.enter(fingerprint, limit: entry.rule.limit, mayExceed: mayExceed)
      if isWithin || mayExceed { permits.add(entry.limiter, fingerprint) }
      if isWithin { continue }
      exceeded(rates.count + index)
      if !mayExceed {
        permits.release()
        giveBack(taken, of: request)
        return .busy(isOfRoute: entry.rule.key == .route)
      }
    }
    return .admitted(permits)
  }

  /// - Parameter taken: A bit for each rate limit that has given a token.
  private func giveBack(_ taken: UInt8, of request: some LimitedRequest) {
    for (index, rate) in rates.enumerated() where taken & 1 << UInt8(index) != 0 {
      rate.limiter.giveBack(rate.rule.key.fingerprint(request))
    }
  }
}

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

/// A request as limits see it.
protocol LimitedRequest {
  /// The client's address; nil if it has none, as the clients of Unix sockets.
  var limitedAddress: IPAddress? { get }
  /// The name under which the client has authenticated itself.
  var user: [UInt8]? { get }
  /// Calls `body` with each value of a field, in order. The bytes are valid during the call.
  func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void)
}

extension LimitKey {
  /// A hash of the request's part, not 0. Requests without the part share one. Its seed is the process's, so that no
  /// client can choose parts that collide.
  func fingerprint(_ request: some LimitedRequest) -> UInt64 {
    var hasher = Hasher()
    switch self {
    case .route: break
    case .client(let prefix6): Self.combine(request.limitedAddress, prefix6, into: &hasher)
    case .user: request.user?.withUnsafeBytes { Self.combine($0, into: &hasher) }
    case .header(let name):
      var isFirst = true
      request.forEachValue(of: name) { value in
        if isFirst { Self.combine(value, into: &hasher) }
        isFirst = false
      }
    }
    return max(1, UInt64(bitPattern: Int64(hasher.finalize())))
  }

  private static func combine(_ address: IPAddress?, _ prefix6: Int, into hasher: inout Hasher) {
    switch address {
    case .v4(let number)?: hasher.combine(number)
    case .v6(let high, let low)?:
      hasher.combine(high & mask(prefix6))
      hasher.combine(low & mask(prefix6 - 64))
    case nil: break
    }
  }

  /// An empty part is another than none.
  private static func combine(_ bytes: UnsafeRawBufferPointer, into hasher: inout Hasher) {
    hasher.combine(UInt8(1))
    hasher.combine(bytes: bytes)
  }

  /// The first bits of 64.
  private static func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? .max : ~(.max >> UInt64(bits)) }
}
