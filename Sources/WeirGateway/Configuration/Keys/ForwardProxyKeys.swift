import WeirHTTP
import WeirTransport

// The keys of routes that take requests at forward proxies, and what goes with them.

extension RequestedUpstream {
  static let form = ConfigurationMapping(RequestedUpstream()) {
    Key(
      "scheme", .word, \.scheme,
      """
      `https`: targets of `http://` go out by TLS too, and their `:80` counts as no port. `http`: targets of \
      `https://` are refused
      """, missing: .words("the target's"))
    Key(
      "ports", .ports, \.ports, "those to which requests may go; others get 403",
      missing: .words("80 by `http`, 443 by `https`"))
  }.form()
}

extension ConnectRule {
  static let form = ConfigurationMapping(ConnectRule()) {
    Key("ports", .ports, \.ports, "those to which tunnels may lead; others get 403")
    Key("connectTimeout", .seconds(0.05...60), \.connectTimeout, "for the name's lookup and TCP, of each attempt")
    Key(
      "idleTimeout", .seconds(0.1...86_400), \.idleTimeout,
      "a tunnel without a byte from either side for so long is closed")
    Key("limit", .integer(1...100_000), \.limit, "tunnels of the route at once")
  }.form()

  /// The keys of routes that mean nothing to a tunnel.
  static let excluded = [
    "splitBy", "fallback", "operations", "stripPrefix", "replacePrefix", "rewriteHost", "headers", "credential",
    "responseHeaders",
    "attemptTimeout", "streaming", "silenceTimeout", "overload", "pace", "hedge", "compression", "upgrade", "bodyBytes",
  ]
  /// Those of their `retry`.
  static let excludedOfRetry = [
    "statusCodes", "causes", "finalResponseFields", "unlessRetried", "methods", "idempotencyKey", "keptBytes",
  ]
}

extension ConfigurationForm<Set<Int>> {
  fileprivate static var ports: Self {
    .set(of: .integer(1...65535), empty: "holds no port, so nothing could be reached")
  }
}

extension ReadRoute {
  /// The targets of the requests that the route takes.
  func targets(_ given: ConfigurationGiven) -> RouteTargets {
    given.has("connect") ? .tunnels : proxyKey(given) == nil ? .all : .absolute
  }

  /// Compares the route with the listeners by which its requests come.
  func compare(_ route: inout Route, with listeners: [ListenerSettings], _ given: ConfigurationGiven) {
    if listeners.isEmpty, let key = proxyKey(given) {
      key.report("is reached by no listener; give one forwardProxy: true, and name it in match.listener if need be")
    }
    guard !listeners.isEmpty, listeners.allSatisfy(\.isForwardProxy) else { return }
    route.auth?.isOfProxy = true
    given["auth"]?.child("forward")?.report(
      "clients of a forward proxy give Proxy-Authorization, which no upstream gets; leave it out")
  }

  /// The value of `connect`, or of `upstream.requested`, whose requests only forward proxies take; nil without one.
  func proxyKey(_ given: ConfigurationGiven) -> ConfigurationReader? {
    given["connect"] ?? given["upstream"]?.child("requested")
  }

  /// Refuses a proxy that looks up names on the way to destinations that clients name, as none would be judged.
  ///
  /// - Parameter resolver: The proxy; nil without such a one.
  func compare(_ route: Route, throughProxy resolver: String?, _ given: ConfigurationGiven) {
    guard let resolver, let key = proxyKey(given), route.destinationPolicy != .any else { return }
    (given["destinationPolicy"] ?? key).report(
      "the proxy \(resolver) looks names up itself, so that no address could be judged; write destinationPolicy: "
        + "{ otherwise: any } if clients may reach all that it reaches")
  }

  /// Checks the keys of a route that forward proxies take.
  func checkForwardProxy(_ given: ConfigurationGiven) {
    guard let key = proxyKey(given) else { return }
    if route.match.hosts.isEmpty, given.fitting("match") != nil || !given.has("match"), !given.has("destinationPolicy")
    {
      key.report("leads anywhere; name hosts in match.host, or write a destinationPolicy")
    }
    if let refusal = route.match.hosts.compactMap({ route.destinationPolicy.refusal(ofHost: $0) }).first {
      (given["destinationPolicy"] ?? key).report("a host of match.host: \(refusal); allow it there")
    }
    guard given.has("connect") else {
      compareSecrets(given)
      given["rewriteHost"]?.report("is of no use with requested, as the target names the host")
      return
    }
    for name in ["path", "pathPrefix", "pathPattern", "query"] {
      given["match"]?.child(name)?.report("is of no use with connect: CONNECT has no path and no query")
    }
    given["match"]?.child("methods")?.report("is of no use with connect, which takes CONNECT alone")
    for name in ConnectRule.excludedOfRetry {
      given["retry"]?.child(name)?.report("is of no use with connect: only failed connects are repeated")
    }
  }

  /// Refuses secrets for any host that a client may name, and warns of those that go out in clear text.
  private func compareSecrets(_ given: ConfigurationGiven) {
    let hasSecrets = (route.headers.set + route.headers.add).contains { $0.secret != nil }
    let readers = [given["credential"], hasSecrets ? given["headers"] : nil].compactMap(\.self)
    for reader in readers {
      if route.match.hosts.isEmpty {
        reader.report("would be sent to any host that a client names; name hosts in match.host")
      } else if case .requested(let requested, _, _)? = target, requested.scheme != .https {
        reader.warn("is sent in clear text where the target is of http://; write requested: { scheme: https }")
      }
    }
  }
}
