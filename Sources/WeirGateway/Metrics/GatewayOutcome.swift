import WeirServer
import WeirTransport

/// The outcome of the gateway's work on one request: the `outcome` label of `weir_gateway_requests_total`.
enum GatewayOutcome: Hashable, Sendable {
  /// The request was forwarded, with this outcome in the transport's words.
  case forwarded(RequestOutcome)
  /// The upstream has no endpoint: 503.
  case noEndpoint
  /// A limit of the route on what is under way is reached: 429 or 503. That is no failure.
  case busy
  /// A rate limit of the route is reached: 429.
  case rateLimited
  /// The client's network may not use the listener or the route, or a forward proxy may not go to the target: 403.
  case forbidden
  /// The request has no valid credentials: 401, 407 by a forward proxy, or 429 after too many wrong passwords.
  case unauthorized
  /// The request's body is larger than the route takes: 413.
  case tooLarge
  /// No route matched: 404.
  case unrouted
  /// The request is malformed, or of a kind that a gateway does not take: 4xx, 501.
  case refused
  /// The client's body came too slowly: 408.
  case bodyTimeout
  /// The request has been here before: 508.
  case loop
  /// The gateway itself was the recipient (Max-Forwards).
  case answered
  /// The route says the answer: a redirect or a fixed response. Its label is that of `answered`, but no status of it is
  /// a failure.
  case answeredByRoute

  var label: String {
    switch self {
    case .forwarded(let outcome): outcome.rawValue
    case .noEndpoint: "no_endpoint"
    case .busy: "busy"
    case .rateLimited: "rate_limited"
    case .forbidden: "forbidden"
    case .unauthorized: "unauthorized"
    case .tooLarge: "too_large"
    case .unrouted: "no_route"
    case .refused: "refused"
    case .bodyTimeout: "body_timeout"
    case .loop: "loop"
    case .answered, .answeredByRoute: "answered"
    }
  }

  /// The outcome of a forwarded request that has the gateway's own answer.
  init(_ outcome: RequestOutcome, _ failure: ExchangeFailure?) {
    self = failure == .rejected(.noEndpoint) ? .noEndpoint : .forwarded(outcome)
  }

  /// The outcome of a request that the server refused in the middle of its body.
  init(_ refusal: RequestRefusal) {
    self = refusal.status == 408 ? .bodyTimeout : .refused
  }

  /// OpenTelemetry's `error.type` of the server's side: errors of the server, none of its client.
  func errorType(status: Int) -> String {
    switch self {
    case .forwarded(.success), .forwarded(.httpError), .unrouted, .refused, .bodyTimeout, .loop, .answered:
      status >= 500 ? String(status) : ""
    case .answeredByRoute, .busy, .rateLimited, .forbidden, .unauthorized, .tooLarge: ""
    case .noEndpoint: label
    case .forwarded(let outcome): outcome.rawValue
    }
  }

  /// Whether a limit or an access rule of the configuration refused the request.
  var isOwnRefusal: Bool { Self.ofRefusals.contains(self) }

  /// Whether the client did not get its response, through no fault of its own.
  func isFailure(status: Int) -> Bool {
    switch self {
    case .forwarded(.cancelled), .forwarded(.creationFailed): false
    default: !errorType(status: status).isEmpty
    }
  }

  /// The outcomes that requests of a route can have; with a body that is refused also ``refused``.
  static let ofRoutes: [GatewayOutcome] =
    RequestOutcome.allCases.map(GatewayOutcome.forwarded) + [.noEndpoint, .bodyTimeout, .loop, .answered]
  /// Further outcomes that a route may have, by its limits and access rules.
  static let ofRefusals: [GatewayOutcome] = [.busy, .rateLimited, .forbidden, .unauthorized, .tooLarge]
  /// The outcomes of requests that belong to no route.
  static let ofNoRoute: [GatewayOutcome] = [.unrouted, .refused]
}

extension GatewayOutcome {
  /// The outcomes that follow from a configuration's limits and access rules, by the names of its routes; those of
  /// listeners, for requests without a route, by an empty one.
  static func refusals(of configuration: Configuration) -> [String: [GatewayOutcome]] {
    var refusals: [String: [GatewayOutcome]] = [:]
    if configuration.listeners.contains(where: { $0.clientsOfRequests != nil }) { refusals[""] = [.forbidden] }
    for route in configuration.routes {
      var own: [GatewayOutcome] = []
      if route.clients != nil || route.isRequested { own.append(.forbidden) }
      if route.auth != nil { own += [.unauthorized, .busy] }
      if route.tunnels != nil || !route.limits.concurrency.isEmpty { own.append(.busy) }
      if !route.limits.rates.isEmpty { own.append(.rateLimited) }
      if route.bodyBytes != nil { own.append(.tooLarge) }
      refusals[route.name, default: []] += own
    }
    return refusals
  }
}
