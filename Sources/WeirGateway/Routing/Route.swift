import Weir
import WeirHTTP
package import WeirTransport

/// A rule for forwarding: the requests that it matches, their upstream, and how they are sent.
package struct Route: Sendable, Equatable {
  /// The route's name, a label of metrics and logs.
  package var name: String
  package var match: RouteMatch
  package var upstream: Upstream
  /// The TLS settings for an https upstream. Nil means the system's trust, and no client certificate.
  package var tls: UpstreamTLS?
  /// Whether the upstream sees the path without `match.pathPrefix`.
  package var stripPrefix = false
  package var headers = HeaderRules()
  /// The time limit of a forwarded request: of all attempts and the waiting between them.
  package var timeout = defaultTimeout
  package var retry = RouteRetryRules()
  /// The circuit breaker of the upstream; nil if there is none.
  package var circuitBreaker: CircuitBreaker?
  /// The load control of the upstream; nil if it is off.
  package var overload: OverloadSettings? = .default
  /// The plan for a second attempt beside a slow one; nil if there is none.
  package var hedge: HedgePlan?
  /// The addresses of the upstream that may be connected to.
  package var destinationPolicy = DestinationPolicy.any

  static let defaultTimeout: Duration = .seconds(30)

  package init(name: String, match: RouteMatch = RouteMatch(), upstream: Upstream) {
    self.name = name
    self.match = match
    self.upstream = upstream
  }
}

package struct RouteMatch: Sendable, Hashable {
  /// The host in lower case, without port. Nil matches every host.
  package var host: String?
  /// The prefix of paths. It begins with a slash and ends with none, unless it is `/`, which matches every path.
  package var pathPrefix: String

  package init(host: String? = nil, pathPrefix: String = "/") {
    self.host = host
    self.pathPrefix = pathPrefix
  }
}

/// A route's changes to a request's header fields, made after all others.
package struct HeaderRules: Sendable, Equatable {
  /// The fields to set. Each replaces every field of its name.
  package var set: [HeaderRule] = []
  package var remove: [String] = []

  package init() {}
}

extension HeaderRules {
  /// Fields that belong to the connection or to the message framing, which the gateway itself sets.
  static let reserved: Set<String> = [
    "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade",
  ]

  static func problem(setting name: String) -> String? {
    if !FieldSyntax.isToken(name) { return "\(quoted(name)) is not a field name" }
    // Without Via, a route that leads back to this gateway would loop until its timeout.
    if FieldSyntax.isSameName(name, "via") { return "the gateway finds loops by Via; leave it out" }
    return reserved.contains(FieldSyntax.lowercased(name))
      ? "the gateway sets or drops \(name) itself; leave it out" : nil
  }

  static func problem(removing name: String) -> String? {
    if FieldSyntax.isSameName(name, "host") { return "every request needs Host; set another value instead" }
    return problem(setting: name)
  }
}

package struct HeaderRule: Sendable, Equatable {
  package var name: String
  package var value: String

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

package struct RouteRetryRules: Sendable, Equatable {
  /// The number of attempts after the first one. With 0, a request is sent once.
  package var limit = 0
  package var statusCodes: Set<Int> = [408, 500, 502, 503, 504]
  /// The methods that are retried: the idempotent ones (RFC 9110 §9.2.2), unless the configuration names others.
  package var methods: Set<String> = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"]
  /// The budget of retries that the upstream must bear; nil allows as many as the other rules do.
  package var budget: RetryBudget? = RetryBudget()
  /// The fields of responses that are not retried.
  package var finalResponseFields = RetryPolicy.defaultFinalResponseFields
  /// If true, a request that says that it is already its sender's retry is not retried.
  package var unlessRetried = true

  package init() {}
}
