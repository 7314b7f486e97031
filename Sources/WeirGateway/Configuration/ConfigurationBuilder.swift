package import WeirCurl
package import WeirExporter
import WeirIO
import WeirTransport

extension Configuration {
  /// Reads and checks a configuration. `file` is only a name, for the error text.
  ///
  /// - Parameters:
  ///   - reads: Notes the files that are read with it.
  ///   - environment: The proxies that `environment` stands for.
  ///   - telemetry: The settings of the export that variables hold.
  package init(
    parsing bytes: [UInt8], file: String, noting reads: FilesRead? = nil, environment: ProxyEnvironment = .process,
    telemetry: TelemetryEnvironment = .process
  ) throws(ConfigurationError) {
    self = try ConfigurationFile.parse(bytes, file: file, noting: reads, environment: environment, telemetry: telemetry)
    {
      root -> Configuration? in
      guard let entries = root.mappingEntries() else { return nil }
      let (read, given) = ReadFile.mapping.read(root, entries)
      var builder = ConfigurationBuilder(read, given)
      return given.has("routes") ? builder.configuration(root.findings) : nil
    }
  }

  /// Reads a file of at most 1 MiB.
  ///
  /// - Parameter reads: Notes this file and those that are read with it.
  package init(file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file, noting: reads), file: file, noting: reads)
  }
}

/// Makes a configuration of a file's parts: looks up upstreams and listeners by their names, and compares the parts.
private struct ConfigurationBuilder {
  private let read: ReadFile
  /// The entries of `upstreams`, by name.
  private var upstreams: [String: ReadUpstream] = [:]
  /// The names of all entries, those with problems too.
  private var writtenUpstreams: Set<String> = []
  /// The listeners that routes can name, and their names; nil if not all could be read.
  private let listeners: [ListenerSettings]
  private let listenerNames: Set<String>?
  private var credentials: ConfigurationCredentials
  private let proxies: ConfigurationProxies
  private let telemetry: ConfigurationTelemetry
  private let trace: TraceSettings?
  private var names: [String: SourcePosition] = [:]
  private var matches: [ReadPlace] = []
  private var overload = SharedKey<OverloadSettings?>(name: "overload")
  private var pace = SharedKey<PaceSettings?>(name: "pace")

  init(_ read: ReadFile, _ given: ConfigurationGiven) {
    self.read = read
    credentials = ConfigurationCredentials(read.credentials, given["credentials"])
    proxies = ConfigurationProxies(read.proxy, given["proxy"], &credentials)
    credentials.complete(by: proxies)
    telemetry = ConfigurationTelemetry(read.telemetry, given, proxies, &credentials)
    trace = telemetry.trace(read.trace, given)
    if let reader = given["listeners"] {
      listeners = read.listeners
      // A name that could not be read is no reason to report those who use it.
      let isComplete =
        if case .sequence(let list) = reader.node.content { list.count == listeners.count } else { false }
      listenerNames = isComplete ? Set(listeners.map(\.name)) : nil
    } else {
      listeners = [ListenerSettings(address: .unnamed)]
      listenerNames = [ListenerSettings.standardName]
    }
    for entry in read.upstreams { note(entry) }
  }

  mutating func configuration(_ findings: ConfigurationFindings) -> Configuration {
    var configuration = Configuration(routes: read.routes.compactMap { route($0) })
    configuration.listeners = read.listeners
    configuration.accessLog = read.accessLog
    (configuration.trace, configuration.requestID) = (trace, read.requestID)
    configuration.telemetry = telemetry.telemetry
    configuration.credentials = credentials.settings
    configuration.secretFiles = findings.secretFiles
    configuration.upstreams = upstreams.values.map(\.upstream).sorted { $0.name < $1.name }
    let own = findings.warnings.count
    compareMatches()
    compareUpstreams(configuration.routes)
    credentials.warnOfUnused()
    configuration.warnings = findings.warnings(sortingFirst: own)
    return configuration
  }

  // MARK: Routes

