import WeirExporter
import WeirIO
import WeirMetrics
import WeirServer
import WeirTransport

// The clients that may use listeners and routes, the credentials that routes ask for, and routes' limits.
extension Forwarding {
  /// Whether the request may enter the route that was found for it, whose access rules and limits are asked in this order.
  /// If not, it has been answered, or it waits and will ask again.
  func enters(_ index: Int) -> Bool {
    route = index
    let access = plan.plan.routeAccess[index]
    guard isAllowed(by: access?.clients), isWithinSize() else { return false }
    if let access, !isAuthenticated(for: access) { return false }
    return isWithinLimits(index)
  }

  /// Whether rules about clients let the request's client in. If not, it has been answered.
  func isAllowed(by rules: ClientRules?) -> Bool {
    guard let rules, !rules.admit(client) else { return true }
    answer(.forbidden, as: .forbidden)
    return false
  }

  /// Whether a CONNECT has come to a forward proxy, or the request is none. If not, it has been answered.
  func makesTunnels(_ method: String) -> Bool {
    guard knownMethod.isConnect(method), !context.isForwardProxy || exchange.head.form != .authority else {
      return true
    }
    answer(.connectRefused, as: .refused)
    return false
  }

  /// Whether the request has valid credentials, if its route asks for them. If not, it has been answered, or it waits.
  func isAuthenticated(for access: RouteAccess) -> Bool {
    guard let gatekeeper = access.gatekeeper, !isAuthenticated else { return true }
    // All requests that come to a forward proxy give a proxy's credentials (RFC 9110 §11.7).
    let name = context.isForwardProxy ? "Proxy-Authorization" : "Authorization"
    // The exchange keeps this request as long as its client stays.
    let verdict = gatekeeper.admit(
      exchange.head.fields.combined(name), of: limitedAddress, on: exchange.loop
    ) { [weak self] verdict in
      self?.isJudged(verdict, for: access)
    }
    if let verdict { return follows(verdict, for: access) }
    exchange.onAbort = { [self] in
      isClientGone = true
      endWithoutClient(.cancelled)
    }
    return false
  }

  /// A password has been checked, for which the request has waited.
  private func isJudged(_ verdict: Gatekeeper.Verdict, for access: RouteAccess) {
    if isOver { return }
    exchange.onAbort = nil
    if follows(verdict, for: access) { start(method: exchange.head.method) }
  }

  private func follows(_ verdict: Gatekeeper.Verdict, for access: RouteAccess) -> Bool {
    switch verdict {
    case .granted(let name):
      isAuthenticated = true
      user = name
      return true
    case .denied:
      answer(.unauthorized(access.challenges, isForProxy: context.isForwardProxy), as: .unauthorized)
    case .barred(let seconds): answer(.tooManyPasswords(seconds: seconds), as: .unauthorized)
    case .busy: answer(.tooManyChecks, as: .busy)
    }
    return false
  }
}

// A route's limits: on the size of a request's body, on how many requests come, and on how many are under way.
extension Forwarding {
  /// The most bytes of a request's body that the route takes; nil without a limit of its own.
  var bodyLimit: Int64? { plan.plan.limiters[route]?.bodyBytes }

  /// Whether the request's body is not known to be larger than its route takes. If it is, the request has been answered.
  private func isWithinSize() -> Bool {
    guard let bodyLimit, case .length(let length) = exchange.head.bodyLength, length > bodyLimit else { return true }
    exchange.closeAfterResponse()
    answer(BodyDefect.overLimit.answer, as: BodyDefect.overLimit.outcome)
    return false
  }

  /// Whether the route's limits admit the request. If not, it has been answered.
  func isWithinLimits(_ index: Int) -> Bool {
    guard let limiter = plan.plan.limiters[index] else { return true }
    switch limiter.admit(self, at: exchange.loop.turnTime, exceeded: { plan.series[index].limited[$0].increment() }) {
    case .admitted(let permits):
      self.permits = permits
      return true
    case .rateLimited(let seconds): answer(.rateLimited(retryAfter: seconds), as: .rateLimited)
    case .busy(let isOfRoute): answer(isOfRoute ? .routeIsBusy : .clientIsBusy, as: .busy)
    }
    return false
  }

  /// Gives back the request's permits, unless a tunnel has them.
  func releasePermits() {
    guard let permits else { return }
    permits.release()
    self.permits = nil
  }

  /// Whether more of the body has come than its route takes.
  var isOverLimit: Bool { exchange.bytesIn > bodyLimit ?? .max }
}

extension Forwarding: LimitedRequest {
  var limitedAddress: IPAddress? { if case .ip(let address) = client { address } else { nil } }

  func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void) {
    exchange.head.fields.forEachValue(of: name, body)
  }
}

extension Forwarding: RequestSender {
  var listener: [UInt8] { context.name }
  var isForwardProxy: Bool { context.isForwardProxy }
}

/// The access rules of a route, prepared.
final class RouteAccess: Sendable {
  /// Nil if all clients may enter.
  let clients: ClientRules?
  /// Nil if no credentials are asked for.
  let gatekeeper: Gatekeeper?
  /// The challenges for clients that have to log in (RFC 9110 §11.6.1).
  let challenges: [String]

  /// Nil for a route without such rules.
  init?(_ route: Route, _ gatekeepers: [AccessRules: Gatekeeper]) {
    if route.clients == nil, route.auth == nil { return nil }
    clients = route.clients
    gatekeeper = route.auth.flatMap { gatekeepers[$0.rules] }
    challenges = route.auth.map { $0.rules.challenges(realm: $0.realm ?? route.name) } ?? []
  }
}
