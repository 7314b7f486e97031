import WeirCurl
import WeirExporter
import WeirIO
import WeirMetrics
import WeirServer
import WeirTransport

/// A configuration's routes, prepared for forwarding. Immutable and shared by all workers. A reload makes a new plan;
/// requests under way keep the one with which they began.
final class ForwardingPlan: Sendable {
  /// The way in which a route's requests are answered, prepared.
  enum Work {
    case forward(RoutePlan)
    /// Each request goes by one of the plans.
    case split(UpstreamSplit, [RoutePlan])
    case answer(RouteAnswer)
    /// The requests say themselves where they go.
    case requested(RequestedRoute)
  }

  /// The answer in place of one of the gateway's own.
  struct Fallback: Sendable {
    enum Action: Sendable {
      case forward(RoutePlan)
      case answer(RouteAnswer)
    }

    let statusCodes: Set<Int>
    let action: Action
  }

  let table: RouteTable
  /// The work of each of the table's routes.
  let work: [Work]
  /// The limits of each of them; nil for none.
  let limiters: [RouteLimiter?]
  /// The number of plans of routes.
  let planCount: Int

  /// The access rules of each of them; nil for none.
  let routeAccess: [RouteAccess?]

  /// The outcomes that follow from limits and access rules, by route; those of listeners' rules without a route's name.
  let refusals: [String: [GatewayOutcome]]

  /// The log of requests; nil without one.
  let access: (settings: AccessLogSettings, writer: AccessLogWriter)?

  /// Which identifiers requests get; nil for none.
  let idSettings: CorrelationSettings?

  /// All upstreams, each with the gauges of all limits that any route sets there.
  let upstreams: [Destination: ControlGauges]

  /// - Parameters:
  ///   - named: The endpoints of the configuration's upstreams, by name.
  ///   - accessLog: Writes the log that the configuration asks for.
  ///   - spans: Takes the spans of requests; nil if none are recorded.
  init(
    _ configuration: Configuration, _ context: PlanContext, named: [String: UpstreamEndpoints] = [:],
    accessLog writer: AccessLogWriter? = nil, spans: (any SpanSink)? = nil
  ) {
    let routes = configuration.routes
    table = RouteTable(routes)
    var maker = RoutePlan.Maker(configuration, context, named: named)
    work = routes.map { maker.work(of: $0) }
    limiters = context.limits.follow(routes)
    planCount = maker.count
    let gatekeepers = context.gatekeepers.follow(routes.compactMap(\.auth?.rules))
    routeAccess = routes.map { RouteAccess($0, gatekeepers) }
    refusals = GatewayOutcome.refusals(of: configuration)
    upstreams = maker.upstreams
    idSettings = CorrelationSettings(configuration, spans: spans)
    access = configuration.accessLog.flatMap { settings in writer.map { (settings, $0) } }
  }

  /// All plans of routes to upstreams of the configuration, those of fallbacks too.
  var forwarding: [RoutePlan] {
    work.flatMap { work -> [RoutePlan] in
      let (plans, fallback): ([RoutePlan], Fallback?) =
        switch work {
        case .forward(let plan): ([plan], plan.fallback)
        case .split(_, let plans): (plans, plans.first?.fallback)
        case .requested(let route): ([], route.fallback)
        case .answer: ([], nil)
        }
      if case .forward(let plan)? = fallback?.action { return plans + [plan] }
      return plans
    }
  }

  /// The routes whose requests say where they go.
  var requested: [RequestedRoute] { work.compactMap { if case .requested(let route) = $0 { route } else { nil } } }

  /// The gauges of all limits that these routes set.
  var requestedGauges: ControlGauges {
    requested.reduce(into: []) { $0.formUnion(ControlGauges(of: $1.controls)) }
  }

  /// The names of the credentials that requests to upstreams, and proxies on their way, get.
  var credentials: [Destination: Set<String>] {
    forwarding.reduce(into: [:]) { names, plan in
      for case let credential? in [plan.credential, plan.proxyCredential] {
        names[plan.upstream.destination, default: []].insert(credential.name)
      }
    }
  }

