import WeirExporter
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

// A request's line in the access log.
extension Forwarding {
  /// Whether the client got less than a whole response.
  private var isCut: Bool { isClientGone && !hasEndedStream || failure != nil && ownAnswer == nil }

  /// Adds the line of a request that is over.
  ///
  /// - Parameters:
  ///   - seconds: The time since it came.
  ///   - target: The plan by which it was forwarded last; nil for that of `outgoing`.
  ///   - isCut: Whether a tunnel has not ended well.
  func recordAccess(_ outcome: String, _ seconds: Double, _ target: RoutePlan? = nil, isCut tunnelIsCut: Bool = false) {
    guard let names = plan.accessNames, let route = names.route(route) else { return }
    let recorder = plan.log.access
    guard recorder.records(status: status, isCut: isCut || tunnelIsCut) else { return }
    var facts = AccessFacts(
      milliseconds: Timestamp.now.milliseconds - Int64(seconds * 1000), status: status, outcome: outcome,
      seconds: seconds)
    facts.listener = context.accessMember
    facts.route = route
    facts.upstream = names.upstream(target ?? outgoing?.route)
    facts.endpoint = admission.lastEndpoint
    facts.isHTTP10 = isHTTP10
    facts.bytesIn = exchange.bytesIn
    facts.bytesOut = exchange.bytesOut
    facts.upstreamSeconds = tally.seconds
    facts.attempts = tally.started
    facts.error = errorLabel
    facts.tls = tlsVersion
    facts.user = user ?? []
    if let ids {
      facts.traceID = ids.trace?.traceIDOctets ?? []
      facts.spanID = ids.isRecorded ? spans?.idText ?? "" : ""
      facts.requestID = ids.requestID
    }
    clientText.withUnsafeBytes { client in
      exchange.head.withComponents { components in
        facts.client = client
        facts.method = components.method
        facts.host = components.authority
        // A tunnel has none (RFC 9421 §2.2.6).
        facts.path = exchange.head.form == .authority ? components.authority : components.path
        facts.query = components.query
        recorder.record(facts, values: exchange.head.fields.forEachValue)
      }
    }
  }
}

extension ActivePlan {
  /// Adds the line of a request that the server refused, as it could not be read.
  func recordRefused(_ refusal: RequestRefusal, of peer: SocketAddress, from context: ListenerContext) {
    guard accessNames != nil, log.access.records(status: refusal.status, isCut: false) else { return }
    var facts = AccessFacts(
      milliseconds: Timestamp.now.milliseconds, status: refusal.status, outcome: GatewayOutcome.refused.label,
      seconds: 0)
    facts.listener = context.accessMember
    text(of: peer).withUnsafeBytes { client in
      facts.client = client
      log.access.record(facts, values: { _, _ in })
    }
  }
}

/// The parts of access lines that a plan knows before any request. A value.
struct AccessNames {
  /// The member of each route's name; nil for a route whose requests have no lines.
  private let routes: [[UInt8]?]
  /// The member of each upstream, by the numbers of routes' plans.
  private let upstreams: [[UInt8]]

  init(_ plan: ForwardingPlan) {
    routes = plan.table.routes.map { $0.hasAccessLog ? Self.member("route", $0.name) : nil }
    var upstreams = [[UInt8]](repeating: [], count: plan.planCount)
    for route in plan.forwarding { upstreams[route.number] = Self.member("upstream", route.upstream.authority) }
    self.upstreams = upstreams
  }

  /// The member of a route's name, empty without one; nil if its requests have no lines.
  ///
  /// - Parameter route: An index into the plan's routes; −1 for none.
  func route(_ route: Int) -> [UInt8]? { route < 0 ? [] : routes[route] }

  func upstream(_ plan: RoutePlan?) -> [UInt8] {
    guard let plan else { return [] }
    return plan.authority == nil ? upstreams[plan.number] : Self.member("upstream", plan.upstream.authority)
  }

  /// A member of JSON with a comma in front of it; empty for an empty value. Names of the configuration stay as they
  /// are, so that they are equal to labels of metrics.
  static func member(_ key: String, _ value: String) -> [UInt8] {
    guard !value.isEmpty else { return [] }
    var bytes = Array(",\"\(key)\":".utf8)
    JSONText.append(value, to: &bytes)
    return bytes
  }
}
