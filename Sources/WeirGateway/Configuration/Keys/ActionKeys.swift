import Weir
import WeirHTTP

// How a route's requests are answered: by an upstream, by a redirect or by a fixed response.

// MARK: Upstreams

/// The value of `upstream` as it was read.
enum ReadTarget {
  /// The way to it is the file's, if it has none.
  case url(Upstream, UpstreamTLS?, ProxySettings?)
  /// The authority of each request's target.
  case requested(RequestedUpstream, UpstreamTLS?, ProxySettings?)
  /// The name of an entry of `upstreams`.
  case named(ConfigurationReader)
  /// Several of them, each with its weight; nil in place of a name that could not be read.
  case split([(element: ConfigurationReader, name: ConfigurationReader?, weight: Int)])

  static let form: ConfigurationForm<ReadTarget> = {
    let shape = ConfigurationShape.either([.named("URL or name", .text(nil)), mapping.shape, list.shape])
    return ConfigurationForm(shape) { reader in
      switch reader.node.content {
      case .sequence: return list.read(reader)
      case .mapping: return mapping.read(reader)
      case .scalar(let scalar):
        if case .string(let text) = scalar.value, isName(text) { return .named(reader) }
        return url.read(reader).map { .url($0, nil, nil) }
      }
    }
  }()

  var isSplit: Bool { if case .split = self { true } else { false } }

  /// Whether a text looks like a name of an entry, and not like a URL that lacks its scheme.
  private static func isName(_ text: String) -> Bool { !text.isEmpty && !text.contains("/") && !text.contains(":") }

  private static let url = ConfigurationForm<Upstream>(.named("URL", .text("^[Hh][Tt][Tt][Pp][Ss]?://"))) {
    $0.parse(Upstream.init(parsing:))
  }

  private static let mapping: ConfigurationForm<ReadTarget> = ConfigurationMapping(
    ReadURL(),
    misplaced: [
      "name": "write upstream: NAME, or a list of names with weights", "ports": "it belongs into requested",
      "scheme": "it belongs into requested, or into the URL",
    ],
    rules: [
      .atMostOne(["url", "requested"]),
      .missing(
        "url", orElse: ["requested"],
        "the URL that requests are sent to, such as http://127.0.0.1:9000, or an entry of upstreams"),
    ]
  ) {
    Key(
      "url", url, \.upstream,
      """
      of a mapping: the same URL, if `tls` or `proxy` is needed too: `upstream: { url: https://10.0.0.7, tls: { \
      serverName: api.internal } }`
      """, missing: .words("this or `requested`"))
    Key(
      "requested", RequestedUpstream.form, \.requested,
      """
      of a mapping: the host and port of each request's target, at listeners with `forwardProxy` \
      ([routes.md](routes.md#a-proxy-for-programs)): `upstream: { requested: { scheme: https } }`; `{}` for the defaults
      """, missing: .words("this or `url`"))
    Key(
      "tls", UpstreamTLS.form, \.tls,
      "for `https://` only; files are named by absolute paths, are at most 1 MiB and in PEM")
    Key(
      "proxy", ProxySettings.form, \.proxy, "the proxy on the way, in place of the file's",
      missing: .words(ProxySettings.missing), isDetailed: false)
  }.form { read, given in
    if read.upstream?.scheme == .http || read.requested?.scheme == .http {
      given.fitting("tls")?.report("needs an https:// upstream")
    }
    guard given.has("requested") else { return read.upstream.map { .url($0, read.tls, read.proxy) } }
    given["tls"]?.child("serverName")?.report("is of no use with requested, as each target names its own server")
    return read.requested.map { .requested($0, read.tls, read.proxy) }
  }

  private static let list: ConfigurationForm<ReadTarget> = {
    let part = ConfigurationMapping(1, misplaced: ["url": "only entries of upstreams can have weights; name one"]) {
      Key(
        late: "name", .text(nil),
        "of each element of a list: the name of an entry of `upstreams`",
        missing: .required("that of an entry of upstreams"))
      Key(
        "weight", .integer(UpstreamSplit.weights), \.self,
        "the share of the requests. Retries stay with the entry that was drawn")
    }
    return ConfigurationForm(.list(of: part.shape, UpstreamSplit.counts)) { reader in
      let list = reader.elements(UpstreamSplit.counts, "upstreams", orElse: ", or one without a list")
      return list.map { elements in
        .split(
          elements.map { element in
            guard let entries = element.mappingEntries() else { return (element, nil, 0) }
            let (weight, given) = part.read(element, entries)
            return (element, given["name"], weight)
          })
      }
    }
  }()
}

