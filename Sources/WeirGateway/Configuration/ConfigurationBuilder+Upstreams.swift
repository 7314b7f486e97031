import Weir
import WeirCurl
import WeirHTTP
import WeirIO
import WeirTransport

// The entries of `upstreams`.

extension ConfigurationBuilder {
  /// Keys that might be looked for in an upstream, with the place to which they belong.
  private static let misplacedInUpstreams: [String: String] = {
    var hints: [String: String] = [:]
    for key in ["policy", "key", "factor"] { hints[key] = "it belongs into balance" }
    for key in ["consecutiveFailures", "failureRatio", "ejectFor", "longest", "maximumShare"] {
      hints[key] = "it belongs into outlier"
    }
    for key in ["interval", "unhealthyAfter", "healthyAfter", "status"] { hints[key] = "it belongs into check" }
    for key in ["weight", "priority", "address"] { hints[key] = "it belongs into an endpoint" }
    for key in ["match", "retry", "hedge", "timeout", "headers", "rewriteHost", "streaming"] {
      hints[key] = "it belongs into the routes that name the upstream"
    }
    hints["url"] = "give scheme, endpoints and basePath"
    hints["budget"] = "write retryBudget"
    return hints
  }()

  mutating func readUpstreams(_ reader: ConfigurationReader) {
    guard let list = reader.elements() else { return }
    if list.count > NamedUpstream.maximumCount {
      reader.report("holds \(list.count) upstreams; give at most \(NamedUpstream.maximumCount)")
    }
    for element in list {
      guard let (upstream, name) = upstream(element) else { continue }
      if let first = upstreams[upstream.name] {
        name.report("another upstream is named \(quoted(upstream.name)) (line \(first.name.node.position.line))")
      } else {
        upstreams[upstream.name] = ReadUpstream(value: upstream, name: name)
      }
    }
  }

  private mutating func upstream(_ reader: ConfigurationReader) -> (NamedUpstream, name: ConfigurationReader)? {
    reader.mapping { keys in
      keys.misplaced = Self.misplacedInUpstreams
      let nameReader = keys.take("name", required: "routes name the upstream by it, and it labels its metrics")
      let name = nameReader?.read(as: .string, unless: Self.problem(upstreamName:))
      let scheme =
        keys.take("scheme")?.word(among: ["http", "https"]).flatMap(Upstream.Scheme.init(rawValue:)) ?? .http
      let base = keys.take("basePath").flatMap(Self.basePath)
      let source = Self.source(&keys, at: reader)
      var upstream = NamedUpstream(
        Upstream(
          named: name ?? "", scheme: scheme, port: source.flatMap(Self.onePort), basePath: base ?? ""),
        source ?? .listed([]))
      upstream.host = keys.take("host").flatMap(Self.hostRewrite)
      let resolve = keys.take("resolve")
      if let settings = resolve?.resolveSettings() { upstream.resolve = settings }
      Self.readHealth(&keys, into: &upstream)
      Self.readConnections(&keys, into: &upstream)
      let check = keys.take("check")
      upstream.check = check?.endpointCheck()
      if upstream.connection.httpVersion == .http2PriorKnowledge, upstream.check?.path != nil {
        check?.report("requests of checks are HTTP/1.1, which 2-prior-knowledge rules out; leave path out")
      }
      if case .listed(let endpoints) = upstream.source, !endpoints.isEmpty {
        warn(of: upstream.check, at: check, resolve: resolve, for: endpoints)
      }
      upstream.tls = keys.take("tls").flatMap { $0.upstreamTLS(of: upstream.target) }
      if let budget = keys.take("retryBudget") { upstream.retryBudget = budget.retryBudget() }
      upstream.circuitBreaker = keys.take("circuitBreaker").flatMap { circuitBreaker($0) }
      if let overload = keys.take("overload") { upstream.overload = overload.overload() }
      if let reader = keys.take("destinationPolicy"), let policy = destinationPolicy(reader, nil) {
        upstream.destinationPolicy = policy
        judge(upstream, by: policy, at: reader)
      }
      if let name { writtenUpstreams.insert(name) }
      guard let nameReader, name != nil, source != nil else { return nil }
      return (upstream, nameReader)
    }
  }

