import Weir
import WeirHTTP

extension Configuration {
  /// Reads and checks a configuration. `file` is only a name, for the error text.
  package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    try self.init(parsing: bytes, file: file, noting: nil)
  }

  private init(parsing bytes: [UInt8], file: String, noting reads: FilesRead?) throws(ConfigurationError) {
    self = try ConfigurationFile.parse(bytes, file: file, noting: reads) { root in
      var builder = ConfigurationBuilder()
      return builder.configuration(root)
    }
  }

  /// Reads a file of at most 1 MiB.
  ///
  /// - Parameter reads: Notes this file and those that are read with it.
  package init(file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file, noting: reads), file: file, noting: reads)
  }
}

/// Makes a configuration of a file's content, and checks each part.
struct ConfigurationBuilder {
  private var warnings: [ConfigurationProblem] = []
  private var omittedWarnings = 0
  private var names: [String: SourcePosition] = [:]
  private var matches: [ReadMatch] = []
  /// The entries of `upstreams`, by name.
  var upstreams: [String: ReadUpstream] = [:]
  /// The names of all entries, those with problems too.
  var writtenUpstreams: Set<String> = []
  /// The listeners, as far as they could be read, and the names that routes may give; nil if not all could be read.
  var listeners: [ListenerSettings] = []
  var listenerNames: Set<String>?
  /// The load control of each upstream that is a URL, and the first route that goes there.
  private var controls: [Destination: (overload: OverloadSettings?, isReplaced: Bool, route: String)] = [:]

  /// Keys of a route that might be expected to hold for all of them.
  private static let routeKeys: Set = [
    "auth", "clients", "overload", "adaptiveConcurrency", "bodyBytes", "circuitBreaker", "compression", "concurrency",
    "destinationPolicy", "headers", "hedge", "rateLimits", "responseHeaders", "retry", "silenceTimeout", "streaming",
    "timeout", "upgrade",
  ]
  private static let maximumNameLength = 64
  private static let maximumRetries = 10
  private static let maximumTimeout: Duration = .seconds(86_400)

  mutating func configuration(_ root: ConfigurationReader) -> Configuration? {
    root.mapping { keys in
      for key in Self.routeKeys { keys.misplaced[key] = "it belongs into the routes it is meant for" }
      let listing = keys.take("listeners")
      let listeners = listing.map { readListeners($0) } ?? []
      note(listeners, of: listing)
      if let upstreams = keys.take("upstreams") { readUpstreams(upstreams) }
      let accessLog = keys.take("accessLog").flatMap { $0.accessLog() }
      let trace = keys.take("trace").flatMap { $0.trace() }
      let requestID = keys.take("requestId").flatMap { $0.requestID() }
      guard let list = keys.take("routes", required: "list at least one route"), let routes = list.elements() else {
        return nil
      }
      if !(1...Configuration.maximumRoutes).contains(routes.count) {
        list.report("holds \(routes.count) routes; give 1 to \(Configuration.maximumRoutes)")
      }
      var configuration = Configuration(routes: routes.compactMap { route($0) })
      configuration.listeners = listeners
      configuration.accessLog = accessLog
      (configuration.trace, configuration.requestID) = (trace, requestID)
      configuration.upstreams = upstreams.values.map(\.value).sorted { $0.name < $1.name }
      compare(matches)
      compareUpstreams(configuration.routes)
      configuration.warnings = warnings
      if omittedWarnings > 0 {
        let text = "and \(omittedWarnings) more"
        configuration.warnings.append(ConfigurationProblem(at: nil, path: ConfigurationPath(), text))
      }
      return configuration
    }
  }

  private mutating func route(_ reader: ConfigurationReader) -> Route? {
    reader.mapping { keys in
      keys.misplaced = Self.misplacedInRoutes
      let name = name(&keys)
      let match = match(keys.take("match"), of: reader, name: name)
      let action = action(&keys, match.path)
      // All keys are read, so that all problems are found, even if no route can be made of them.
      var route = Route(name: name ?? "", match: match, action: action.value ?? .respond(RouteResponse(status: 200)))
      route.tls = action.tls
      route.fallback = action.fallback
      if let rules = keys.take("responseHeaders").flatMap({ $0.headers(of: .responses) }) {
        route.responseHeaders = rules
      }
      let asksForUsers = access(&keys, into: &route)
      if let reader = keys.take("accessLog") { route.hasAccessLog = reader.keepsAccessLog() }
      if let limits = keys.take("rateLimits") { route.limits.rates = limits.rateLimits(knowsUsers: asksForUsers) }
      if let limits = keys.take("concurrency") {
        route.limits.concurrency = limits.concurrencyLimits(knowsUsers: asksForUsers)
      }
      if action.forwards { forwarding(&keys, into: &route, isNamed: action.isNamed, at: reader) }
      return action.value == nil ? nil : route
    }
  }