private struct ReadURL {
  var upstream: Upstream?
  var requested: RequestedUpstream?
  var tls: UpstreamTLS?
  var proxy: ProxySettings?
}

extension ConfigurationForm<RequestKey> {
  /// - Parameter takesCookies: Whether a cookie can be the key.
  static func key(takesCookies: Bool = true) -> Self {
    let forms = takesCookies ? "client, header NAME or cookie NAME" : "client or header NAME"
    let pattern = "^(?:client|(?:header\(takesCookies ? "|cookie" : "")) [!#$%&'*+.^_`|~0-9A-Za-z-]+)$"
    return ConfigurationForm<String>.text(pattern) { text in
      let key = RequestKey(parsing: text)
      if case .cookie? = key, !takesCookies { return "must be \(forms)" }
      return key == nil ? "must be \(forms)" : nil
    }.map { RequestKey(parsing: $0) }
  }
}

/// The value of `fallback` as it was read. Its upstream is named there.
struct ReadFallback {
  var response: RouteResponse?
  var statusCodes = RouteFallback.replaceable

  static let form = ConfigurationMapping(
    ReadFallback(),
    rules: [.atMostOne(["upstream", "respond"]), .some(["upstream", "respond"], "needs upstream or respond")]
  ) {
    Key(
      late: "upstream", .named("name", .text(nil)),
      """
      sends the request to another entry, once, after all retries and in what is left of `timeout`. Only requests \
      that could be retried: by `retry.methods`, with a body that is kept (`retry.keptBytes`), and within that entry's \
      `retryBudget` ([upstreams.md](upstreams.md))
      """, missing: .words("this or `respond`"))
    Key(
      "respond", RouteResponse.form, \.response,
      "a fixed response, with the keys of `respond`", missing: .words("this or `upstream`"), isDetailed: false)
    Key("statusCodes", statusCodes, \.statusCodes, "which answers are replaced. A response of an upstream never is")
  }.form()

  private static let statusCodes = ConfigurationForm.set(
    of: ConfigurationForm<Int>(.integer(502...504), text: { "\($0)" }) { reader in
      reader.read(as: .integer) {
        RouteFallback.replaceable.contains($0)
          ? nil : "must be 502, 503 or 504, the gateway's own answers for its upstream"
      }
    }, empty: "holds no status, so nothing is replaced; leave the key out for all")
}

// MARK: Redirects and fixed responses

extension RouteRedirect {
  static let form = ConfigurationMapping(
    RouteRedirect(),
    rules: [
      .atMostOne(["path", "prefix"]),
      .some(
        ["scheme", "host", "port", "path", "prefix"],
        "leads to where it came from; give scheme, host, port, path or prefix"),
    ]
  ) {
    Key("status", status, \.status)
    Key("scheme", scheme, \.scheme, missing: .words("the request's"))
    Key(
      "host", .text(unless: RouteHost.problem(ofName:)).called("host name").map { RouteHost.normalized($0) },
      \.host,
      "without port: `host: www.example.com`", missing: .words("the request's"))
    Key(
      "port", .integer(1...65535), \.port,
      missing: .words("that of the scheme; the request's if neither scheme nor host is given"))
    Key(
      "path", .path, "in place of the whole path, at most 2048 bytes: `path: /sale`; this or `prefix`",
      missing: .words("the request's"), put: { $0.path = .replaced($1) })
    Key(
      "prefix", .path, "in place of `match.pathPrefix`, at most 2048 bytes: `prefix: /v2`",
      missing: .words("the request's"), put: { $0.path = .prefix($1) })
    Key("keepQuery", .boolean, \.keepQuery, "`false`: the location has no query")
  }.form()

  private static let status = ConfigurationForm<Int>(
    .named("integer", .either(statuses.map { .integer($0...$0) })), text: { "\($0)" }
  ) { reader in
    let list = ConfigurationShape.joined(statuses.map { "\($0)" }, by: "or")
    return reader.read(as: .integer) { statuses.contains($0) ? nil : "must be \(list)" }
  }

  private static let scheme = ConfigurationForm<Upstream.Scheme>(.words(Upstream.Scheme.allCases.map(\.rawValue))) {
    reader in
    reader.read(as: .string) { Upstream.Scheme(rawValue: $0) == nil ? "must be http or https" : nil }
      .flatMap(Upstream.Scheme.init)
  }
}

