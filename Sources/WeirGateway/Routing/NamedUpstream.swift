package import WeirCurl
package import WeirResolver
package import WeirTransport

/// An entry of the file's `upstreams`: where its endpoints come from, and how requests go to them.
package struct NamedUpstream: Sendable, Equatable {
  /// The target of requests: the name stands for the host.
  package var target: Upstream
  package var source: EndpointSource
  /// The Host field in place of the endpoint's own, as it is written; nil for that.
  package var host: HostRewrite?
  package var resolve = ResolveSettings()
  package var endpoints = EndpointSettings()
  /// The part of a request that a consistent hash goes by; nil with another balance.
  package var balanceKey: RequestKey?
  /// Active checks; nil without any.
  package var check: EndpointCheck?
  package var connection = ConnectionSettings()
  package var tls: UpstreamTLS?
  package var proxy = ProxySettings.off
  /// Nil: as many retries as the rules of routes allow.
  package var retryBudget: RetryBudget? = RetryBudget()
  package var circuitBreaker: CircuitBreaker?
  /// Nil if load control is off.
  package var overload: OverloadSettings? = .default
  /// Nil if attempts begin as soon as they may.
  package var pace: PaceSettings?
  package var destinationPolicy = DestinationPolicy.any
  /// The name of the credential of requests that have none by their route; nil for none.
  package var credential: String?

  package var name: String { target.host }

  package init(_ target: Upstream, _ source: EndpointSource) {
    self.target = target
    self.source = source
  }

  /// Whether requests go to endpoints in the same way as by `other`.
  func talks(like other: NamedUpstream) -> Bool {
    target == other.target && host == other.host && tls == other.tls
      && proxy == other.proxy && connection.httpVersion == other.connection.httpVersion
  }

  /// The proxy on the way to an endpoint as it is written; nil for a direct connection.
  func proxy(to endpoint: EndpointSpec) -> TransferProxy? {
    if endpoint.isUnixSocket { return nil }
    return proxy.proxy(to: endpoint.host, port: endpoint.port, isSecure: target.scheme == .https)
  }

  /// Whether an endpoint stands for the addresses of its name, and not for the name, which a proxy looks up.
  func isLookedUp(_ endpoint: EndpointSpec) -> Bool {
    !endpoint.isAddress && proxy(to: endpoint)?.resolvesNames != true
  }

  static let maximumCount = 1000
  static let maximumEndpoints = 1000
  /// The most endpoints that an upstream may have once names are looked up and files are read.
  static let maximumFound = 4096
}

/// The place from which an upstream's endpoints come.
package enum EndpointSource: Sendable, Equatable {
  /// They are in the file: addresses, sockets, and names, each of which stands for all its addresses.
  case listed([EndpointSpec])
  /// SRV records of this name (RFC 2782).
  case services(String)
  /// A file in the form of Prometheus' `file_sd`.
  case file(String)
}

/// How names of endpoints are looked up. Times are in seconds.
package struct ResolveSettings: Sendable, Hashable {
  package enum Family: String, Sendable, CaseIterable {
    case any
    case ipv4
    case ipv6
  }

  /// The bounds of the time to the next lookup, which the answer's TTL sets.
  package var minimum = 1.0
  package var maximum = 30.0
  /// The time of one lookup, with all its tries.
  package var timeout = 2.0
  package var family = Family.any
  package var servers = ResolverServers.system
}

/// The connections to an upstream's endpoints. Times are in seconds.
package struct ConnectionSettings: Sendable, Equatable {
  /// For TCP and TLS together.
  package var connectTimeout = 5.0
  package var idleTimeout = 60.0
  /// Nil: a connection is used as long as it works.
  package var maximumAge: Double?
  /// The longest time without a byte, while the client is not what is slow; 0 without a limit. Nil: only responses that
  /// stream have one.
  package var silenceTimeout: Double?
  /// Attempts on the wire, per endpoint.
  package var perEndpoint = 512
  /// Requests that stream a body to the upstream; nil for half of all connections.
  package var uploads: Int?
  /// Responses that wait for slow clients; nil for as many as there are connections.
  package var parked: Int?
  package var httpVersion = HTTPVersionChoice.http1_1
}

/// The active checks of an upstream's endpoints. Times are in seconds.
package struct EndpointCheck: Sendable, Equatable {
  /// The path of the request; nil checks only that a connection can be opened, with TLS on https.
  package var path: String?
  package var method = "GET"
  /// The Host field; nil for the endpoint as it is written.
  package var host: String?
  package var headers: [HeaderRule] = []
  /// In place of each endpoint's own port.
  package var port: Int?
  /// The statuses of good answers.
  package var statuses = [200...399]
  package var interval = 10.0
  package var timeout = 2.0
  package var thresholds = CheckThresholds()

  /// The range of `timeout`, which is also at most `interval`.
  static let timeouts = 0.1...3600
}