  /// Reads the keys that say how a route's requests are sent to its upstream.
  private mutating func forwarding(
    _ keys: inout ConfigurationKeys, into route: inout Route, isNamed: Bool, at reader: ConfigurationReader
  ) {
    if let headers = keys.take("headers").flatMap({ $0.headers(of: .requests) }) { route.headers = headers }
    let setsHost = route.headers.set.contains { FieldSyntax.isSameName($0.name, "host") }
    rewrites(&keys, into: &route, setsHost: setsHost)
    if let retry = keys.take("retry").flatMap({ self.retry($0, ofNamed: isNamed) }) { route.retry = retry }
    if isNamed { Self.refuseUpstreamsKeys(&keys) } else { controls(&keys, into: &route, at: reader) }
    let timeout = keys.take("timeout", as: .duration) {
      $0 > .zero && $0 <= Self.maximumTimeout ? nil : "must be more than 0 and at most 1 day"
    }
    if let timeout { route.timeout = timeout }
    route.streaming = keys.take("streaming", as: .boolean)
    route.silenceTimeout = keys.takeSilenceTimeout()
    route.compression = keys.take("compression").flatMap { compression($0, beside: route.responseHeaders) }
    route.upgrade = keys.take("upgrade").flatMap { $0.tunnels() }
    route.bodyBytes = keys.takeCount("bodyBytes", within: 1...1 << 40).map(Int64.init)
    route.hedge = keys.take("hedge").flatMap { $0.hedge(before: route.timeout) }
  }

  /// Settings of an upstream that is a URL, which its routes give.
  private mutating func controls(
    _ keys: inout ConfigurationKeys, into route: inout Route, at reader: ConfigurationReader
  ) {
    route.circuitBreaker = keys.take("circuitBreaker").flatMap { self.circuitBreaker($0) }
    let problems = reader.findings.problems.count
    let (overload, isReplaced) = overload(&keys)
    route.overload = overload
    if let upstream = route.upstream, reader.findings.problems.count == problems {
      share(&route, of: upstream, isReplaced: isReplaced, at: reader)
    }
    if let policy = keys.take("destinationPolicy").flatMap({ destinationPolicy($0, route.upstream) }) {
      route.destinationPolicy = policy
    }
  }

  /// Refuses settings that an entry of `upstreams` has for all its routes.
  private static func refuseUpstreamsKeys(_ keys: inout ConfigurationKeys) {
    for key in ["circuitBreaker", "overload", "adaptiveConcurrency", "destinationPolicy"] {
      keys.take(key)?.report(belongsToUpstream)
    }
  }

  private static let belongsToUpstream =
    "all routes to an entry of upstreams share it; it belongs into that entry"

  mutating func circuitBreaker(_ reader: ConfigurationReader) -> CircuitBreaker? {
    reader.circuitBreaker {
      warn($0, "is ignored: a circuit lets a share of the requests through, which follows their failures")
    }
  }

  /// Load control is on by default. Returns also whether it comes from the keys of its former name.
  private mutating func overload(_ keys: inout ConfigurationKeys) -> (OverloadSettings?, isReplaced: Bool) {
    let own = keys.take("overload")
    let before = keys.take("adaptiveConcurrency")
    let replaced = before.flatMap { $0.adaptiveConcurrency() }
    if let before {
      let consequence =
        switch (own, replaced) {
        case (nil, nil) where before.isOff: "load control stays on; write overload: off to turn it off"
        case (nil, _?): "its minimum, initial and tolerance are taken"
        default: "it is ignored"
        }
      warn(before, "is replaced by overload, which is on by default; \(consequence)")
    }
    if let own { return (own.overload(), false) }
    return (replaced ?? .default, replaced != nil)
  }

  /// Routes to one upstream share its load control: that of the first one, where the file gives it by its former name.
  ///
  /// - Parameter isReplaced: Whether the route has only the former name's keys.
  private mutating func share(
    _ route: inout Route, of upstream: Upstream, isReplaced: Bool, at reader: ConfigurationReader
  ) {
    guard let first = controls[upstream.destination] else {
      controls[upstream.destination] = (route.overload, isReplaced, route.name)
      return
    }
    guard first.overload != route.overload else { return }
    let whose = first.route.isEmpty ? "an earlier route" : "route \(quoted(first.route))"
    if isReplaced || first.isReplaced {
      warn(reader, "has other load control than \(whose), which has the same upstream; that of \(whose) is used")
      route.overload = first.overload
    } else {
      reader.report("must be the same as that of \(whose), which has the same upstream", key: "overload")
    }
  }

  private mutating func name(_ keys: inout ConfigurationKeys) -> String? {
    let value = keys.take("name", required: "it labels the route's metrics and log lines")
    guard let value, let name = value.read(as: .string) else { return nil }
    let hasControls = name.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
    if name.isEmpty || name.utf8.count > Self.maximumNameLength || hasControls {
      value.report("must be 1 to \(Self.maximumNameLength) bytes of text without control characters")
    } else if let first = names[name] {
      value.report("another route is named \(quoted(name)) (line \(first.line)); names must differ")
    } else {
      names[name] = value.node.position
    }
    return name
  }