extension RouteResponse {
  static let form: ConfigurationForm<RouteResponse> = ConfigurationMapping(
    RouteResponse(status: 200), rules: [.needs(["contentType"], "body", "is of no use without a body")]
  ) {
    Key("status", .integer(200...599), \.status, missing: .required("200 to 599"))
    Key(
      "body", .text { $0.utf8.count > maximumBody ? "must be at most 64 KiB; it is \($0.utf8.count) bytes long" : nil },
      \.body,
      "at most 64 KiB; none with 204, 205 and 304")
    Key(
      "contentType",
      .text { $0.isEmpty || !FieldSyntax.isValue($0.utf8) ? "must be a media type, such as application/json" : nil },
      \.contentType,
      "the body's type: `contentType: application/json`")
  }.form { response, given in
    if given.fitting("status") != nil, [204, 205, 304].contains(response.status) {
      given["body"]?.report("a response with \(response.status) has no body")
    }
    return response
  }
}

// MARK: Hosts

extension ConfigurationForm<HostRewrite> {
  /// A host, or `client`.
  static var hostRewrite: Self {
    ConfigurationForm<String>.text {
      $0 == "client" ? nil : ConfigurationForm<String>.problem(host: $0, or: ", or client")
    }
    .called("host or `client`").map { $0 == "client" ? .client : .text($0) }
  }
}

extension ConfigurationForm<String> {
  /// The reason why a text is not a host with or without a port; nil if it is one.
  ///
  /// - Parameter otherwise: What could stand in its place, in words that follow.
  @Sendable static func problem(host text: String, or otherwise: String = "") -> String? {
    do {
      let isAuthority = !text.contains("/") && !text.contains("?") && !text.contains("#")
      if isAuthority { _ = try Upstream(parsing: "http://\(text)") }
      return isAuthority ? nil : "must be a host, perhaps with a port\(otherwise)"
    } catch {
      return "\(error)"
    }
  }
}

// MARK: Destinations

extension DestinationPolicy {
  private static let words: [(word: String, value: Otherwise)] = [
    ("any", .allowed), ("publicOnly", .publicOnly), ("none", .refused),
  ]

  private static let otherwise = "one of \(words.map(\.word).joined(separator: ", "))"

  static let form = mapping(ReadPolicy(), .required(otherwise)).form { read, _ in read.policy }

  /// The targets of probes. Without `otherwise` these are the public addresses besides those of `allow`.
  static let formOfTargets = mapping(ReadPolicy(otherwise: .publicOnly), .own).form { read, _ in read.policy }

  /// The destinations of routes: as for probes if the requests name them, else with `otherwise`.
  static let formOfRoutes: ConfigurationForm<ReadPolicy> = mapping(
    ReadPolicy(), .words("required; `publicOnly` beside `requested` and `connect`")
  ).form()

  private static func mapping(
    _ read: ReadPolicy, _ missing: Key<ReadPolicy>.Missing
  ) -> ConfigurationMapping<ReadPolicy> {
    ConfigurationMapping(read) {
      Key("otherwise", .word(words), \.otherwise, "decides about addresses in neither list", missing: missing)
      Key("allow", networks, \.allow, "`10.1.0.0/16`, `2001:db8::/32`, or an address")
      Key("deny", networks, \.deny, "takes precedence over `allow`")
    }
  }

  /// The policy of a route.
  ///
  /// - Parameter isOpen: Whether the route's requests name their destinations. Then only public ones are reached,
  ///   unless the file says otherwise.
  static func ofRoute(_ read: ReadPolicy?, _ reader: ConfigurationReader?, isOpen: Bool) -> Self {
    guard var read, let reader else { return isOpen ? .publicOnly : .any }
    if reader.child("otherwise") == nil {
      if isOpen { read.otherwise = .publicOnly } else { reader.report("is missing; \(otherwise)", key: "otherwise") }
    }
    // Without a policy there is a problem.
    return read.policy ?? .any
  }

  private static let networks = ConfigurationForm.list(
    of: ConfigurationForm<String>(.text(nil)) { reader in
      reader.parse { network in
        _ = try DestinationPolicy(allow: [network], otherwise: .refused)
        return network
      }
    }
  ).called("list of networks")
}

/// A policy as it was read.
struct ReadPolicy {
  var otherwise: DestinationPolicy.Otherwise?
  var allow: [String] = []
  var deny: [String] = []

  fileprivate var policy: DestinationPolicy? {
    // Such a policy judges nothing.
    if otherwise == .allowed, deny.isEmpty { return .any }
    return otherwise.flatMap { try? DestinationPolicy(allow: allow, deny: deny, otherwise: $0) }
  }
}
