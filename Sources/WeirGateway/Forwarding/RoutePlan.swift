import WeirCurl
import WeirExporter
import WeirIO
import WeirTransport

/// A route with one of its upstreams, prepared for forwarding. A class, so that a request keeps the whole plan alive by
/// one reference.
final class RoutePlan: Sendable {
  /// Its number among all plans of a configuration.
  let number: Int
  let route: Route
  let upstream: Upstream
  /// The parts that all transfers to the upstream have in common.
  let spec: TransferSpec
  let headers: HeaderPolicy
  /// The route's rules about retries; nil if it allows none.
  let rules: RetryRules?
  let hasRules: Bool
  /// The limits on the attempts at the upstream.
  let controls: DestinationControls
  /// The route's timeout in seconds.
  let timeout: Double
  /// Seconds of an attempt up to its final head; nil without a limit.
  let attemptTimeout: Double?
  /// Seconds without a byte of a response that streams; 0 without a limit.
  let streamSilence: Double
  /// Limits the requests that stream a body to the upstream.
  let uploads: Gate
  /// Limits what bodies keep so that they can be sent again.
  let replay: ReplayAccount
  /// Whether the base path of the upstream is not in the targets that the route table makes.
  private let joinsBaseLate: Bool
  /// The upstream's endpoints; nil if it is a URL.
  let endpoints: EndpointSet?
  /// The part of requests by which an endpoint is chosen; nil if it is not.
  let balanceKey: RequestKey?
  /// Seconds for which a request may wait for an upstream without any endpoint.
  let patience: Double
  /// Whether requests whose connection could not be opened may go to another endpoint.
  let mayConnectElsewhere: Bool
  /// The answer in place of the gateway's own failures; nil without one.
  let fallback: ForwardingPlan.Fallback?
  /// The credential of requests; nil without one.
  let credential: OutboundCredential?
  /// The credential of the proxy on the way; nil without one.
  let proxyCredential: OutboundCredential?
  /// Whether attempts get fields with secrets, or the proxy does (``SecretFields``).
  let hasSecrets: Bool
  /// What is done about content codings; nil for nothing.
  let coding: CodingPlan?
  /// What holds of requests that ask for another protocol, or for a tunnel; nil if they are like others.
  let tunnels: TunnelTerms?
  /// The state of an upstream that requests name themselves; nil for one of the configuration.
  let authority: RequestedAuthority?