  private mutating func route(_ read: ReadRoute) -> Route? {
    guard let given = read.given else { return nil }
    var route = read.route
    note(given)
    match(read, &route, given)
    if let redirect = read.redirect { route.action = .redirect(redirect) }
    if let response = read.response { route.action = .respond(response) }
    if let connect = read.connect { route.action = .connect(connect) }
    let senders = senders(of: route, takesOrigins: read.proxyKey(given) == nil)
    if listenerNames != nil { read.compare(&route, with: senders, given) }
    if let reader = given["auth"] { warn(of: route, from: senders, reader) }
    if given.has("connect") {
      route.retry.warn(in: route, to: [], given)
      route.proxy = proxies.standard
      read.compare(route, throughProxy: route.proxy.resolver, given)
    }
    if given.has("redirect") || given.has("respond") || given.has("connect") {
      return read.redirect == nil && read.response == nil && read.connect == nil ? nil : route
    }
    route.credential = credentials.name(given["credential"])
    route.fallback = fallback(read.fallback, given["fallback"])
    guard let upstream = given["upstream"], let target = read.target else { return nil }
    let action = action(target, read, given, &route)
    if action?.isNamed ?? target.isSplit { Self.refuseUpstreamsKeys(given) }
    guard let action else { return nil }
    route.action = action
    if case .upstream(let own) = action, case .upstream(own)? = route.fallback?.action {
      upstream.report("is its own fallback")
    }
    if let upstream = route.upstream { compare(route, upstream, given) }
    let requested: [NamedUpstream?] = if case .requested = action { [nil] } else { [] }
    route.retry.warn(in: route, to: requested + route.upstreams.map(entry), given)
    credentials.compare(route, given, entry: entry)
    return route
  }

  /// The entry of `upstreams` to which an upstream leads; nil for a URL.
  private func entry(_ upstream: Upstream) -> NamedUpstream? {
    upstream.isNamed ? upstreams[upstream.host]?.upstream : nil
  }

  private mutating func note(_ given: ConfigurationGiven) {
    guard let value = given.fitting("name"), case .scalar(let scalar) = value.node.content else { return }
    if let first = names[scalar.text] {
      value.report("another route is named \(quoted(scalar.text)) (line \(first.line)); names must differ")
    } else {
      names[scalar.text] = value.node.position
    }
  }

  private mutating func match(_ read: ReadRoute, _ route: inout Route, _ given: ConfigurationGiven) {
    let value = given["match"]
    let problems = given.reader.findings.problems.count
    if let names = value?.child("listener") { route.match.listeners = listenerNames(names) }
    // One that could not be read would look like a match of everything.
    guard value == nil || given.fitting("match") != nil, given.reader.findings.problems.count == problems else {
      return
    }
    let name = route.name.isEmpty ? nil : route.name
    matches.append(
      ReadPlace(
        match: route.match, targets: read.targets(given), reader: value ?? given.reader, isImplied: value == nil,
        name: name))
  }

  /// A name, or a list of names.
  private func listenerNames(_ reader: ConfigurationReader) -> Set<String> {
    guard case .sequence = reader.node.content else { return Set([listenerName(reader)].compactMap(\.self)) }
    let list = reader.elements(0...Int.max, "", empty: "holds no listener; leave the key out to match every listener")
    var names: Set<String> = []
    for element in list ?? [] {
      guard let name = listenerName(element) else { continue }
      if !names.insert(name).inserted { element.report("\(quoted(name)) is already in this list") }
    }
    return names
  }

  private func listenerName(_ reader: ConfigurationReader) -> String? {
    reader.read(as: .string) { name in
      guard let listenerNames, !listenerNames.contains(name) else { return nil }
      let guess = suggestion(for: name, among: listenerNames).map { "did you mean \(quoted($0))?" }
      let known = listenerNames.sorted().prefix(ListenerSettings.maximumCount).map { quoted($0) }
      return "no listener is named \(quoted(name)); \(guess ?? "there are \(known.joined(separator: ", "))")"
    }
  }

  /// The listeners by which a route's requests come.
  ///
  /// - Parameter takesOrigins: Whether they may come by others than forward proxies.
  private func senders(of route: Route, takesOrigins: Bool) -> [ListenerSettings] {
    listeners.filter { listener in
      (route.match.listeners.isEmpty || route.match.listeners.contains(listener.name))
        && (takesOrigins || listener.isForwardProxy)
    }
  }

