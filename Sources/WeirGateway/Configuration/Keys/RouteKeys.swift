import WeirExporter
import WeirHTTP
import WeirTransport

/// A route as it was read, before its upstreams and listeners are looked up by their names.
struct ReadRoute {
  var route = Route(name: "", action: .respond(RouteResponse(status: 200)))
  var redirect: RouteRedirect?
  var response: RouteResponse?
  var connect: ConnectRule?
  var policy: ReadPolicy?
  var target: ReadTarget?
  var splitBy: RequestKey?
  var fallback: ReadFallback?
  /// The keys; nil only while they are read.
  var given: ConfigurationGiven?

  static let form: ConfigurationForm<ReadRoute> = mapping.form { route, given in
    route.given = given
    route.check(given)
    return route
  }

  /// Sections of the manual page, each with its keys.
  static let sections: [(title: String, keys: [Key<ReadRoute>])] = [
    ("Routes: which requests", matching), ("Routes: where to", actions),
    ("Routes: fields, time and addresses", fields), ("Routes: failures and load", failures),
    ("Routes: bodies, tunnels and limits", bodies), ("Routes to upstreams", upstreams),
  ]

  static let mapping = ConfigurationMapping(
    ReadRoute(), misplaced: misplaced,
    rules: [
      .atMostOne(["upstream", "redirect", "respond", "connect"]),
      .excludes(["redirect", "respond"], ofUpstreams, "which sends nothing to an upstream"),
      .excludes(["connect"], ConnectRule.excluded, "which passes on bytes as they come"),
      .missing(
        "upstream", orElse: ["redirect", "respond", "connect"],
        "the URL that requests are sent to, such as http://127.0.0.1:9000, or an entry of upstreams"),
    ]
  ) { sections.flatMap(\.keys) }

  /// Keys that say how requests are sent to an upstream.
  private static let ofUpstreams =
    upstreams.map(\.name) + failures.map(\.name)
    + (fields + bodies).map(\.name).filter {
      !["responseHeaders", "rateLimits", "concurrency"].contains($0)
    }

  private static let misplaced: [String: String] = {
    var hints: [String: String] = [:]
    for key in ReadUpstream.mapping.keys { hints[key.name] = "it belongs into an entry of upstreams" }
    for key in ReadMatch.mapping.keys { hints[key.name] = "it belongs into match" }
    for key in ["keepQuery", "port", "prefix", "scheme"] { hints[key] = "it belongs into redirect" }
    for key in CompressionRules.mapping.keys { hints[key.name] = "it belongs into compression" }
    for key in ["body", "contentType"] { hints[key] = "it belongs into respond" }
    for key in ["basicUsers", "bearerTokens", "forward", "realm"] { hints[key] = "it belongs into auth" }
    for key in ["allow", "deny"] { hints[key] = "it belongs into clients" }
    for key in ["backoff", "causes", "idempotencyKey", "keptBytes"] { hints[key] = "it belongs into retry" }
    hints["forwardProxy"] = "it belongs into a listener"
    hints["obey"] = "it belongs into pace"
    hints["ports"] = "it belongs into connect, or into requested"
    hints["requested"] = "it belongs into upstream"
    hints["status"] = "it belongs into redirect or respond"
    for key in ["proxy", "tls"] { hints[key] = "it belongs into upstream, beside url, or into an entry of upstreams" }
    hints["retryBudget"] = "write retry: { budget: … }, or give it to an entry of upstreams"
    hints["adaptiveConcurrency"] = concurrencyIsGone
    return hints
  }()

  static let concurrencyIsGone = "overload of routes, and of entries of upstreams, is in its place, and on by default"

  // MARK: Keys

  @KeyList<ReadRoute> private static var matching: [Key<ReadRoute>] {
    Key(
      "name", name, \.route.name,
      "1 to 64 bytes, unique; a label of metrics and logs: `name: payments`",
      missing: .required("it labels the route's metrics and log lines"))
    Key(
      "match", ReadMatch.form, \.route.match,
      """
      which requests the route takes: those for which all of its keys hold ([routes.md](routes.md)). No two routes may \
      match the same ones
      """, missing: .words("everything"))
    Key(
      "clients", ClientRules.form, \.route.clients,
      "which clients may use the route ([limits.md](limits.md#access)): `clients: { deny: [192.0.2.0/24] }`",
      missing: .words("all clients"))
    Key(
      "auth", RouteAuth.form, \.route.auth,
      "the credentials that clients need ([limits.md](limits.md#access)); at least one user or token")
    Key(
      "accessLog", .off,
      "in a route: its requests have no lines. Where and how lines are written is said beside `routes`",
      missing: .words("the file's")
    ) { reader, route in
      if reader.isOff {
        route.route.hasAccessLog = false
      } else {
        reader.report("can only be off in a route; where and how lines are written is said beside routes")
      }
      return reader.isOff
    }
  }

