import WeirHTTP

/// Turns a document into a configuration, collecting all that is wrong with it.
struct ConfigurationBuilder {
  private(set) var problems: [ConfigurationProblem] = []
  private var warnings: [ConfigurationProblem] = []
  private var omittedWarnings = 0
  private var names: [String: SourcePosition?] = [:]
  private var matches: [RouteMatch: String] = [:]

  static let maximumRoutes = 1000
  static let maximumNameLength = 64
  static let maximumRetries = 10
  static let maximumTimeout: Duration = .seconds(86_400)

  /// Only fit for use if there are no problems.
  mutating func configuration(_ document: ConfigurationDocument) -> Configuration {
    guard let routes = document.routes else {
      problems.append(
        ConfigurationProblem(
          at: SourcePosition(line: 1, column: 1), path: ConfigurationPath([.key("routes")]),
          "is missing; list at least one route"))
      return Configuration(routes: [])
    }
    if let count = routes.value?.count, !(1...Self.maximumRoutes).contains(count) {
      report(routes, "holds \(count) routes; give 1 to \(Self.maximumRoutes)")
    }
    var configuration = Configuration(routes: (routes.value ?? []).compactMap { route($0) })
    configuration.warnings = warnings
    if omittedWarnings > 0 {
      let text = "and \(omittedWarnings) more"
      configuration.warnings.append(ConfigurationProblem(at: nil, path: ConfigurationPath(), text))
    }
    return configuration
  }

  private mutating func route(_ located: Located<RouteDocument>) -> Route? {
    guard let document = located.value else { return nil }
    let name = self.name(document, of: located)
    let match = match(document.match, of: located, name: name)
    let upstream = upstream(document, of: located)
    let headers = headers(document.headers?.value)
    let retry = retry(document.retry)
    let timeout = timeout(document.timeout)
    guard let upstream else { return nil }
    var route = Route(name: name ?? "", match: match, upstream: upstream)
    route.stripPrefix = document.stripPrefix?.value ?? false
    route.headers = headers
    route.retry = retry
    if let timeout { route.timeout = timeout }
    return route
  }

  private mutating func name(_ document: RouteDocument, of route: Located<RouteDocument>) -> String? {
    guard let located = document.name else {
      missing("name", of: route, "it labels the route's metrics and log lines")
      return nil
    }
    guard let name = located.value else { return nil }
    let hasControls = name.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
    if name.isEmpty || name.utf8.count > Self.maximumNameLength || hasControls {
      report(located, "must be 1 to \(Self.maximumNameLength) bytes of text without control characters")
    } else if let first = names[name] {
      let line = first.map { " (line \($0.line))" } ?? ""
      report(located, "another route is named \(quoted(name))\(line); names must differ")
    } else {
      names[name] = located.position
    }
    return name
  }

  private mutating func upstream(_ document: RouteDocument, of route: Located<RouteDocument>) -> Upstream? {
    guard let located = document.upstream else {
      missing("upstream", of: route, "the URL that requests are sent to, such as http://127.0.0.1:9000")
      return nil
    }
    guard let text = located.value else { return nil }
    do {
      return try Upstream(parsing: text)
    } catch {
      report(located, error.message)
      return nil
    }
  }

  private mutating func match(
    _ located: Located<MatchDocument>?, of route: Located<RouteDocument>, name: String?
  ) -> RouteMatch {
    let before = problems.count
    var match = RouteMatch()
    if let host = located?.value?.host, let text = host.value {
      match.host = RouteHost.normalized(text)
      if let reason = RouteHost.problem(text) { report(host, reason) }
    }
    if let prefix = located?.value?.pathPrefix, let text = prefix.value {
      if let reason = PathPrefix.problem(text) { report(prefix, reason) }
      match.pathPrefix = PathPrefix.normalized(text)
    }
    // What could not be read would look like a match of everything.
    let isWhole =
      (located == nil || located?.value != nil) && located?.value?.host.map { $0.value != nil } ?? true
      && located?.value?.pathPrefix.map { $0.value != nil } ?? true
    guard problems.count == before, isWhole else { return match }
    if let other = matches[match] {
      let whose = other.isEmpty ? "an earlier route" : "route \(quoted(other))"
      let text =
        "host \(match.host ?? "any") and pathPrefix \(quoted(match.pathPrefix)) are already matched by \(whose)"
      problems.append(
        ConfigurationProblem(at: (located?.position ?? route.position), path: route.path.key("match"), text))
    } else {
      matches[match] = name ?? ""
    }
    return match
  }

