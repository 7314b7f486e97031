import Weir
import WeirHTTP

// How a route's requests are answered: by an upstream, by a redirect or by a fixed response.

extension ConfigurationBuilder {
  /// Keys that say how requests are sent to an upstream.
  private static let upstreamKeys = [
    "adaptiveConcurrency", "bodyBytes", "circuitBreaker", "compression", "destinationPolicy", "headers", "hedge",
    "overload", "replacePrefix", "fallback", "retry", "rewriteHost", "silenceTimeout", "splitBy", "streaming",
    "stripPrefix", "timeout",
  ]

  /// Keys that might be looked for in a route, with the place to which they belong.
  static let misplacedInRoutes: [String: String] = {
    var hints: [String: String] = [:]
    for key in ["host", "methods", "path", "pathPattern", "pathPrefix", "query"] {
      hints[key] = "it belongs into match"
    }
    for key in ["keepQuery", "port", "prefix", "scheme"] { hints[key] = "it belongs into redirect" }
    for key in ["decodeRequests", "decodeResponses", "level", "minimumBytes", "responses", "types"] {
      hints[key] = "it belongs into compression"
    }
    for key in ["body", "contentType"] { hints[key] = "it belongs into respond" }
    for key in ["basicUsers", "bearerTokens", "forward", "realm"] { hints[key] = "it belongs into auth" }
    for key in ["allow", "deny"] { hints[key] = "it belongs into clients" }
    hints["listener"] = "it belongs into match"
    hints["status"] = "it belongs into redirect or respond"
    for key in [
      "balance", "basePath", "check", "connectRetries", "connectTimeout", "connections", "endpoints", "file",
      "httpVersion",
      "idleTimeout", "maximumAge", "outlier", "panicThreshold", "parked", "resolve", "retryBudget", "slowStart",
      "srv", "uploads",
    ] {
      hints[key] = "it belongs into an entry of upstreams"
    }
    return hints
  }()

  /// The action of a route as it was read.
  struct ReadAction {
    /// Nil if it could not be read.
    var value: RouteAction?
    var tls: UpstreamTLS?
    var fallback: RouteFallback?
    /// Whether requests are sent to an upstream.
    var forwards = false
    /// Whether that is an entry of `upstreams`, or several.
    var isNamed = false
  }

  func action(_ keys: inout ConfigurationKeys, _ path: PathMatch) -> ReadAction {
    let upstream = keys.take("upstream"), redirect = keys.take("redirect"), respond = keys.take("respond")
    let given = [upstream, redirect, respond].compactMap(\.self).sorted { $0.node.position < $1.node.position }
    if given.count > 1 { given[1].report("give only one of upstream, redirect and respond") }
    if let redirect {
      refuseUpstreamKeys(&keys, with: "redirect")
      return ReadAction(value: Self.redirect(redirect, path).map { .redirect($0) })
    }
    if let respond {
      refuseUpstreamKeys(&keys, with: "respond")
      return ReadAction(value: Self.response(respond).map { .respond($0) })
    }
    return forwarding(upstream ?? keys.take("upstream", required: Self.upstreamText), &keys)
  }

  private func refuseUpstreamKeys(_ keys: inout ConfigurationKeys, with action: String) {
    for key in Self.upstreamKeys {
      keys.take(key)?.report("is of no use with \(action), which sends nothing to an upstream")
    }
  }

  // MARK: Redirects and fixed responses

