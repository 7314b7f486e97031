import WeirIO
import WeirServer

// A route's limits: on the size of a request's body, on how many requests come, and on how many are under way.
extension Forwarding {
  /// Whether the request's body is not known to be larger than its route takes. If it is, the request has been answered.
  func isWithinSize(_ index: Int) -> Bool {
    guard let limit = plan.plan.limiters[index]?.bodyBytes, case .length(let length) = exchange.head.bodyLength,
      length > limit
    else { return true }
    exchange.closeAfterResponse()
    answer(BodyDefect.overLimit.answer, as: BodyDefect.overLimit.outcome)
    return false
  }

  /// Whether the route's limits admit the request. If not, it has been answered.
  func isWithinLimits(_ index: Int) -> Bool {
    guard let limiter = plan.plan.limiters[index] else { return true }
    let verdict = limiter.admit(self, at: exchange.loop.turnTime) { plan.countLimited(index, $0) }
    switch verdict {
    case .admitted(let places):
      limitPlaces = places
      return true
    case .rateLimited(let seconds): answer(.rateLimited(retryAfter: seconds), as: .rateLimited)
    case .busy(let isOfRoute): answer(isOfRoute ? .routeIsBusy : .clientIsBusy, as: .busy)
    }
    return false
  }

  /// Gives back the request's places, unless a tunnel has them.
  func leaveLimits() {
    guard let limitPlaces else { return }
    limitPlaces.leave()
    self.limitPlaces = nil
  }

  /// Whether more of the body has come than its route takes.
  var isOverLimit: Bool {
    guard let limit = plan.plan.limiters[route]?.bodyBytes else { return false }
    return exchange.bytesIn > limit
  }
}

extension Forwarding: LimitedRequest {
  var limitedAddress: IPAddress? { if case .ip(let address) = client { address } else { nil } }

  func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void) {
    exchange.head.fields.forEachValue(of: name, body)
  }
}