  private mutating func headers(_ document: HeadersDocument?) -> HeaderRules {
    var rules = HeaderRules()
    var seen: Set<String> = []
    for (name, located) in document?.set?.value?.entries ?? [] {
      guard let value = located.value else { continue }
      if let reason = HeaderRules.problem(setting: name) { report(located, reason) }
      if !FieldSyntax.isValue(value.utf8) {
        report(located, "a field value must not hold control characters, nor begin or end with a space")
      }
      if !seen.insert(name.lowercased()).inserted { report(located, "the same field is set twice") }
      rules.set.append(HeaderRule(name: name, value: value))
    }
    for located in document?.remove?.value ?? [] {
      guard let name = located.value else { continue }
      if let reason = HeaderRules.problem(removing: name) { report(located, reason) }
      if seen.contains(name.lowercased()) { report(located, "the field is also under set, which replaces it anyway") }
      rules.remove.append(name)
    }
    return rules
  }

  private mutating func retry(_ located: Located<RetryDocument>?) -> RetryRules {
    let document = located?.value
    var rules = RetryRules()
    if let located = document?.limit, let limit = located.value {
      if !(0...Self.maximumRetries).contains(limit) { report(located, "must be 0 to \(Self.maximumRetries)") }
      rules.limit = limit
    }
    if let codes = document?.statusCodes?.value {
      rules.statusCodes = []
      for located in codes {
        guard let code = located.value else { continue }
        if !(400...599).contains(code) { report(located, "\(code) is no failure; give a status code from 400 to 599") }
        rules.statusCodes.insert(code)
      }
    }
    if let methods = document?.methods?.value {
      rules.methods = []
      for located in methods {
        guard let method = located.value else { continue }
        if !FieldSyntax.isToken(method) {
          report(located, "\(quoted(method)) is no method name")
        } else if method != method.uppercased(), KnownMethod(method.uppercased()) != .other {
          report(located, "methods are case-sensitive; write \(method.uppercased())")
        } else if !RegisteredMethod.names.contains(method) {
          warn(located, Self.text(ofUnknown: method))
        }
        rules.methods.insert(method)
      }
    }
    if let located, document != nil { warn(of: rules, at: located) }
    return rules
  }

  /// A retry block under which nothing is ever retried is hardly meant.
  private mutating func warn(of rules: RetryRules, at located: Located<RetryDocument>) {
    if rules.limit == 0 {
      warn(located, "retries nothing: limit is 0, its default; give a limit such as 2")
    } else if rules.methods.isEmpty {
      warn(located, "retries nothing: methods is empty; without the key, idempotent methods are retried")
    }
  }

  private mutating func timeout(_ located: Located<ConfigurationDuration>?) -> Duration? {
    guard let located, let timeout = located.value?.duration else { return nil }
    if timeout <= .zero || timeout > Self.maximumTimeout { report(located, "must be more than 0 and at most 1 day") }
    return timeout
  }

  private static func text(ofUnknown method: String) -> String {
    let guess = suggestion(for: method, among: RegisteredMethod.names)
    let hint = guess.map { "did you mean \(quoted($0))?" } ?? "it is taken as written"
    return "\(quoted(method)) is no registered method; \(hint)"
  }

  private mutating func warn(_ located: Located<some Any>, _ message: @autoclosure () -> String) {
    if warnings.count < ConfigurationError.maximumCount {
      warnings.append(located.problem(message()))
    } else {
      omittedWarnings += 1
    }
  }

  private mutating func report(_ located: Located<some Any>, _ message: String) {
    problems.append(located.problem(message))
  }

  private mutating func missing(_ key: String, of route: Located<RouteDocument>, _ what: String) {
    problems.append(
      ConfigurationProblem(at: route.position, path: route.path.key(key), "is missing; \(what)"))
  }
}