  /// Warns of keys that do nothing for the endpoints that the file lists.
  private mutating func warn(
    of check: EndpointCheck?, at checkReader: ConfigurationReader?, resolve: ConfigurationReader?,
    for endpoints: [EndpointSpec]
  ) {
    if let resolve, endpoints.allSatisfy(\.isAddress) {
      warn(resolve, "does nothing: all endpoints are addresses, and none is looked up")
    }
    if let checkReader, check?.port != nil, endpoints.allSatisfy(\.isUnixSocket) {
      warn(checkReader, "port does nothing: all endpoints are Unix sockets")
    }
  }

  /// Compares the addresses that the file lists with the destination policy.
  private mutating func judge(
    _ upstream: NamedUpstream, by policy: DestinationPolicy, at reader: ConfigurationReader
  ) {
    guard case .listed(let endpoints) = upstream.source else { return }
    let refused = endpoints.filter { !$0.isUnixSocket && policy.refusal(ofHost: $0.host) != nil }
    guard let first = refused.first else { return }
    let others = refused.count > 1 ? " and \(refused.count - 1) more" : ""
    warn(reader, "refuses \(first.name)\(others)")
  }

  private static func problem(upstreamName name: String) -> String? {
    if let problem = problem(plainName: name) { return problem }
    if IPAddress(host: name) != nil { return "\(quoted(name)) reads as an address; give it letters" }
    if name != FieldSyntax.lowercased(name) { return "must be in lower case, as it stands for a host in labels" }
    return name.hasSuffix(".") ? "must not end with a dot" : nil
  }

