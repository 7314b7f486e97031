import WeirCurl
import WeirHTTP
import WeirIO
import WeirTransport

// The entries of `upstreams`.

/// An entry of `upstreams` as it was read.
struct ReadUpstream {
  var upstream = NamedUpstream(Upstream(named: "", scheme: .http), .listed([]))
  var name = ""
  var scheme = Upstream.Scheme.http
  var basePath = ""
  /// The value of `name`; nil if it could not be read.
  var nameReader: ConfigurationReader?

  static let form: ConfigurationForm<ReadUpstream> = mapping.form {
    (read: inout ReadUpstream, given) -> ReadUpstream? in
    read.nameReader = given.fitting("name")
    read.given = given
    read.finish(given)
    return read
  }

  /// The keys; nil only while they are read.
  var given: ConfigurationGiven?
  /// Where the endpoints come from; nil if that could not be read.
  private var source: EndpointSource?

  /// Whether routes can lead there.
  var isUsable: Bool { nameReader != nil && source != nil }

  static let mapping = ConfigurationMapping(
    ReadUpstream(), misplaced: misplaced,
    rules: [
      .atMostOne(["endpoints", "srv", "file"]),
      .missing("endpoints", orElse: ["srv", "file"], "list them, or give srv or file in its place"),
    ]
  ) {
    Key(
      "name", .text("^[a-z0-9._-]{1,64}$", unless: problem(name:)), \.name,
      """
      1 to 64 lower-case letters, digits, `-`, `_`, `.`; no address, no dot at the end. Routes name the entry by it, \
      and it is `server_address` in metrics; `server_port` is the port that all listed endpoints share, else that of \
      the scheme. No other entry has it, nor is it the host of a route's URL
      """, missing: .required("routes name the upstream by it, and it labels its metrics"))
    Key("scheme", .word, \.scheme)
    Key("basePath", path, \.basePath, "goes before the path of each request: `basePath: /api`")
    Key(
      "endpoints", listed, \.source,
      """
      `10.0.0.7:8443`, `[2001:db8::7]:8443`, `name:8443`, `unix:/path`, or a mapping. A name stands for all its \
      addresses
      """, missing: .words("this, `srv` or `file`"))
    Key(
      "srv", services, \.source,
      """
      the SRV records of a service (RFC 2782): `srv: _https._tcp.pay.internal`. A weight of 0 counts as 1; \
      priorities are ranked to 0 to 9
      """, missing: .words("this, `endpoints` or `file`"))
    Key(
      "file", file, \.source,
      "an absolute path; a list of targets in the form of Prometheus' `file_sd`, in JSON or YAML",
      missing: .words("this, `endpoints` or `srv`"))
    Key(
      "host", .hostRewrite, \.upstream.host,
      """
      the `Host` field: a host, perhaps with a port, or `client` for the client's. As written: a name stays a name; \
      the port is left out where it is the scheme's; `localhost` for `unix:`. A route's `rewriteHost` comes before \
      it
      """, missing: .words("the endpoint as written"))
    Key("resolve", ResolveSettings.form, \.upstream.resolve, "how names are looked up", missing: .words("as below"))
    Key(
      "balance", ReadBalance.form, "a word, or a mapping with `policy`", missing: .own,
      own: { ReadBalance(policy: $0.upstream.endpoints.balance) },
      put: { read, balance in
        read.upstream.endpoints.balance = balance.policy
        read.upstream.balanceKey = balance.key
      })
    Key(
      "outlier", OutlierSettings.form, \.upstream.endpoints.outlier,
      "leaves out endpoints that fail; one endpoint alone never is", missing: .words("on"))
    Key(
      "slowStart", .secondsOrOff(EndpointSettings.slowStarts), \.upstream.endpoints.slowStart,
      "the weight of an endpoint that is back, or new beside others, rises from 10 to 100 %")
    Key(
      "panicThreshold", .number(EndpointSettings.shares), \.upstream.endpoints.panicThreshold,
      "if a smaller share of a priority's endpoints is available, all of it is used")
    Key(
      "connectRetries", .integer(EndpointSettings.connectRetriesRange), \.upstream.endpoints.connectRetries,
      """
      if no connection can be opened, the request goes to another endpoint, whatever its method, as nothing was \
      sent. Each counts in the retry budget. Needs no `retry`
      """)
    Key(
      "check", EndpointCheck.form, \.upstream.check,
      "active checks; `{}` only opens a connection, with the handshake on `https`")
    Key(
      "connectTimeout", .seconds(0.05...60), \.upstream.connection.connectTimeout,
      "for TCP and TLS. Also how long a request waits while the entry has no endpoint at all")
    Key(
      "idleTimeout", .seconds(1...3600), \.upstream.connection.idleTimeout,
      "connections that have been idle for so long are closed")
    Key(
      "maximumAge", .secondsOrOff(1...86_400), \.upstream.connection.maximumAge,
      "older connections are not used again")
    Key(
      "silenceTimeout", .silence, \.upstream.connection.silenceTimeout,
      """
      without a byte, while the client is not what is slow: 504, or a response that breaks off. A route's own takes \
      precedence
      """, missing: .words("`off`; of streams \(ReadRoute.streamSilence)"))
    Key(
      "connections", .integer(EndpointSettings.connectionsRange), \.upstream.endpoints.connections,
      "attempts under way per endpoint. Further requests wait as for other upstreams")
    Key(
      "uploads", .integer(EndpointSettings.connectionsRange), \.upstream.connection.uploads,
      "large bodies on their way to the upstream", missing: .words("half of all `connections`"))
    Key(
      "parked", .integer(EndpointSettings.connectionsRange), \.upstream.connection.parked,
      """
      responses that may wait for slow clients without counting as under way. For one more, that one is reset whose \
      client takes least ([bounds.md](bounds.md#bodies-and-slow-clients))
      """, missing: .words("all `connections`"))
    Key(
      "tls", UpstreamTLS.form, \.upstream.tls,
      "for `https`; with the keys of a route's `upstream.tls`",
      isDetailed: false)
    Key(
      "proxy", ProxySettings.form, \.upstream.proxy,
      """
      the proxy on the way to the endpoints, for requests and checks. One that looks names up itself gets the names of \
      `endpoints`, each of which is one endpoint then
      """, missing: .words(ProxySettings.missing), isDetailed: false)
    Key(
      "httpVersion", httpVersion, \.upstream.connection.httpVersion,
      "`2` is asked for by ALPN, else 1.1. HTTP/2 needs libcurl 8.1 or later")
    Key(
      late: "credential", .named("name", .text(nil)),
      "the entry of `credentials` for requests and checks, unless their route names one")
    Key(
      "retryBudget", RetryBudget.form, \.upstream.retryBudget,
      "as a route's `retry.budget`", missing: .words("on"),
      isDetailed: false)
    Key("circuitBreaker", CircuitBreaker.form, \.upstream.circuitBreaker, asRoutes, isDetailed: false)
    Key("overload", OverloadSettings.form, \.upstream.overload, asRoutes, missing: .words("on"), isDetailed: false)
    Key("pace", PaceSettings.form, \.upstream.pace, asRoutes, isDetailed: false)
    Key(
      "destinationPolicy", DestinationPolicy.form, \.upstream.destinationPolicy,
      "as a route's; judges each address. Those that it refuses are left out; if it refuses all, the answer is 502",
      isDetailed: false)
  }