  private static let mostOperations = 500

  private static let operations: ConfigurationForm<[OperationPattern]> = {
    let pattern = ConfigurationForm.text("^([^ /]+ )?/", unless: OperationPattern.problem).called("operations").map {
      OperationPattern($0)
    }
    return .list(of: pattern, 1...mostOperations, "operations", unlike: \.requests) { _, line in
      "takes the same requests as the one in line \(line)"
    }
  }()

  private static let name = ConfigurationForm.text { name in
    let hasControls = name.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
    return name.isEmpty || name.utf8.count > 64 || hasControls
      ? "must be 1 to 64 bytes of text without control characters" : nil
  }

  @KeyList<ReadRoute> private static var actions: [Key<ReadRoute>] {
    Key(
      "upstream", ReadTarget.form, \.target,
      """
      `http://host:port/base` or `https://…`; no query, no user name. The base goes before the path. Or the name of an \
      entry of `upstreams`, or a list of \(UpstreamSplit.counts.lowerBound) to \(UpstreamSplit.counts.upperBound) of \
      `{ name, weight }` ([upstreams.md](upstreams.md))
      """, missing: .words("this, `redirect`, `respond` or `connect`"))
    Key(
      "redirect", RouteRedirect.form, \.redirect,
      "answers with another location ([routes.md](routes.md)): `redirect: { scheme: https }`",
      missing: .words("one of the four"))
    Key(
      "respond", RouteResponse.form, \.response,
      "answers with a fixed response: `respond: { status: 404 }`", missing: .words("one of the four"))
    Key(
      "connect", ConnectRule.form, \.connect,
      """
      makes the tunnels that clients ask for by CONNECT at listeners with `forwardProxy` \
      ([routes.md](routes.md#a-proxy-for-programs)): `connect: { ports: [443, 8443] }`; `{}` for the defaults
      """, missing: .words("one of the four"))
  }

  @KeyList<ReadRoute> private static var upstreams: [Key<ReadRoute>] {
    Key(
      "splitBy", .key(takesCookies: false), \.splitBy,
      "`client` or `header NAME`: equal values go to one entry. A request without the field is drawn",
      missing: .words("drawn per request"))
    Key(
      "fallback", ReadFallback.form, \.fallback,
      "what the client gets in place of the gateway's own 502, 503 and 504")
  }