  private mutating func match(
    _ value: ConfigurationReader?, of route: ConfigurationReader, name: String?
  ) -> RouteMatch {
    let before = route.findings.problems.count
    let match = value.flatMap { self.match($0) } ?? RouteMatch()
    // A match that could not be read would look like a match of everything.
    if route.findings.problems.count == before {
      let name = name.flatMap { $0.isEmpty ? nil : $0 }
      matches.append(ReadMatch(match: match, reader: value ?? route, isImplied: value == nil, name: name))
    }
    return match
  }

  func destinationPolicy(_ reader: ConfigurationReader, _ upstream: Upstream?) -> DestinationPolicy? {
    reader.mapping { keys in
      let allow = networks(keys.take("allow")), deny = networks(keys.take("deny"))
      let name = keys.take("otherwise", required: "one of \(DestinationPolicyName.list)")?.read(
        as: .string,
        unless: { DestinationPolicyName(rawValue: $0) == nil ? "give one of \(DestinationPolicyName.list)" : nil })
      guard let otherwise = name.flatMap(DestinationPolicyName.init(rawValue:))?.otherwise,
        let policy = try? DestinationPolicy(allow: allow, deny: deny, otherwise: otherwise)
      else { return nil }
      // With such a policy no request would ever get through.
      if let refusal = upstream.flatMap({ policy.refusal(ofHost: $0.host) }) {
        reader.report("the upstream: \(refusal)")
      }
      return policy
    }
  }

  private func networks(_ reader: ConfigurationReader?) -> [String] {
    (reader?.elements() ?? []).compactMap { $0.read(as: .string, unless: Self.problem(network:)) }
  }

  private static func problem(network: String) -> String? {
    do {
      _ = try DestinationPolicy(allow: [network], otherwise: .refused)
      return nil
    } catch {
      return error.description
    }
  }

  private mutating func retry(_ reader: ConfigurationReader, ofNamed isNamed: Bool) -> RouteRetryRules? {
    reader.mapping { keys in
      var rules = RouteRetryRules()
      let limit = keys.take("limit", as: .integer) {
        (0...Self.maximumRetries).contains($0) ? nil : "must be 0 to \(Self.maximumRetries)"
      }
      if let limit { rules.limit = limit }
      if let codes = keys.take("statusCodes")?.elements() {
        rules.statusCodes = Set(codes.compactMap { $0.read(as: .integer, unless: Self.problem(statusCode:)) })
      }
      if let methods = keys.take("methods")?.elements() {
        rules.methods = Set(methods.compactMap { method($0) })
      }
      if let budget = keys.take("budget") {
        if isNamed {
          budget.report("\(Self.belongsToUpstream), as retryBudget")
        } else {
          rules.budget = budget.retryBudget()
        }
      }
      if let fields = keys.take("finalResponseFields")?.elements() {
        rules.finalResponseFields = fields.compactMap { $0.read(as: .string, unless: Self.problem(fieldName:)) }
      }
      if let unlessRetried = keys.take("unlessRetried", as: .boolean) { rules.unlessRetried = unlessRetried }
      warn(of: rules, at: reader)
      return rules
    }
  }

  private static func problem(statusCode: Int) -> String? {
    (400...599).contains(statusCode) ? nil : "\(statusCode) is not a failure; give a status code from 400 to 599"
  }

  private static func problem(fieldName: String) -> String? {
    FieldSyntax.isToken(fieldName) ? nil : "\(quoted(fieldName)) is not a field name"
  }

  mutating func method(_ reader: ConfigurationReader) -> String? {
    guard let method = reader.read(as: .string, unless: Self.problem(method:)) else { return nil }
    if !RegisteredMethod.names.contains(method) { warn(reader, Self.text(ofUnknown: method)) }
    return method
  }

  private static func problem(method: String) -> String? {
    let upper = method.uppercased()
    if !FieldSyntax.isToken(method) { return "\(quoted(method)) is not a method name" }
    return method != upper && KnownMethod(upper) != .other ? "methods are case-sensitive; write \(upper)" : nil
  }

  private static func text(ofUnknown method: String) -> String {
    let guess = suggestion(for: method, among: RegisteredMethod.names)
    let hint = guess.map { "did you mean \(quoted($0))?" } ?? "it is taken as written"
    return "\(quoted(method)) is not a registered method; \(hint)"
  }

  /// Warns of a retry block under which nothing is ever retried, since that is hardly intended.
  private mutating func warn(of rules: RouteRetryRules, at reader: ConfigurationReader) {
    if rules.limit == 0 {
      warn(reader, "retries nothing: limit is 0, its default; give a limit such as 2")
    } else if rules.methods.isEmpty {
      warn(reader, "retries nothing: methods is empty; without the key, idempotent methods are retried")
    } else if let budget = rules.budget, budget.ratio == 0, budget.minimumPerSecond * budget.window + budget.burst < 1 {
      warn(reader, "retries nothing: its budget never comes to one retry; give it a ratio or more per second")
    }
  }

  mutating func warn(_ reader: ConfigurationReader, _ message: @autoclosure () -> String) {
    if warnings.count < ConfigurationError.maximumCount {
      warnings.append(reader.problem(message()))
    } else {
      omittedWarnings += 1
    }
  }
}