  private func warn(of route: Route, from senders: [ListenerSettings], _ reader: ConfigurationReader) {
    guard let auth = route.auth else { return }
    if auth.rules.hasMixedCosts {
      reader.warn("has hashes of different costs, which reveal user names by the time of an answer; use one cost")
    }
    let plain = senders.filter { $0.tls == nil }
    guard let first = plain.first else { return }
    let more = plain.count > 1 ? " and \(plain.count - 1) more" : ""
    reader.warn(
      "lets passwords and tokens come in clear text by listener \(quoted(first.name))\(more); give it tls, or name "
        + "listeners with TLS in match.listener")
  }

  // MARK: Where routes lead

  private mutating func action(
    _ target: ReadTarget, _ read: ReadRoute, _ given: ConfigurationGiven, _ route: inout Route
  ) -> RouteAction? {
    switch target {
    case .split(let parts): return split(parts, of: given, by: read.splitBy).map { .split($0) }
    case .url(let upstream, let tls, let proxy):
      given["splitBy"]?.report("needs several upstreams to split requests among")
      route.tls = tls
      route.proxy = proxies.complete(proxy, given["upstream"]?.child("proxy"), &credentials)
      proxies.compare(route, to: upstream, given)
      return .upstream(upstream)
    case .requested(let requested, let tls, let proxy):
      given["splitBy"]?.report("needs several upstreams to split requests among")
      route.tls = tls
      route.proxy = proxies.complete(proxy, given["upstream"]?.child("proxy"), &credentials)
      read.compare(route, throughProxy: route.proxy.resolver, given)
      return .requested(requested)
    case .named(let name):
      given["splitBy"]?.report("needs several upstreams to split requests among")
      return named(name).map { .upstream($0) }
    }
  }