  /// - Parameter requested: The route and the authority of requests that name the upstream themselves.
  private init(
    _ number: Int, _ route: Route, to upstream: Upstream, _ named: NamedUpstream?, _ maker: Maker,
    _ fallback: ForwardingPlan.Fallback?, isFallback: Bool,
    requested: (route: RequestedRoute, authority: RequestedAuthority)? = nil
  ) {
    self.number = number
    joinsBaseLate = route.joinsBaseLate
    self.route = route
    self.upstream = upstream
    var spec = TransferSpec(url: upstream.origin)
    spec.isForOneOfMany = true
    spec.addressPolicy = requested?.route.addresses ?? (named?.destinationPolicy ?? route.destinationPolicy).rules
    spec.trust = (named?.tls ?? route.tls)?.trust
    let silence = route.silenceTimeout ?? named?.connection.silenceTimeout
    spec.silenceTimeout = silence ?? 0
    streamSilence = silence ?? Route.defaultStreamSilence
    let proxy = named?.proxy ?? route.proxy
    let options = proxy.options { maker.context.credentials[$0] }
    if case .connect = route.action { spec.opensTunnel = true }
    // Programs choose the environment's proxy for a tunnel as for https.
    let isSecure = spec.opensTunnel || upstream.scheme == .https
    let way = options.proxy(to: upstream.host[...], port: upstream.port, isSecure: isSecure)
    let through = way.map(ProxyOptions.proxy) ?? .none
    if case .connect(let rule) = route.action {
      spec.rules = TransferRules(connectTimeout: rule.connectTimeout, proxy: through)
    } else {
      spec.rules = TransferRules(named?.connection, through: through)
    }
    self.spec = spec
    proxyCredential = maker.context.credentials[proxy.credential]
    let credential =
      requested.map(\.route.credential)
      ?? maker.context.credentials[isFallback ? named?.credential : route.credential ?? named?.credential]
    self.credential = credential
    hasSecrets =
      credential != nil || proxyCredential != nil
      || (route.headers.set + route.headers.add).contains { $0.secret != nil }
    headers = HeaderPolicy(
      route: route, upstream: upstream, host: named?.host, pseudonym: maker.context.pseudonym,
      ids: maker.idSettings, believed: maker.believed, credential: credential?.field)
    // A tunnel that could not be opened has done nothing.
    rules = RetryRules(route.retry, methods: spec.opensTunnel ? ["CONNECT"] : nil)
    hasRules = rules != nil
    controls =
      if let named {
        DestinationControls(
          retryBudget: named.retryBudget, circuitBreaker: named.circuitBreaker, overload: named.overload,
          pace: named.pace)
      } else {
        requested?.route.controls ?? DestinationControls(of: route)
      }
    timeout = route.timeout / .seconds(1)
    attemptTimeout = route.attemptTimeout
    uploads = requested?.authority.uploads ?? maker.uploads(of: upstream)
    replay = maker.context.replay
    endpoints = maker.endpoints(of: upstream)
    balanceKey = named?.balanceKey
    patience = named?.connection.connectTimeout ?? 0
    mayConnectElsewhere = (named?.endpoints.boundedConnectRetries ?? 0) > 0
    self.fallback = fallback
    coding = CodingPlan(route.compression, limit: maker.context.coders)
    tunnels = maker.tunnels(of: route)
    authority = requested?.authority
  }

  /// Whether an attempt could begin with the credentials that there are.
  func hasGoodCredentials(at now: MonotonicTime) -> Bool {
    credential?.isGood(at: now) != false && proxyCredential?.isGood(at: now) != false
  }

  /// The target of a request, as the route's decision has it.
  func target(_ decided: String) -> String { joinsBaseLate ? upstream.target(of: decided) : decided }

  /// Makes the plans of a configuration.
  struct Maker {
    let context: PlanContext
    let idSettings: CorrelationSettings?
    let believed: [[UInt8]]
    private let uploads: [Destination: Gate]
    private let tunnels: [String: Gate]
    private let named: [String: UpstreamEndpoints]
    private let entries: [String: NamedUpstream]
    /// The number of plans so far.
    private(set) var count = 0
    /// The upstreams so far, each with the gauges of all limits that any route sets there.
    private(set) var upstreams: [Destination: ControlGauges] = [:]

    init(_ configuration: Configuration, _ context: PlanContext, named: [String: UpstreamEndpoints]) {
      self.context = context
      idSettings = CorrelationSettings(configuration)
      believed = configuration.believedFields
      self.named = named
      entries = Dictionary(configuration.upstreams.map { ($0.name, $0) }) { first, _ in first }
      let urls = configuration.routes.flatMap(\.upstreams).filter { !$0.isNamed }
      uploads = context.uploads.follow(
        Dictionary(urls.map { ($0.destination, TransportLimits.gatewayUploads) }) { first, _ in first })
      tunnels = context.tunnels.follow(
        Dictionary(configuration.routes.compactMap { route in route.tunnels.map { (route.name, $0.limit) } }) { $1 })
    }

    mutating func work(of route: Route) -> ForwardingPlan.Work {
      switch route.action {
      case .upstream(let upstream): return .forward(plan(route, to: upstream, fallback(of: route)))
      case .split(let split):
        let fallback = fallback(of: route)
        return .split(split, split.parts.map { plan(route, to: $0.upstream, fallback) })
      case .requested, .connect:
        count += 1
        return .requested(RequestedRoute(count - 1, route, self, fallback(of: route)))
      case .redirect(let redirect): return .answer(RouteAnswer(redirect, of: route))
      case .respond(let response): return .answer(RouteAnswer(response, of: route))
      }
    }

