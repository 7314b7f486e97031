import WeirIO

/// A route's limits, with the state that all workers share.
final class RouteLimiter: Sendable {
  enum Verdict {
    /// The request goes on. It takes up places if the route limits what is under way.
    case admitted(LimitPlaces?)
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

  /// Asks the limits in order. A request that one of them refuses keeps no token and no place of the others.
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
    let places = LimitPlaces()
    for (index, entry) in concurrency.enumerated() {
      let fingerprint = entry.rule.key.fingerprint(request)
      let mayExceed = !entry.rule.enforces
      let isWithin = entry.limiter.enter(fingerprint, limit: entry.rule.limit, mayExceed: mayExceed)
      if isWithin || mayExceed { places.add(entry.limiter, fingerprint) }
      if isWithin { continue }
      exceeded(rates.count + index)
      if !mayExceed {
        places.leave()
        giveBack(taken, of: request)
        return .busy(isOfRoute: entry.rule.key == .route)
      }
    }
    return .admitted(places)
  }

  /// - Parameter taken: A bit for each rate limit that has given a token.
  private func giveBack(_ taken: UInt8, of request: some LimitedRequest) {
    for (index, rate) in rates.enumerated() where taken & 1 << UInt8(index) != 0 {
      rate.limiter.giveBack(rate.rule.key.fingerprint(request))
    }
  }
}
