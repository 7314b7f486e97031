import Weir
import WeirHTTP
import WeirServer
package import WeirTransport

/// A rule for requests: those that it matches, how they are answered, and how they are sent to an upstream.
package struct Route: Sendable, Equatable {
  /// The route's name, a label of metrics and logs.
  package var name: String
  package var match: RouteMatch
  package var action: RouteAction
  /// The TLS settings for an https upstream. Nil means the system's trust, and no client certificate.
  package var tls: UpstreamTLS?
  /// The way to an upstream that is no entry of `upstreams`.
  package var proxy = ProxySettings.off
  /// The names of requests' operations, by their paths.
  package var operations: [OperationPattern] = []
  /// Whether the upstream sees the path without `match.pathPrefix`.
  package var stripPrefix = false
  /// The prefix that takes the place of `match.pathPrefix`; nil if it stays.
  package var replacePrefix: String?
  /// The Host field that the upstream sees; nil means the upstream's own host.
  package var rewriteHost: HostRewrite?
  package var headers = HeaderRules()
  /// The changes to responses that go to the client: to those of the upstream, or to the route's own.
  package var responseHeaders = HeaderRules()
  /// The time limit of a forwarded request: of all attempts and the waiting between them.
  package var timeout = defaultTimeout
  /// Seconds that an attempt may take to the head of its response; nil for as long as the request may.
  package var attemptTimeout: Double?
  /// Whether the timeout ends with the head of a response; nil if it does for Server-Sent Events alone.
  package var streaming: Bool?
  /// Seconds without a byte, 0 for any number; nil for what the upstream says.
  package var silenceTimeout: Double?
  package var retry = RouteRetryRules()
  /// The circuit breaker of the upstream; nil if there is none.
  package var circuitBreaker: CircuitBreaker?
  /// The load control of the upstream; nil if it is off.
  package var overload: OverloadSettings? = .default
  /// The pace of the attempts at the upstream; nil if there is none.
  package var pace: PaceSettings?
  /// The plan for a second attempt beside a slow one; nil if there is none.
  package var hedge: HedgePlan?
  /// The addresses of the upstream that may be connected to.
  package var destinationPolicy = DestinationPolicy.any
  /// The answer in place of the gateway's own failures; nil without one.
  package var fallback: RouteFallback?
  /// Which bodies are coded or decoded; nil if none are.
  package var compression: CompressionRules?
  /// The protocols to which requests may switch; nil if none.
  package var upgrade: TunnelRule?
  package var limits = RouteLimits()
  /// The most bytes of a request's body; nil if only the listener limits them.
  package var bodyBytes: Int64?

  /// The clients that may use the route; nil for all.
  var clients: ClientRules?
  /// The credentials that clients need; nil for none.
  var auth: RouteAuth?
  /// The name of the credential that requests get, but those to `fallback`; nil for that of their upstream.
  package var credential: String?
  /// Whether requests have lines in the access log, if there is one.
  package var hasAccessLog = true

  static let defaultTimeout: Duration = .seconds(30)
  /// Seconds without a byte of a response that streams, if neither the route nor the upstream says how many.
  static let defaultStreamSilence = 300.0

  package init(name: String, match: RouteMatch = RouteMatch(), upstream: Upstream) {
    self.init(name: name, match: match, action: .upstream(upstream))
  }

  package init(name: String, match: RouteMatch = RouteMatch(), action: RouteAction) {
    self.name = name
    self.match = match
    self.action = action
  }

  /// The upstream of a route that forwards to one.
  package var upstream: Upstream? {
    if case .upstream(let upstream) = action { upstream } else { nil }
  }

  /// All upstreams to which the route may send requests.
  package var upstreams: [Upstream] {
    let own: [Upstream] =
      switch action {
      case .upstream(let upstream): [upstream]
      case .split(let split): split.parts.map(\.upstream)
      case .requested, .connect, .redirect, .respond: []
      }
    if case .upstream(let upstream)? = fallback?.action { return own + [upstream] }
    return own
  }

  /// Whether the base path of the upstream is known only when a request's upstream is.
  var joinsBaseLate: Bool { upstreams.count > 1 || isRequested && !upstreams.isEmpty }

  /// Whether requests say themselves where they go.
  var isRequested: Bool {
    switch action {
    case .requested, .connect: true
    case .upstream, .split, .redirect, .respond: false
    }
  }

  /// Whether requests go to upstreams, those of the configuration or those that they name.
  var forwards: Bool { isRequested || !upstreams.isEmpty }

  /// The rule about the tunnels that requests may become; nil if they may not.
  var tunnels: TunnelRule? {
    guard case .connect(let rule) = action else { return upgrade }
    return TunnelRule(protocols: [], idleTimeout: rule.idleTimeout, limit: rule.limit)
  }
}

/// A value in place of the upstream's own in the Host field.
package enum HostRewrite: Sendable, Equatable {
  /// The host that the client asked for.
  case client
  /// A host, perhaps with a port.
  case text(String)
}

package struct RouteRetryRules: Sendable, Equatable {
  /// The number of attempts after the first one. With 0, a request is sent once.
  package var limit = 0
  package var statusCodes: Set<Int> = [408, 500, 502, 503, 504]
  /// The methods that are retried: the idempotent ones, unless the configuration names others.
  package var methods: Set<String> = RequestMethods.idempotent
  /// The budget of retries that the upstream must bear; nil allows as many as the other rules do.
  package var budget: RetryBudget? = RetryBudget()
  /// The fields of responses that are not retried.
  package var finalResponseFields = RetryPolicy.defaultFinalResponseFields
  /// If true, a request that says that it is already its sender's retry is not retried.
  package var unlessRetried = true
  /// The largest body that is kept so that it can be sent again, in bytes.
  package var keptBytes = defaultKeptBytes
  /// The delays before retries.
  package var backoff = RouteBackoff()
  /// Whether a request with an Idempotency-Key is retried whatever its method.
  package var idempotencyKey = false
  /// The causes of failures that are retried.
  package var causes = RetryCause.all

  static let defaultKeptBytes = 64 << 10
}

/// The delays before retries, each drawn from 0 to a time that doubles. Times are in seconds.
package struct RouteBackoff: Sendable, Equatable {
  /// The longest delay before the first retry.
  package var base = 0.1
  package var maximum = 10.0
}

/// The protocols to which clients and upstreams of a route may switch, and the limits of the tunnels that follow.
package struct TunnelRule: Sendable, Equatable {
  /// Elements of an Upgrade field (RFC 9110 §7.8), which compare without case.
  package var protocols: [String]
  /// Seconds of silence both ways after which a tunnel is closed.
  package var idleTimeout: Double = 600
  /// Tunnels at once, of all workers.
  package var limit = 1024

  /// The protocols of the route among those that the client offers, in its order. Nil if it offers none of them.
  func offered(by fields: HeaderFields) -> String? {
    guard fields.mayNameFields else { return nil }
    var isNamed = false
    fields.forEachValue(of: "Connection") { value in
      if value.listElements.contains(where: { $0.spells("upgrade") }) { isNamed = true }
    }
    guard isNamed else { return nil }
    var offered: [String] = []
    fields.forEachValue(of: "Upgrade") { value in
      for element in value.listElements where allows(element) {
        offered.append(String(decoding: element, as: UTF8.self))
      }
    }
    return offered.isEmpty ? nil : offered.joined(separator: ", ")
  }

  private func allows(_ element: UnsafeRawBufferPointer) -> Bool {
    protocols.contains { $0.withOctets { element.equalsIgnoringCase($0) } }
  }
}