  private static func redirect(_ reader: ConfigurationReader, _ path: PathMatch) -> RouteRedirect? {
    reader.mapping { keys in
      var redirect = RouteRedirect()
      let status = keys.take("status", as: .integer) {
        RouteRedirect.statuses.contains($0) ? nil : "must be 301, 302, 303, 307 or 308"
      }
      if let status { redirect.status = status }
      let scheme = keys.take("scheme"), host = keys.take("host"), port = keys.take("port")
      redirect.scheme = scheme?.read(as: .string) {
        Upstream.Scheme(rawValue: $0) == nil ? "must be http or https" : nil
      }.flatMap { Upstream.Scheme(rawValue: $0) }
      redirect.host = host?.read(as: .string, unless: RouteHost.problem(ofName:)).map(RouteHost.normalized)
      redirect.port = port?.read(as: .integer) { (1...65535).contains($0) ? nil : "must be 1 to 65535" }
      let whole = keys.take("path"), prefix = keys.take("prefix")
      if let whole, let prefix { later(whole, prefix).report("give only one of path and prefix") }
      if let text = whole?.read(as: .string, unless: PathPrefix.problem) { redirect.path = .replaced(text) }
      if let text = prefix?.read(as: .string, unless: PathPrefix.problem) { redirect.path = .prefix(text) }
      if let prefix, !path.isPrefix { prefix.report(needsPrefix) }
      if let keepQuery = keys.take("keepQuery", as: .boolean) { redirect.keepQuery = keepQuery }
      if [scheme, host, port, whole, prefix].allSatisfy({ $0 == nil }) {
        reader.report("leads to where it came from; give scheme, host, port, path or prefix")
      }
      return redirect
    }
  }

  static func later(_ one: ConfigurationReader, _ other: ConfigurationReader) -> ConfigurationReader {
    one.node.position < other.node.position ? other : one
  }

  static func response(_ reader: ConfigurationReader) -> RouteResponse? {
    reader.mapping { keys in
      let status = keys.take("status", required: "200 to 599")?.read(as: .integer) {
        (200...599).contains($0) ? nil : "must be 200 to 599"
      }
      let body = keys.take("body"), contentType = keys.take("contentType")
      var response = RouteResponse(status: status ?? 200)
      let text = body?.read(as: .string) {
        $0.utf8.count > RouteResponse.maximumBody ? "must be at most 64 KiB; it is \($0.utf8.count) bytes long" : nil
      }
      if let text { response.body = text }
      let type = contentType?.read(as: .string) {
        $0.isEmpty || !FieldSyntax.isValue($0.utf8) ? "must be a media type, such as application/json" : nil
      }
      if let type { response.contentType = type }
      if let status, [204, 205, 304].contains(status) { body?.report("a response with \(status) has no body") }
      if let contentType, body == nil { contentType.report("is of no use without a body") }
      return response
    }
  }

  // MARK: Changes to the request's target and Host

  static let needsPrefix = "needs a match by pathPrefix, whose place it takes"

  func rewrites(_ keys: inout ConfigurationKeys, into route: inout Route, setsHost: Bool) {
    let strip = keys.take("stripPrefix"), replace = keys.take("replacePrefix")
    if let strips = strip?.read(as: .boolean) { route.stripPrefix = strips }
    route.replacePrefix = replace?.read(as: .string, unless: PathPrefix.problem).map(PathPrefix.normalized)
    if let replace, !route.match.path.isPrefix { replace.report(Self.needsPrefix) }
    if let strip, route.stripPrefix {
      if !route.match.path.isPrefix { strip.report("needs a match by pathPrefix") }
      if let replace { Self.later(strip, replace).report("give only one of stripPrefix and replacePrefix") }
    }
    guard let rewrite = keys.take("rewriteHost") else { return }
    route.rewriteHost = Self.hostRewrite(rewrite)
    if setsHost { rewrite.report("headers.set has Host too; give only one of them") }
  }

  /// Reads a host, or `client`.
  static func hostRewrite(_ reader: ConfigurationReader) -> HostRewrite? {
    let host = reader.read(as: .string) { $0 == "client" ? nil : problem(hostField: $0, or: ", or client") }
    return host.map { $0 == "client" ? .client : .text($0) }
  }

  /// The reason why a text is not a host with or without a port; nil if it is one.
  ///
  /// - Parameter otherwise: What could stand in its place, in words that follow.
  static func problem(hostField text: String, or otherwise: String = "") -> String? {
    do {
      let isAuthority = !text.contains("/") && !text.contains("?") && !text.contains("#")
      if isAuthority { _ = try Upstream(parsing: "http://\(text)") }
      return isAuthority ? nil : "must be a host, perhaps with a port\(otherwise)"
    } catch {
      return error.message
    }
  }
}