  /// A name that no other gateway on the way has, so that a request that comes back is recognized.
  static func pseudonym(using random: inout some RandomNumberGenerator) -> String {
    let digits = String(UInt32.random(in: 0 ... .max, using: &random), radix: 16)
    return "weir-" + String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// What outlives a plan, as the process keeps it through reloads.
struct PlanContext: Sendable {
  /// The name of this gateway in Via.
  let pseudonym: String
  /// The process's limit on bodies that are coded.
  let coders: Gate
  /// Limit the requests whose bodies are still coming to upstreams that are URLs.
  let uploads = Gates<Destination>()
  let tunnels = Gates<String>()
  let limits = LimitRegistry()
  let gatekeepers = Gatekeepers()
  let credentials: CredentialRegistry
  /// The authorities to which requests have asked to go.
  let authorities = RequestedAuthorities()
  /// The addresses to which they may not ask to go.
  let listening = ListeningAddresses()
  /// The process's limit on what bodies keep so that they can be sent again.
  var replay = ReplayAccount()
}

/// A plan, and the state that one worker keeps while it follows the plan. Confined to the worker's loop.
final class ActivePlan {
  let plan: ForwardingPlan
  private let metrics: GatewayMetrics
  @exclusivity(unchecked) private var cache: SeriesCache
  /// The counters by route.
  let series: [RouteSeries]
  /// Compressors by their level.
  @exclusivity(unchecked) private var pools: [Int: DeflaterPool] = [:]
  private let boundTransport: LoopBound<Transport>
  /// Taken on the loop, when the plan is first used there.
  private(set) lazy var transport = boundTransport.value
  /// Observes the requests to upstreams.
  let observer: (any SharedTransportObserver)?
  let log: RequestLog
  let slowClients: SlowClients
  /// The fixed parts of access lines; nil without a log.
  let accessNames: AccessNames?
  /// The states by the numbers of routes' plans, each from the first request on.
  @exclusivity(unchecked) private var states: [DestinationState?]
  /// The admission of a request that is not forwarded.
  let noAdmission = ExchangeAdmission(DestinationControls(retryBudget: nil))
  /// By the numbers of routes' plans. They live as long as requests of this plan do.
  @exclusivity(unchecked) private var choices: [EndpointChoice?]
  /// By the numbers of routes' plans, each from the first request on that needs them.
  @exclusivity(unchecked) private var secretFields: [SecretFields?]
  @exclusivity(unchecked) var traceIDs = TraceIDs()
  /// For choices among upstreams.
  @exclusivity(unchecked) var random = PickRandom(seed: .random(in: .min ... .max))
  @exclusivity(unchecked) private var lastPeer: (address: IPAddress?, text: [UInt8]) = (nil, [])

  init(
    _ plan: ForwardingPlan, _ metrics: GatewayMetrics, transport: LoopBound<Transport>,
    observer: (any SharedTransportObserver)?, log: RequestLog, slowClients: SlowClients
  ) {
    self.plan = plan
    self.metrics = metrics
    boundTransport = transport
    self.observer = observer
    self.log = log
    self.slowClients = slowClients
    accessNames = plan.access.map { _ in AccessNames(plan) }
    log.access.follow(plan.access?.settings, plan.access?.writer)
    secretFields = Array(repeating: nil, count: plan.planCount)
    states = Array(repeating: nil, count: plan.planCount)
    choices = Array(repeating: nil, count: plan.planCount)
    cache = SeriesCache(metrics, routes: plan.table.routes.map(\.name))
    series = plan.table.routes.map { metrics.series(of: $0) }
  }

  /// The same worker's state for the plan that follows.
  convenience init(_ plan: ForwardingPlan, after before: ActivePlan) {
    self.init(
      plan, before.metrics, transport: before.boundTransport, observer: before.observer, log: before.log,
      slowClients: before.slowClients)
  }

  /// Counts the bytes of a body that was coded or decoded.
  func countCoded(_ route: Int, _ direction: CodedBytes.Direction, _ coder: BodyCoder) {
    series[route].coded?.count(direction, before: coder.before, after: coder.after, isCoded: !coder.isPassing)
  }

  /// The compressors of a level.
  func deflaters(level: Int) -> DeflaterPool {
    if let pool = pools[level] { return pool }
    let pool = DeflaterPool(level: level)
    pools[level] = pool
    return pool
  }

  /// The series of a route's tunnels.
  func tunnels(of route: Int) -> TunnelSeries { metrics.tunnels.series(of: plan.table.routes[route].name) }

  /// Where requests are noted for the status page.
  var recent: RecentRequests { metrics.recent }

  /// The state of the upstream of a route's plan.
  func state(of route: RoutePlan) -> DestinationState {
    if let known = states[route.number] { return known }
    // The plans for authorities of one route have one number.
    if let authority = route.authority { return authority.state }
    let state = transport.state(of: route.upstream.destination)
    states[route.number] = state
    return state
  }

  /// Makes the choices among endpoints, which hear of endpoints that go. On the loop, before the first request.
  func begin() {
    var made: [ObjectIdentifier: EndpointChoice] = [:]
    for route in plan.forwarding {
      guard let set = route.endpoints else { continue }
      let choice = made[ObjectIdentifier(set)] ?? transport.choice(among: set)
      made[ObjectIdentifier(set)] = choice
      choices[route.number] = choice
    }
  }

  /// The fields with secrets that a route's attempts get; nil without any.
  func secretFields(of route: RoutePlan) -> SecretFields? {
    if let known = secretFields[route.number] { return known }
    guard route.hasSecrets else { return nil }
    let fields = SecretFields(route)
    secretFields[route.number] = fields
    return fields
  }

  /// The choice among the endpoints of a route's upstream; nil if that is a URL.
  func choice(for route: RoutePlan) -> EndpointChoice? { choices[route.number] }

  /// The identifiers of a request; nil if it has none.
  func ids(of fields: HeaderFields) -> CorrelationIDs? {
    plan.idSettings.map { CorrelationIDs(fields, $0, &traceIDs) }
  }

  func began(_ method: KnownMethod, isSecure: Bool) {
    cache.active(method, isSecure: isSecure).increment()
  }

  /// - Parameters:
  ///   - trace: The trace of the request, if it is sampled.
  ///   - span: The span of the request, if it is recorded.
  func ended(_ key: SeriesCache.Key, seconds: Double, trace: TraceContext? = nil, span: UInt64? = nil) {
    cache.active(key.method, isSecure: key.isSecure).decrement()
    let series = cache.series(key)
    if let trace {
      series.duration.observe(seconds, trace: (trace.high, trace.low), span: span)
    } else {
      series.duration.observe(seconds)
    }
    series.count.increment()
    series.failed?.increment()
  }

  /// A peer's IP address as text, without port and zone; empty for a Unix socket.
  ///
  /// Requests tend to come from few addresses, often from one, and writing an address costs more than comparing it.
  func text(of peer: SocketAddress) -> [UInt8] {
    guard let address = IPAddress(peer) else { return [] }
    if address == lastPeer.address { return lastPeer.text }
    let text = Array("\(address)".utf8)
    lastPeer = (address, text)
    return text
  }

  func countRefused() {
    metrics.requests.with("", GatewayOutcome.refused.label).increment()
  }
}
