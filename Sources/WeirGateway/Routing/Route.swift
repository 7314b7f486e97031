import Weir
import WeirHTTP
package import WeirTransport

/// Which requests go where, and how.
package struct Route: Sendable, Equatable {
  /// A label of metrics and logs.
  package var name: String
  package var match: RouteMatch
  package var upstream: Upstream
  /// Of an https upstream; nil: whom the system trusts, and no client certificate.
  package var tls: UpstreamTLS?
  /// Whether the upstream sees the path without `match.pathPrefix`.
  package var stripPrefix = false
  package var headers = HeaderRules()
  /// For the whole of a forwarded request: all attempts and the waiting between them.
  package var timeout = defaultTimeout
  package var retry = RouteRetryRules()
  /// When the upstream is left alone for a while; nil: never.
  package var circuitBreaker: CircuitBreaker?
  /// How the number of attempts at once follows the upstream's speed; nil: it doesn't.
  package var adaptiveConcurrency: AdaptiveConcurrency?
  /// When a second attempt starts beside a slow one; nil: never.
  package var hedge: HedgePlan?
  /// Which of the upstream's addresses are connected to.
  package var destinationPolicy = DestinationPolicy.any

  static let defaultTimeout: Duration = .seconds(30)

  package init(name: String, match: RouteMatch = RouteMatch(), upstream: Upstream) {
    self.name = name
    self.match = match
    self.upstream = upstream
  }
}

package struct RouteMatch: Sendable, Hashable {
  /// Lower case, without port. Nil matches every host.
  package var host: String?
  /// Begins with a slash and ends with none, unless it is `/`, which matches every path.
  package var pathPrefix: String

  package init(host: String? = nil, pathPrefix: String = "/") {
    self.host = host
    self.pathPrefix = pathPrefix
  }
}

/// What a route changes in a request's header fields, after all else has been done to them.
package struct HeaderRules: Sendable, Equatable {
  /// Replaces every field of that name.
  package var set: [HeaderRule] = []
  package var remove: [String] = []

  package init() {}
}

extension HeaderRules {
  /// Fields whose meaning is the connection's or the message framing's, which the gateway itself sets.
  static let reserved: Set<String> = [
    "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade",
  ]

  static func problem(setting name: String) -> String? {
    if !FieldSyntax.isToken(name) { return "\(quoted(name)) is no field name" }
    // Without it a route that leads back to this gateway would go round until its timeout.
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
  /// Attempts after the first one. 0: a request is sent once.
  package var limit = 0
  package var statusCodes: Set<Int> = [408, 500, 502, 503, 504]
  /// Idempotent methods (RFC 9110 §9.2.2) unless the configuration says more.
  package var methods: Set<String> = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"]
  /// How many retries the upstream is to bear; nil: as many as the other rules allow.
  package var budget: RetryBudget? = RetryBudget()
  /// A response with one of these fields is not retried.
  package var finalResponseFields = RetryPolicy.defaultFinalResponseFields
  /// Whether requests are left alone that say that their sender retries them.
  package var unlessRetried = true

  package init() {}
}