  private func named(_ value: ConfigurationReader) -> Upstream? {
    guard let name = value.read(as: .string) else { return nil }
    if let known = upstreams[name] { return known.upstream.target }
    // The entry has problems of its own, which are told.
    if writtenUpstreams.contains(name) { return nil }
    let hint = suggestion(for: name, among: Set(upstreams.keys)).map { "did you mean \(quoted($0))?" }
    value.report(
      "no entry of upstreams is named \(quoted(name)); \(hint ?? "a URL begins with http:// or https://")")
    return nil
  }

  private func split(
    _ parts: [(element: ConfigurationReader, name: ConfigurationReader?, weight: Int)], of given: ConfigurationGiven,
    by key: RequestKey?
  ) -> UpstreamSplit? {
    var known: [UpstreamSplit.Part] = []
    for part in parts {
      guard let upstream = part.name.flatMap(named) else { continue }
      if known.contains(where: { $0.upstream == upstream }) {
        part.element.report("\(quoted(upstream.host)) is already in this list")
      }
      known.append(UpstreamSplit.Part(upstream, weight: part.weight))
    }
    guard known.count == parts.count else { return nil }
    if known.allSatisfy({ $0.weight == 0 }) {
      given["upstream"]?.report("has no weight above 0, so no request could go anywhere")
    }
    return UpstreamSplit(known, by: key)
  }

  private func fallback(_ read: ReadFallback?, _ reader: ConfigurationReader?) -> RouteFallback? {
    guard let read, let reader else { return nil }
    let action: RouteFallback.Action? =
      if let upstream = reader.child("upstream") { named(upstream).map { .upstream($0) } } else {
        read.response.map { .respond($0) }
      }
    return action.map { RouteFallback(action: $0, statusCodes: read.statusCodes) }
  }

  /// Refuses settings that an entry of `upstreams` has for all its routes.
  private static func refuseUpstreamsKeys(_ given: ConfigurationGiven) {
    let text = "all routes to an entry of upstreams share it; it belongs into that entry"
    for key in ["circuitBreaker", "overload", "pace", "destinationPolicy"] { given[key]?.report(text) }
    given["retry"]?.child("budget")?.report("\(text), as retryBudget")
  }

  /// Compares a route's settings of its upstream with the upstream, and with those of other routes.
  private mutating func compare(_ route: Route, _ upstream: Upstream, _ given: ConfigurationGiven) {
    guard !upstream.isNamed else { return }
    if let policy = given.fitting("destinationPolicy"),
      let refusal = route.destinationPolicy.refusal(ofHost: upstream.host)
    {
      // With such a policy no request would ever get through.
      policy.report("the upstream: \(refusal)")
    }
    overload.compare(route.overload, of: route, to: upstream, given)
    pace.compare(route.pace, of: route, to: upstream, given)
  }

  // MARK: Upstreams

  private mutating func note(_ entry: ReadUpstream) {
    var entry = entry
    proxies.complete(&entry, &credentials)
    if let reader = entry.given?["credential"] {
      entry.upstream.credential = credentials.name(reader)
      credentials.compare(entry.upstream, reader)
    }
    guard let name = entry.nameReader else { return }
    writtenUpstreams.insert(entry.name)
    guard entry.isUsable else { return }
    if let first = upstreams[entry.name] {
      name.report(
        "another upstream is named \(quoted(entry.name)) (line \(first.nameReader?.node.position.line ?? 0))")
    } else {
      upstreams[entry.name] = entry
    }
  }

  /// Warns of upstreams that no route names, and refuses names that are also hosts of other routes.
  private func compareUpstreams(_ routes: [Route]) {
    let used = Set(routes.flatMap(\.upstreams))
    let named = Set(used.filter(\.isNamed).map(\.host))
    let hosts = Set(used.filter { !$0.isNamed }.map(\.destination.host))
    for entry in read.upstreams {
      guard let reader = entry.nameReader, upstreams[entry.name]?.nameReader?.path == reader.path else { continue }
      if hosts.contains(entry.name) {
        reader.report("a route has a URL with the host \(quoted(entry.name)); their metrics would be one")
      } else if !named.contains(entry.name) {
        reader.warn("no route sends anything to this upstream")
      }
    }
  }

  // MARK: Matches

  /// Reports routes that take the same requests, and warns of those that nothing reaches.
  private func compareMatches() {
    let conflicts = RouteConflicts(matches.map { ($0.match, $0.targets) })
    for repetition in conflicts.repetitions {
      let match = matches[repetition.route].match
      let host = match.hosts.count > 1 ? repetition.host.map { " of host \($0)" } ?? "" : ""
      matches[repetition.route].report("takes the same requests\(host) as \(matches[repetition.first].words)")
    }
    for shadow in conflicts.shadows {
      let last = matches[shadow.by].words
      matches[shadow.route].reader.warn("is never reached: \(last), or others before it, takes all of its requests")
    }
  }
}

/// A key on whose value the routes to one upstream that is a URL have to agree.
private struct SharedKey<Value: Equatable> {
  let name: String
  /// The value for each upstream, and the first route that goes there.
  var known: [Destination: (value: Value, route: String)] = [:]

  /// Reports a value that is not that of the first route. Values with problems are not compared.
  mutating func compare(_ value: Value, of route: Route, to upstream: Upstream, _ given: ConfigurationGiven) {
    guard !given.isUnfit(name) else { return }
    guard let first = known[upstream.destination] else {
      known[upstream.destination] = (value, route.name)
      return
    }
    guard first.value != value else { return }
    let whose = first.route.isEmpty ? "an earlier route" : "route \(quoted(first.route))"
    given.reader.report("must be the same as that of \(whose), which has the same upstream", key: name)
  }
}

/// A match that could be read, with its place in the file.
private struct ReadPlace {
  let match: RouteMatch
  let targets: RouteTargets
  /// The value of the match, or the route if it has none.
  let reader: ConfigurationReader
  let isImplied: Bool
  let name: String?

  /// The words for this route in a problem of another one.
  var words: String {
    let route = name.map { "route \(quoted($0))" } ?? "an earlier route"
    return "\(route) (line \(reader.node.position.line), column \(reader.node.position.column))"
  }

  func report(_ message: String) { reader.report(message, key: isImplied ? "match" : nil) }
}

extension RouteAction {
  /// Whether requests go to entries of `upstreams`.
  fileprivate var isNamed: Bool {
    switch self {
    case .upstream(let upstream): upstream.isNamed
    case .split: true
    case .requested, .connect, .redirect, .respond: false
    }
  }
}