  private static let asRoutes = "as a route's"

  private static let misplaced: [String: String] = {
    var hints: [String: String] = [:]
    for key in ["policy", "key", "factor"] { hints[key] = "it belongs into balance" }
    for key in ["consecutiveFailures", "failureRatio", "ejectFor", "longest", "maximumShare"] {
      hints[key] = "it belongs into outlier"
    }
    for key in ["interval", "unhealthyAfter", "healthyAfter", "status"] { hints[key] = "it belongs into check" }
    for key in ["weight", "priority", "address"] { hints[key] = "it belongs into an endpoint" }
    for key in ["match", "retry", "hedge", "timeout", "attemptTimeout", "headers", "rewriteHost", "streaming"] {
      hints[key] = "it belongs into the routes that name the upstream"
    }
    hints["url"] = "give scheme, endpoints and basePath"
    hints["budget"] = "write retryBudget"
    hints["adaptiveConcurrency"] = ReadRoute.concurrencyIsGone
    return hints
  }()

  @Sendable private static func problem(name: String) -> String? {
    if let problem = ConfigurationForm<String>.problem(plainName: name) { return problem }
    if IPAddress(host: name) != nil { return "\(quoted(name)) reads as an address; give it letters" }
    if name != FieldSyntax.lowercased(name) { return "must be in lower case, as it stands for a host in labels" }
    return name.hasSuffix(".") ? "must not end with a dot" : nil
  }

  private static let listed = EndpointSpec.list.map { EndpointSource.listed($0) }
  private static let services = service.map { EndpointSource.services($0) }
  private static let file = ConfigurationForm.file.called("path").map { EndpointSource.file($0) }

