import WeirCurl
import WeirExporter
import WeirIO
import WeirMetrics
import WeirTransport

/// A configuration's routes, prepared for forwarding. Immutable and shared by all workers. A reload makes a new plan;
/// requests under way keep the one with which they began.
final class ForwardingPlan: Sendable {
  /// The way in which a route's requests are answered, prepared.
  enum Work {
    case forward(RoutePlan)
    case answer(RouteAnswer)
  }

  /// A route that forwards. A class, so that a request keeps the whole plan of its route alive by one reference.
  final class RoutePlan: Sendable {
    let route: Route
    let upstream: Upstream
    /// The parts that all transfers to the upstream have in common.
    let spec: TransferSpec
    let headers: HeaderPolicy
    /// The route's rules about retries; nil if it allows none.
    let rules: RetryRules?
    /// The limits on the attempts at the upstream.
    let controls: DestinationControls
    /// Whether requests that their sender retries are not retried here.
    let leavesRetriesAlone: Bool
    /// The route's timeout in seconds.
    let timeout: Double
    /// Limits the requests that stream a body to the upstream.
    let uploads: UploadGate

    init(_ route: Route, to upstream: Upstream, pseudonym: String, uploads: UploadGate) {
      self.route = route
      self.upstream = upstream
      var spec = TransferSpec(url: upstream.origin)
      spec.isForOneOfMany = true
      spec.addressPolicy = route.destinationPolicy.rules
      spec.trust = route.tls?.trust
      self.spec = spec
      headers = HeaderPolicy(route: route, upstream: upstream, pseudonym: pseudonym)
      rules = RetryRules(route.retry)
      controls = DestinationControls(
        retryBudget: route.retry.budget, circuitBreaker: route.circuitBreaker,
        overload: route.overload)
      leavesRetriesAlone = route.retry.unlessRetried
      timeout = route.timeout / .seconds(1)
      self.uploads = uploads
    }
  }

  let table: RouteTable
  /// The work of each of the table's routes.
  let work: [Work]

  /// The upstreams of all routes, each with the gauges of all limits that any route sets there.
  let upstreams: [Destination: ControlGauges]

  /// - Parameters:
  ///   - pseudonym: the name of this gateway in Via.
  ///   - gates: the gates of the process, which outlive a plan.
  init(_ routes: [Route], pseudonym: String, gates: UploadGates) {
    table = RouteTable(routes)
    upstreams = Dictionary(
      routes.compactMap { route in route.upstream.map { ($0.destination, ControlGauges(of: route)) } },
      uniquingKeysWith: { $0.union($1) })
    let uploads = gates.follow(Set(upstreams.keys))
    work = routes.map { route in
      switch route.action {
      case .upstream(let upstream):
        let gate = uploads[upstream.destination] ?? UploadGate(limit: 1)
        return .forward(RoutePlan(route, to: upstream, pseudonym: pseudonym, uploads: gate))
      case .redirect(let redirect): return .answer(RouteAnswer(redirect, of: route))
      case .respond(let response): return .answer(RouteAnswer(response, of: route))
      }
    }
  }

  /// A name that no other gateway on the way has, so that a request that comes back is recognized.
  static func pseudonym(using random: inout some RandomNumberGenerator) -> String {
    let digits = String(UInt32.random(in: 0 ... .max, using: &random), radix: 16)
    return "weir-" + String(repeating: "0", count: 8 - digits.count) + digits
  }
}

extension ControlGauges {
  fileprivate init(of route: Route) {
    self = []
    if route.retry.budget != nil { insert(.budget) }
    if route.circuitBreaker != nil { insert(.circuit) }
    if route.overload != nil { insert(.overload) }
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
  let boundTransport: LoopBound<Transport>
  /// Taken on the loop, when the plan is first used there.
  private(set) lazy var transport = boundTransport.value
  /// Observes the requests to upstreams.
  let observer: (any SharedTransportObserver)?
  let log: RequestLog
  /// The states by route, each from the route's first request on.
  @exclusivity(unchecked) private var states: [DestinationState?]
  /// The terms of a request that is not forwarded.
  let noTerms = DestinationTerms(DestinationControls(retryBudget: nil))
  @exclusivity(unchecked) private var lastPeer: (address: SocketAddress, text: [UInt8]) = (.unnamed, [])

  init(
    _ plan: ForwardingPlan, _ metrics: GatewayMetrics, transport: LoopBound<Transport>,
    observer: (any SharedTransportObserver)?, log: RequestLog
  ) {
    self.plan = plan
    self.metrics = metrics
    boundTransport = transport
    self.observer = observer
    self.log = log
    let names = plan.table.routes.map(\.name)
    states = names.map { _ in nil }
    cache = SeriesCache(metrics, routes: names)
    retried = names.map { metrics.retried.with($0) }
    abandoned = names.map { metrics.abandoned.with($0) }
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

  /// The state of a route's upstream.
  func state(of upstream: Upstream, ofRoute route: Int) -> DestinationState {
    if let known = states[route] { return known }
    let state = transport.state(of: upstream.destination)
    states[route] = state
    return state
  }

  func began(_ method: KnownMethod) {
    cache.active(method).increment()
  }

  func ended(_ key: SeriesCache.Key, seconds: Double) {
    cache.active(key.method).decrement()
    let series = cache.series(key)
    series.duration.observe(seconds)
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

extension RetryRules {
  /// The rules of a route; nil if they allow no retry. The first retry comes within 100 ms, and each later one within
  /// twice the time of the one before, at random, so that the clients of a failing upstream don't come back all at
  /// once.
  fileprivate init?(_ rules: RouteRetryRules) {
    guard rules.limit > 0 else { return nil }
    self.init(
      limit: UInt(clamping: rules.limit), methods: rules.methods, statusCodes: rules.statusCodes,
      codes: Self.transientCodes, backoff: RetryBackoff(base: 2, scale: 0.1, jitter: .full, maximumDelay: 10),
      finalResponseFields: rules.finalResponseFields)
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
