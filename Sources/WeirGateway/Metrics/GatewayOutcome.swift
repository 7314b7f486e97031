import WeirTransport

/// How the gateway's work on one request ended, in a word: the `outcome` label of `weir_gateway_requests_total`.
enum GatewayOutcome: Hashable, Sendable {
  /// It was forwarded; what became of it, as the library counts it.
  case forwarded(RequestOutcome)
  /// No route matched: 404.
  case unrouted
  /// The request can't be understood or is none that a gateway takes: 4xx, 501.
  case refused
  /// The client's body came too slowly: 408.
  case bodyTimeout
  /// It has been here before: 508.
  case loop
  /// The gateway was the one asked (Max-Forwards).
  case answered

  var label: String {
    switch self {
    case .forwarded(let outcome): outcome.rawValue
    case .unrouted: "no_route"
    case .refused: "refused"
    case .bodyTimeout: "body_timeout"
    case .loop: "loop"
    case .answered: "answered"
    }
  }

  /// OpenTelemetry's `error.type` of the server's side: what the server is to blame for, nothing that its client is.
  func errorType(status: Int) -> String {
    switch self {
    case .forwarded(.success), .forwarded(.httpError), .unrouted, .refused, .bodyTimeout, .loop, .answered:
      status >= 500 ? String(status) : ""
    case .forwarded(let outcome): outcome.rawValue
    }
  }

  /// Whether the client did not get what it came for, and through no doing of its own.
  func isFailure(status: Int) -> Bool {
    switch self {
    case .forwarded(.cancelled), .forwarded(.creationFailed): false
    default: !errorType(status: status).isEmpty
    }
  }

  /// The outcomes that requests of a route can have.
  static let ofRoutes: [GatewayOutcome] =
    RequestOutcome.allCases.map(GatewayOutcome.forwarded) + [.bodyTimeout, .loop, .answered]
  /// The outcomes of requests that belong to no route.
  static let ofNoRoute: [GatewayOutcome] = [.unrouted, .refused]
}