  private static let path = ConfigurationForm<String>(.named("path", .text("^(?:/|$)"))) { reader in
    reader.parse({ try Upstream.basePath($0[...]) }) { "\($0)".replacing("its path ", with: "") }
  }

  private static let service = ConfigurationForm.text("^_[^.]*\\._[^.]*\\.") { name in
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    let isService = labels.count > 2 && labels[0].hasPrefix("_") && labels[1].hasPrefix("_")
    return isService && HostSyntax.isName(name.utf8)
      ? nil : "must be a service's name, such as _https._tcp.pay.internal"
  }.called("name")

  private static let httpVersion = ConfigurationForm<HTTPVersionChoice>.version([
    ("1.1", .http1_1), ("2", .http2), ("2-prior-knowledge", .http2PriorKnowledge),
  ]) {
    let isReliable = $0 == .http1_1 || CurlLibrary.hasReliableHTTP2
    return isReliable ? nil : "HTTP/2 needs libcurl 8.1 or later; this is \(CurlLibrary.version)"
  }

  // MARK: Keys together

  private mutating func finish(_ given: ConfigurationGiven) {
    upstream.target = Upstream(named: name, scheme: scheme, port: onePort, basePath: basePath)
    upstream.source = source ?? .listed([])
    upstream.connection.perEndpoint = upstream.endpoints.connections
    if upstream.connection.httpVersion == .http2PriorKnowledge, upstream.check?.path != nil {
      given["check"]?.report("requests of checks are HTTP/1.1, which 2-prior-knowledge rules out; leave path out")
    }
    if scheme == .http { given.fitting("tls")?.report("needs an https:// upstream") }
    guard !endpoints.isEmpty else { return }
    if let resolve = given["resolve"], endpoints.allSatisfy(\.isAddress) {
      resolve.warn("does nothing: all endpoints are addresses, and none is looked up")
    }
    if let check = given["check"], upstream.check?.port != nil, endpoints.allSatisfy(\.isUnixSocket) {
      check.warn("port does nothing: all endpoints are Unix sockets")
    }
    guard let policy = given.fitting("destinationPolicy") else { return }
    let refused = endpoints.filter { endpoint in
      !endpoint.isUnixSocket && upstream.destinationPolicy.refusal(ofHost: endpoint.host) != nil
    }
    guard let first = refused.first else { return }
    policy.warn("refuses \(first.name)\(refused.count > 1 ? " and \(refused.count - 1) more" : "")")
  }

  /// The endpoints that the file lists.
  private var endpoints: [EndpointSpec] { if case .listed(let endpoints)? = source { endpoints } else { [] } }

  /// The one port of all endpoints that the file lists; nil if there are several or none.
  private var onePort: Int? {
    let ports = Set(endpoints.map(\.port))
    return ports.count == 1 ? ports.first.flatMap { $0 == 0 ? nil : $0 } : nil
  }
}

extension EndpointSpec {
  /// Listed endpoints, which differ.
  fileprivate static let list = ConfigurationForm.list(
    of: form, 1...NamedUpstream.maximumEndpoints, "endpoints", unlike: \.name
  ) { "\(quoted($0)) is already in this list (line \($1))" }.called("list")

  /// `10.0.0.7:8443`, or a mapping of an address with its weight and priority.
  private static let form = ConfigurationForm<EndpointSpec>(.either([.text(nil), mapping.shape])) { reader in
    guard case .mapping(let entries) = reader.node.content else { return address(reader, ReadEndpoint()) }
    let (read, given) = mapping.read(reader, entries)
    return given["address"].flatMap { address($0, read) }
  }

  private static let mapping = ConfigurationMapping(ReadEndpoint()) {
    Key(
      late: "address", .text(nil),
      """
      `{ address: "10.0.0.7:8443", weight: 2 }`
      """, missing: .required("such as 10.0.0.7:8443"))
    Key("weight", .integer(weights), \.weight, "the endpoint's share of the requests")
    Key(
      "priority", .integer(priorities), \.priority,
      """
      requests go to a higher number only while no endpoint of a lower one is available; retries also go there once \
      they have tried those
      """)
  }

  private static func address(_ reader: ConfigurationReader, _ read: ReadEndpoint) -> EndpointSpec? {
    reader.parse { try EndpointSpec(parsing: $0, weight: read.weight, priority: read.priority) }
  }
}

private struct ReadEndpoint {
  var weight = 1
  var priority = 0
}