  @KeyList<ReadRoute> private static var fields: [Key<ReadRoute>] {
    Key(
      "operations", operations, \.route.operations,
      """
      names for metrics and spans of what is called: paths with `{…}` for one segment, of all methods \
      or of one: `operations: ["/users/{id}", "GET /users/{id}/orders/**"]`. The most specific that takes the client's path, \
      before `stripPrefix`, counts ([metrics.md](metrics.md#operations))
      """)
    Key("stripPrefix", .boolean, \.route.stripPrefix, "`true`: the upstream sees the path without `match.pathPrefix`")
    Key(
      "replacePrefix", .path.map { PathPrefix.normalized($0) }, \.route.replacePrefix,
      """
      the upstream sees this in place of `match.pathPrefix`, at most 2048 bytes: `replacePrefix: /v2`; this or \
      `stripPrefix`
      """)
    Key(
      "rewriteHost", .hostRewrite, \.route.rewriteHost,
      """
      `Host` as the upstream sees it: a host, perhaps with a port (`rewriteHost: shop.internal:8080`), or `client` for \
      the client's. A client's that is empty or holds a comma is not sent; the upstream's is
      """, missing: .words("the upstream's"))
    Key(
      "headers", HeaderRules.ofRequests, \.route.headers,
      "changes to requests, after those that are always made ([routes.md](routes.md))")
    Key(
      late: "credential", .named("name", .text(nil)),
      """
      the entry of `credentials` that requests are authenticated with ([credentials.md](credentials.md)), before that of \
      an entry of `upstreams`. Its field takes the place of the client's and of `headers`; a `fallback` gets its own \
      entry's alone
      """, missing: .words("that of the entry of `upstreams`"))
    Key(
      "responseHeaders", HeaderRules.ofResponses, \.route.responseHeaders,
      "changes to the upstream's responses, or to the route's own; not to errors of the gateway")
    Key(
      "timeout", timeout, \.route.timeout,
      """
      covers all attempts and the waits between them. Before them, the body has the same time to arrive. It ends with \
      the head of a response that streams
      """)
    Key(
      "attemptTimeout", attemptTimeout, \.route.attemptTimeout,
      """
      less than `timeout`; from the first connect or byte of an attempt to the head of its response, without the times in \
      which the upstream waits for the request's body. An attempt that is late has timed out: it is retried, or the answer \
      is 504 ([resilience.md](resilience.md#an-attempts-bounds))
      """)
    Key(
      "streaming", .boolean, \.route.streaming,
      """
      whether responses stream: `timeout` ends with their head ([streams.md](streams.md)). `true`: all do; \
      `false`: none
      """, missing: .words("`true` for `text/event-stream`"))
    Key(
      "silenceTimeout", .silence, \.route.silenceTimeout,
      "without a byte from the upstream, while the client is not what is slow: 504, or a response that breaks off",
      missing: .words("the upstream's; of streams \(streamSilence)"))
    Key(
      "destinationPolicy", DestinationPolicy.formOfRoutes, \.policy,
      """
      which of the upstream's addresses may be connected to: `destinationPolicy: { otherwise: publicOnly, allow: \
      [10.1.0.0/16] }`
      """, missing: .words("any; the public ones beside `requested` and `connect`"))
  }

  /// The time of a whole request.
  private static let timeout = ConfigurationForm<Duration>(
    .duration(ConfigurationDuration.least...longestTimeout),
    text: { ConfigurationDuration.text(seconds: $0 / .seconds(1)) }
  ) { reader in
    reader.read(as: .duration) {
      $0 > .zero && $0 <= .seconds(longestTimeout) ? nil : "must be more than 0 and at most 1 day"
    }
  }

  private static let attemptTimeout = ConfigurationForm<Double>.seconds(0.01...longestTimeout).refusing {
    $0 == .string("off") ? "leave the key out; without it attempts have no time of their own" : nil
  }

  /// A day, in seconds.
  private static let longestTimeout = 86_400.0

  static let streamSilence = "`\(ConfigurationDuration.text(seconds: Route.defaultStreamSilence))`"

  @KeyList<ReadRoute> private static var failures: [Key<ReadRoute>] {
    Key("retry", RouteRetryRules.form, \.route.retry, "without it nothing is retried")
    Key(
      "overload", OverloadSettings.form, \.route.overload,
      """
      load control of the upstream, the same in all routes to it ([bounds.md](bounds.md#load)); `off`: the slots are the \
      only limit
      """,
      missing: .words("on"))
    Key(
      "pace", PaceSettings.form, \.route.pace,
      """
      how soon attempts begin at the upstream, the same in all routes to it ([resilience.md](resilience.md#pace)): \
      `pace: { rate: 50/s }`; `{}`: a pause that it asks for is obeyed
      """)
    Key(
      "circuitBreaker", CircuitBreaker.form, \.route.circuitBreaker,
      "when only a share of the requests goes to a failing upstream; `{}` for all defaults")
    Key(
      "hedge", HedgePlan.form, \.route.hedge,
      "when a second attempt starts beside one that has no answer yet: `hedge: { after: 200ms }`")
  }

  @KeyList<ReadRoute> private static var bodies: [Key<ReadRoute>] {
    Key(
      "compression", CompressionRules.form, \.route.compression,
      "which bodies are compressed or decoded on their way ([streams.md](streams.md#compression))")
    Key(
      "upgrade", TunnelRule.form, \.route.upgrade,
      "protocols other than HTTP to which clients may switch ([streams.md](streams.md#tunnels)): `upgrade: [websocket]`"
    )
    Key(
      "rateLimits", RateLimit.list, \.route.limits.rates,
      """
      limits on how many requests come ([limits.md](limits.md)): `rateLimits: [{ name: clients, rate: 100/s }]`
      """)
    Key(
      "concurrency", ConcurrencyLimit.list, \.route.limits.concurrency,
      "limits, with different keys, on how many requests are under way: `concurrency: [{ limit: 10 }]`")
    Key(
      "bodyBytes", .bytes, \.route.bodyBytes,
      "a larger body of a request gets 413. A listener's smaller limit counts too",
      missing: .words("the listener's `limits.bodyBytes`"))
  }

