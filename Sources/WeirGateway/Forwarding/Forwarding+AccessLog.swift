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
      milliseconds: LogTime.now.milliseconds - Int64(seconds * 1000), status: status, outcome: outcome,
      seconds: seconds)
    facts.listener = edge.accessMember
    facts.route = route
    facts.upstream = names.upstream(target ?? outgoing?.route)
    facts.endpoint = terms.lastEndpoint
    facts.isHTTP10 = isHTTP10
    facts.bytesIn = exchange.bytesIn
    facts.bytesOut = exchange.bytesOut
    facts.upstreamSeconds = tally.seconds
    facts.attempts = tally.started
    facts.error = failure?.label ?? ""
    facts.tls = tlsVersion
    facts.user = user ?? []
    if let marks {
      facts.traceID = marks.trace?.traceIDOctets ?? []
      facts.requestID = marks.requestID
    }
    clientText.withUnsafeBytes { client in
      exchange.head.withParts { parts in
        facts.client = client
        facts.method = parts.method
        facts.host = parts.authority
        facts.path = parts.path
        facts.query = parts.query
        recorder.record(facts, values: exchange.head.fields.forEachValue)
      }
    }
  }
}

extension ActivePlan {
  /// Adds the line of a request that the server refused, as it could not be read.
  func recordRefused(_ refusal: RequestRefusal, of peer: SocketAddress, from edge: ListenerEdge) {
    guard accessNames != nil, log.access.records(status: refusal.status, isCut: false) else { return }
    var facts = AccessFacts(
      milliseconds: LogTime.now.milliseconds, status: refusal.status, outcome: GatewayOutcome.refused.label, seconds: 0)
    facts.listener = edge.accessMember
    text(of: peer).withUnsafeBytes { client in
      facts.client = client
      log.access.record(facts, values: { _, _ in })
    }
  }
}