  /// The problem of a name that labels metrics of what is configured once.
  static func problem(plainName name: String) -> String? {
    let isName = name.unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_.".unicodeScalars.contains($0))
    }
    return isName && (1...64).contains(name.utf8.count)
      ? nil : "must be 1 to 64 letters, digits, hyphens, underscores and dots"
  }

  private static func basePath(_ reader: ConfigurationReader) -> String? {
    guard let text = reader.read(as: .string) else { return nil }
    do {
      return try Upstream.basePath(text[...])
    } catch {
      reader.report(error.message.replacing("its path ", with: ""))
      return nil
    }
  }

  /// The one port of all endpoints that the file lists; nil if there are several or none.
  private static func onePort(of source: EndpointSource) -> Int? {
    guard case .listed(let endpoints) = source else { return nil }
    let ports = Set(endpoints.map(\.port))
    return ports.count == 1 ? ports.first.flatMap { $0 == 0 ? nil : $0 } : nil
  }

  // MARK: Endpoints

  private static func source(_ keys: inout ConfigurationKeys, at reader: ConfigurationReader) -> EndpointSource? {
    let listed = keys.take("endpoints"), services = keys.take("srv"), file = keys.take("file")
    let given = [listed, services, file].compactMap(\.self).sorted { $0.node.position < $1.node.position }
    if given.count > 1 { given[1].report("give only one of endpoints, srv and file") }
    if let listed { return endpoints(listed).map { .listed($0) } }
    if let services { return services.read(as: .string, unless: problem(serviceName:)).map { .services($0) } }
    if let file {
      return file.read(as: .string, unless: { $0.hasPrefix("/") ? nil : "give an absolute path" }).map { .file($0) }
    }
    reader.report("is missing; list them, or give srv or file in its place", key: "endpoints")
    return nil
  }

  private static func problem(serviceName name: String) -> String? {
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    let isService = labels.count > 2 && labels[0].hasPrefix("_") && labels[1].hasPrefix("_")
    guard isService, HostSyntax.isName(name.utf8) else {
      return "must be a service's name, such as _https._tcp.pay.internal"
    }
    return nil
  }

  private static func endpoints(_ reader: ConfigurationReader) -> [EndpointSpec]? {
    guard let list = reader.elements() else { return nil }
    if !(1...NamedUpstream.maximumEndpoints).contains(list.count) {
      reader.report("holds \(list.count) endpoints; give 1 to \(NamedUpstream.maximumEndpoints)")
    }
    var endpoints: [EndpointSpec] = []
    var lines: [String: Int] = [:]
    for element in list {
      guard let endpoint = endpoint(element) else { continue }
      if let line = lines[endpoint.name] {
        element.report("\(quoted(endpoint.name)) is already in this list (line \(line))")
      }
      lines[endpoint.name] = element.node.position.line
      endpoints.append(endpoint)
    }
    return endpoints
  }

  /// Reads `10.0.0.7:8443`, or a mapping of an address with its weight and priority.
  private static func endpoint(_ reader: ConfigurationReader) -> EndpointSpec? {
    guard case .mapping = reader.node.content else { return address(reader, weight: 1, priority: 0) }
    return reader.mapping { keys in
      let weight = keys.takeCount("weight", within: EndpointSpec.weights) ?? 1
      let priority = keys.takeCount("priority", within: EndpointSpec.priorities) ?? 0
      return keys.take("address", required: "such as 10.0.0.7:8443").flatMap {
        address($0, weight: weight, priority: priority)
      }
    }
  }

  private static func address(_ reader: ConfigurationReader, weight: Int, priority: Int) -> EndpointSpec? {
    guard let text = reader.read(as: .string) else { return nil }
    do {
      return try EndpointSpec(parsing: text, weight: weight, priority: priority)
    } catch {
      reader.report(error.description)
      return nil
    }
  }

  // MARK: Balance, health and connections

  private static func readHealth(_ keys: inout ConfigurationKeys, into upstream: inout NamedUpstream) {
    if let (balance, key) = keys.take("balance")?.balance() {
      upstream.endpoints.balance = balance
      upstream.balanceKey = key
    }
    if let outlier = keys.take("outlier") { upstream.endpoints.outlier = outlier.outlierSettings() }
    if let seconds = keys.takeSecondsOrOff("slowStart", within: EndpointSettings.slowStarts) {
      upstream.endpoints.slowStart = seconds
    }
    if let share = keys.take("panicThreshold", within: EndpointSettings.shares) {
      upstream.endpoints.panicThreshold = share
    }
    if let count = keys.takeCount("connectRetries", within: EndpointSettings.connectRetriesRange) {
      upstream.endpoints.connectRetries = count
    }
  }

  private static let lifetimes = 1.0...3600
  private static let ages = 1.0...86_400

  private static func readConnections(_ keys: inout ConfigurationKeys, into upstream: inout NamedUpstream) {
    var settings = ConnectionSettings()
    if let seconds = keys.takeSeconds("connectTimeout", within: 0.05...60) { settings.connectTimeout = seconds }
    if let seconds = keys.takeSeconds("idleTimeout", within: lifetimes) { settings.idleTimeout = seconds }
    if let seconds = keys.takeSecondsOrOff("maximumAge", within: ages) { settings.maximumAge = seconds }
    settings.silenceTimeout = keys.takeSilenceTimeout()
    if let count = keys.takeCount("connections", within: EndpointSettings.connectionsRange) {
      settings.perEndpoint = count
      upstream.endpoints.connections = count
    }
    settings.uploads = keys.takeCount("uploads", within: EndpointSettings.connectionsRange)
    settings.parked = keys.takeCount("parked", within: EndpointSettings.connectionsRange)
    let version = keys.take("httpVersion", as: .httpVersion) {
      let isReliable = $0 == .http1_1 || CurlLibrary.hasReliableHTTP2
      return isReliable ? nil : "HTTP/2 needs libcurl 8.1 or later; this is \(CurlLibrary.version)"
    }
    if let version { settings.httpVersion = version }
    upstream.connection = settings
  }

  // MARK: The whole

  /// Warns of upstreams that no route names, and refuses names that are also hosts of other routes.
  mutating func compareUpstreams(_ routes: [Route]) {
    let used = Set(routes.flatMap(\.upstreams))
    let named = Set(used.filter(\.isNamed).map(\.host))
    let hosts = Set(used.filter { !$0.isNamed }.map(\.destination.host))
    for upstream in upstreams.values.sorted(by: { $0.name.node.position < $1.name.node.position }) {
      let name = upstream.value.name
      if hosts.contains(name) {
        upstream.name.report("a route has a URL with the host \(quoted(name)); their metrics would be one")
      } else if !named.contains(name) {
        warn(upstream.name, "no route sends anything to this upstream")
      }
    }
  }
}

/// An entry of `upstreams` as it was read.
struct ReadUpstream {
  let value: NamedUpstream
  let name: ConfigurationReader
}

extension ConfigurationKind<HTTPVersionChoice> {
  fileprivate static var httpVersion: Self {
    Self(name: "1.1, 2 or 2-prior-knowledge") { scalar in
      switch scalar {
      case .string("1.1"), .float(1.1): .http1_1
      case .string("2"), .integer(2): .http2
      case .string("2-prior-knowledge"): .http2PriorKnowledge
      default: nil
      }
    }
  }
}