    private mutating func fallback(of route: Route) -> ForwardingPlan.Fallback? {
      guard let fallback = route.fallback else { return nil }
      let action: ForwardingPlan.Fallback.Action =
        switch fallback.action {
        case .upstream(let upstream): .forward(plan(route, to: upstream, nil, isFallback: true))
        case .respond(let response): .answer(RouteAnswer(response, of: route))
        }
      return ForwardingPlan.Fallback(statusCodes: fallback.statusCodes, action: action)
    }

    private mutating func plan(
      _ route: Route, to upstream: Upstream, _ fallback: ForwardingPlan.Fallback?, isFallback: Bool = false
    ) -> RoutePlan {
      let named = upstream.isNamed ? entries[upstream.host] : nil
      let plan = RoutePlan(count, route, to: upstream, named, self, fallback, isFallback: isFallback)
      count += 1
      upstreams[upstream.destination, default: []].formUnion(ControlGauges(of: plan.controls))
      return plan
    }

    /// The plan for an authority that requests name.
    func plan(of requested: RequestedRoute, to upstream: Upstream, at authority: RequestedAuthority) -> RoutePlan {
      RoutePlan(
        requested.number, requested.route, to: upstream, nil, self, requested.fallback, isFallback: false,
        requested: (requested, authority))
    }

    func endpoints(of upstream: Upstream) -> EndpointSet? { upstream.isNamed ? named[upstream.host]?.set : nil }

    func tunnels(of route: Route) -> TunnelTerms? {
      guard let rule = route.tunnels, let gate = tunnels[route.name] else { return nil }
      return TunnelTerms(rule: rule, gate: gate)
    }

    func uploads(of upstream: Upstream) -> Gate {
      let gate = upstream.isNamed ? named[upstream.host]?.uploads : uploads[upstream.destination]
      return gate ?? Gate(limit: 1)
    }
  }
}

extension TransferRules {
  /// Nil if they would say nothing.
  fileprivate convenience init?(_ connection: ConnectionSettings?, through proxy: ProxyOptions) {
    if connection == nil, case .none = proxy { return nil }
    self.init(
      connectTimeout: connection?.connectTimeout, idleTimeout: connection?.idleTimeout,
      maximumAge: connection?.maximumAge, httpVersion: connection?.httpVersion, proxy: proxy)
  }
}

extension ControlGauges {
  init(of controls: DestinationControls) {
    self = []
    if controls.retryBudget != nil { insert(.budget) }
    if controls.circuitBreaker != nil { insert(.circuit) }
    if controls.overload != nil { insert(.overload) }
    if controls.pace != nil { insert(.pace) }
  }
}

extension DestinationControls {
  /// The limits that a route sets at a URL. What a tunnel carries is no load that could be controlled.
  convenience init(of route: Route) {
    let isTunnel = if case .connect = route.action { true } else { false }
    self.init(
      retryBudget: route.retry.budget, circuitBreaker: route.circuitBreaker,
      overload: isTunnel ? nil : route.overload, pace: isTunnel ? nil : route.pace)
  }
}

extension RetryRules {
  /// The rules of a route; nil if they allow no retry. Delays are drawn at random, so that the clients of a failing upstream
  /// don't come back all at once.
  ///
  /// - Parameter methods: In place of those of the rules.
  init?(_ rules: RouteRetryRules, methods: Set<String>? = nil) {
    guard rules.limit > 0 else { return nil }
    self.init(
      limit: UInt(clamping: rules.limit), methods: methods ?? rules.methods, statusCodes: rules.statusCodes,
      codes: Self.transientCodes,
      backoff: RetryBackoff(
        base: 2, scale: rules.backoff.base, jitter: .full, maximumDelay: rules.backoff.maximum),
      finalResponseFields: rules.finalResponseFields, causes: rules.causes)
  }
}