  // MARK: Keys together

  private mutating func check(_ given: ConfigurationGiven) {
    route.destinationPolicy = DestinationPolicy.ofRoute(
      policy, given["destinationPolicy"], isOpen: proxyKey(given) != nil)
    checkForwardProxy(given)
    warnOfOperations(given)
    let path = route.match.path
    if let prefix = given.fitting("redirect")?.child("prefix"), !path.isPrefix { prefix.report(Self.needsPrefix) }
    if let replace = given.fitting("replacePrefix"), !path.isPrefix { replace.report(Self.needsPrefix) }
    if route.stripPrefix, !path.isPrefix { given["stripPrefix"]?.report("needs a match by pathPrefix") }
    let prefixes = given.inOrder(["stripPrefix", "replacePrefix"])
    if route.stripPrefix, prefixes.count > 1 { prefixes[1].report("give only one of stripPrefix and replacePrefix") }
    if route.headers.set.contains(where: { FieldSyntax.isSameName($0.name, "host") }) {
      given["rewriteHost"]?.report("headers.set has Host too; give only one of them")
    }
    let isRuled = (route.responseHeaders.set + route.responseHeaders.add).map(\.name) + route.responseHeaders.remove
    if let rules = route.compression, rules.compressesResponses || rules.decodesResponses,
      isRuled.contains(where: { FieldSyntax.isSameName($0, "content-encoding") })
    {
      given["compression"]?.report(
        "responseHeaders has Content-Encoding, which says how bodies are coded here; leave one of them out")
    }
    compareTimes(given)
    let knowsUsers = given.has("auth") && (route.auth?.rules.hasUsers ?? true)
    if !knowsUsers { for key in ["rateLimits", "concurrency"] { given[key]?.refuseUsers() } }
  }

  private func warnOfOperations(_ given: ConfigurationGiven) {
    guard let readers = given.fitting("operations")?.elements(), !given.isUnfit("match") else { return }
    for (operation, reader) in zip(route.operations, readers) {
      if let warning = operation.method.isEmpty ? nil : RegisteredMethod.warning(of: operation.method) {
        reader.warn(warning)
      }
      if !operation.meets(route.match) {
        reader.warn(
          "takes no request of the route; give the client's path, as it is before stripPrefix or replacePrefix")
      }
    }
  }

  /// Reports times of attempts that are no shorter than the request's, and hedges that come no sooner than the end of the
  /// attempt.
  private func compareTimes(_ given: ConfigurationGiven) {
    guard !given.isUnfit("timeout") else { return }
    var limit = (name: "timeout", seconds: route.timeout / .seconds(1))
    func check(_ seconds: Double, _ reader: ConfigurationReader?) {
      guard seconds >= limit.seconds else { return }
      reader?.report(
        "must be less than the route's \(limit.name), \(ConfigurationDuration.text(seconds: limit.seconds))")
    }
    if let seconds = route.attemptTimeout {
      check(seconds, given.fitting("attemptTimeout"))
      if seconds < limit.seconds { limit = ("attemptTimeout", seconds) }
    }
    if case .seconds(let seconds)? = route.hedge?.delay { check(seconds, given["hedge"]?.child("after")) }
  }

  private static let needsPrefix = "needs a match by pathPrefix, whose place it takes"
}

extension ConfigurationReader {
  /// Reports the limits of a list that count by names, which nobody is asked for.
  fileprivate func refuseUsers() {
    guard case .sequence = node.content else { return }
    for key in (elements() ?? []).compactMap({ $0.child("key") }) {
      guard case .scalar(let scalar) = key.node.content, scalar.value == .string("user") else { continue }
      key.report("nobody is asked for a name here; give the route auth, or choose another key")
    }
  }
}

extension ConfigurationForm<Double> {
  /// The longest silence of an upstream, in seconds: 0 for `off`.
  static var silence: Self {
    ConfigurationForm<Double?>.secondsOrOff(0.1...3600).map(back: { $0 == 0 ? .some(nil) : $0 }) { $0 ?? 0 }
  }
}

extension ConfigurationForm<String> {
  /// A path that begins with a slash.
  static var path: Self { text("^/", unless: PathPrefix.problem).called("path") }
}
