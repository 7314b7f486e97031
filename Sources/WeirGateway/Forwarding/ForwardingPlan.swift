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
  let doors: [RouteDoor?]

  /// The outcomes that follow from limits and access rules, by route; those of listeners' rules without a route's name.
  let refusals: [String: [GatewayOutcome]]

  /// The log of requests; nil without one.
  let access: AccessLogPlan?

  /// What requests are marked with; nil for nothing.
  let marks: MarkSettings?

  /// All upstreams, each with the gauges of all limits that any route sets there.
  let upstreams: [Destination: ControlGauges]

  /// - Parameters:
  ///   - pseudonym: The name of this gateway in Via.
  ///   - gates: The gates of the process, which outlive a plan, as do those of tunnels.
  ///   - limits: What the process remembers for the limits of routes.
  ///   - coders: The process's limit on bodies that are coded.
  ///   - gatekeepers: Those of the process, which outlive a plan.
  ///   - named: The endpoints of the configuration's upstreams, by name.
  ///   - accessLog: Writes the log that the configuration asks for.
  init(
    _ configuration: Configuration, pseudonym: String, gates: UploadGates, tunnels: TunnelGates = TunnelGates(),
    limits: LimitRegistry = LimitRegistry(), coders: CoderLimit = CoderLimit(),
    gatekeepers: Gatekeepers = Gatekeepers(),
    named: [String: UpstreamEndpoints] = [:], accessLog writer: AccessLogWriter? = nil
  ) {
    let routes = configuration.routes
    table = RouteTable(routes)
    var maker = RoutePlan.Maker(
      configuration, pseudonym: pseudonym, gates: gates, tunnels: tunnels, coders: coders, named: named)
    work = routes.map { maker.work(of: $0) }
    limiters = limits.follow(routes)
    planCount = maker.count
    doors = RouteDoor.of(routes, gatekeepers)
    refusals = GatewayOutcome.refusals(of: configuration)
    upstreams = maker.upstreams
    marks = MarkSettings(configuration)
    access = configuration.accessLog.flatMap { settings in writer.map { AccessLogPlan(settings, $0) } }
  }

  /// What a configuration says of its access log.
  struct AccessLogPlan: Sendable {
    let settings: AccessLogSettings
    let writer: AccessLogWriter

    init(_ settings: AccessLogSettings, _ writer: AccessLogWriter) {
      (self.settings, self.writer) = (settings, writer)
    }
  }

  /// All plans of routes, those of fallbacks too.
  var forwarding: [RoutePlan] {
    work.flatMap { work -> [RoutePlan] in
      let plans: [RoutePlan] =
        switch work {
        case .forward(let plan): [plan]
        case .split(_, let plans): plans
        case .answer: []
        }
      if case .forward(let plan)? = plans.first?.fallback?.action { return plans + [plan] }
      return plans
    }
  }

  /// A name that no other gateway on the way has, so that a request that comes back is recognized.
  static func pseudonym(using random: inout some RandomNumberGenerator) -> String {
    let digits = String(UInt32.random(in: 0 ... .max, using: &random), radix: 16)
    return "weir-" + String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// A plan, and the state that one worker keeps while it follows the plan. Confined to the worker's loop.
final class ActivePlan {
  let plan: ForwardingPlan
  private let metrics: GatewayMetrics
  @exclusivity(unchecked) private var cache: SeriesCache
  /// The counters by route.
  private let retried: [Counter]
  private let abandoned: [Counter]
  private let repaired: [Counter]
  /// Nil for routes that code nothing.
  private let coded: [CodedBytes?]
  /// By route, and by the number of its limit.
  private let limited: [[Counter]]
  /// Compressors by their level.
  @exclusivity(unchecked) private var pools: [Int: DeflaterPool] = [:]
  let boundTransport: LoopBound<Transport>
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
  @exclusivity(unchecked) private var ids: TraceIDs
  @exclusivity(unchecked) private var random = PickRandom(seed: .random(in: .min ... .max))
  @exclusivity(unchecked) private var lastPeer: (address: SocketAddress, text: [UInt8]) = (.unnamed, [])

  init(
    _ plan: ForwardingPlan, _ metrics: GatewayMetrics, transport: LoopBound<Transport>,
    observer: (any SharedTransportObserver)?, log: RequestLog, slowClients: SlowClients, ids: TraceIDs = TraceIDs()
  ) {
    self.plan = plan
    self.ids = ids
    self.metrics = metrics
    boundTransport = transport
    self.observer = observer
    self.log = log
    self.slowClients = slowClients
    accessNames = plan.access.map { _ in AccessNames(plan) }
    log.access.follow(plan.access?.settings, plan.access?.writer)
    let names = plan.table.routes.map(\.name)
    states = Array(repeating: nil, count: plan.planCount)
    choices = Array(repeating: nil, count: plan.planCount)
    cache = SeriesCache(metrics, routes: names)
    retried = names.map { metrics.retried.with($0) }
    abandoned = names.map { metrics.abandoned.with($0) }
    repaired = names.map { metrics.repaired.with($0) }
    limited = plan.table.routes.map { metrics.limits.series(of: $0.limits, route: $0.name) }
    coded = plan.table.routes.map { route in
      CodedDirections(route.compression).map { CodedBytes(metrics.coded, route: route.name, $0) }
    }
  }

  /// Counts a request that its sender says it retries.
  ///
  /// - Parameter route: an index into the plan's routes.
  func countRetried(_ route: Int) {
    retried[route].increment()
  }

  /// Counts a request whose client left before its end.
  func countAbandoned(_ route: Int) {
    abandoned[route].increment()
  }

  /// Counts a response in whose fields blanks took the place of control characters.
  func countRepaired(_ route: Int) {
    repaired[route].increment()
  }

  /// Counts a request that exceeded a limit of its route.
  ///
  /// - Parameter limit: The limit's number.
  func countLimited(_ route: Int, _ limit: Int) {
    limited[route][limit].increment()
  }

  /// Counts the bytes of a body that was coded or decoded.
  func countCoded(_ route: Int, _ direction: CodedBytes.Direction, _ coder: BodyCoder) {
    coded[route]?.count(direction, before: coder.before, after: coder.after, isCoded: !coder.isPassing)
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

  /// Makes the closure that logs the end of a route's tunnel.
  func tunnelLog(of route: Int) -> (TunnelOutcome, Double) -> Void {
    let name = plan.table.routes[route].name
    return { [log = log.log] outcome, seconds in
      guard log.level <= .debug else { return }
      log.debug(
        "tunnel", ["route": .string(name), "outcome": .string(outcome.rawValue), "seconds": .seconds(seconds)])
    }
  }

  /// The state of the upstream of a route's plan.
  func state(of route: RoutePlan) -> DestinationState {
    if let known = states[route.number] { return known }
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

  /// The choice among the endpoints of a route's upstream; nil if that is a URL.
  func choice(for route: RoutePlan) -> EndpointChoice? { choices[route.number] }

  /// The marks of a request; nil if it has none.
  func marks(of fields: HeaderFields) -> RequestMarks? {
    plan.marks.map { RequestMarks(fields, $0, &ids) }
  }

  /// The identifier of an attempt in its trace.
  func drawParent() -> UInt64 { ids.parent() }

  /// A number for a choice among upstreams.
  func draw() -> UInt64 { random.next() }

  func began(_ method: KnownMethod, isSecure: Bool) {
    cache.active(method, isSecure: isSecure).increment()
  }

  /// - Parameter traceID: The trace of the request, if it is sampled.
  func ended(_ key: SeriesCache.Key, seconds: Double, traceID: String? = nil) {
    cache.active(key.method, isSecure: key.isSecure).decrement()
    let series = cache.series(key)
    if let traceID { series.duration.observe(seconds, traceID: traceID) } else { series.duration.observe(seconds) }
    series.count.increment()
    series.failed?.increment()
  }

  /// A peer's IP address as text, without port and zone; empty for a Unix socket.
  ///
  /// Requests tend to come from few addresses, often from one, and writing an address costs more than comparing it.
  func text(of peer: SocketAddress) -> [UInt8] {
    let address = peer.withoutPort
    if address == lastPeer.address { return lastPeer.text }
    let text = Array(address.ipText.utf8)
    lastPeer = (address, text)
    return text
  }

  func countRefused() {
    metrics.requests.with("", GatewayOutcome.refused.label).increment()
  }
}

extension SocketAddress {
  fileprivate var withoutPort: SocketAddress {
    switch self {
    case .v4(let address, _): .v4(address, port: 0)
    case .v6(let high, let low, _, _): .v6(high: high, low: low, port: 0)
    case .unix, .unnamed: .unnamed
    }
  }

  fileprivate var ipText: String {
    switch self {
    case .v4, .v6: host
    case .unix, .unnamed: ""
    }
  }
}
