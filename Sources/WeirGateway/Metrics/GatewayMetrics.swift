import Synchronization
package import WeirExporter
import WeirHTTP
import WeirIO
package import WeirMetrics
import WeirTransport

/// The metrics of the gateway's server side, registered once per registry. Names and labels are OpenTelemetry's if it
/// defines them (HTTP server metrics); a route's name is `http_route`.
package final class GatewayMetrics: Sendable {
  let registry: Registry
  let duration: HistogramFamily<(String, String, String, String, String, String)>
  let active: GaugeFamily<(String, String)>
  let requests: CounterFamily<(String, String)>
  let failed: CounterFamily<String>
  let retried: CounterFamily<String>
  let abandoned: CounterFamily<String>
  let repaired: CounterFamily<String>
  let coded: CodedBytes.Family
  private let accessLines: CounterFamily<String>
  private let routeInfo: GaugeFamily<(String, String, String)>
  let endpoints: EndpointMetrics
  let listeners = ListenerMetrics()
  let credentials = CredentialMetrics()
  let replay = ReplayMetrics()
  /// The destinations that requests have named, of which there is state.
  let authorities = MetricsSource<Destination>()
  let tls: TLSMetrics
  let tunnels: TunnelMetrics
  let limits: LimitMetrics
  /// Single requests, which the status page shows beside the metrics.
  let recent = RecentRequests()
  private let reloadSuccessful: Gauge
  private let reloadTime: Gauge
  let client: MetricsMonitor?
  private let departed = Mutex(Departed())

  /// The series of every outcome of the maximum number of routes, and of as many routes that a reload has removed. A
  /// request without a route may be forbidden by its listener.
  private static let maximumRequestSeries =
    2 * Configuration.maximumRoutes * (GatewayOutcome.ofRoutes.count + GatewayOutcome.ofRefusals.count)
    + GatewayOutcome.ofNoRoute.count + 1

  /// The number of label sets of durations that the routes share, and the most that one route has of them. The coarse label
  /// sets of each route come in addition.
  private static let ownDurations = 10_000
  private static let mostOwnDurations = 100
  private static let maximumDurationSeries =
    2 * (ownDurations + 2 * Configuration.maximumRoutes * CoarseLabel.statusCount * CoarseLabel.errorCount)

  /// The labels that a route's client and upstream can influence.
  private struct DurationLabels: Hashable {
    let method: String
    let status: String
    let errorType: String
    let version: String
    let scheme: String

    var coarse: Self {
      Self(
        method: KnownMethod.other.label, status: CoarseLabel.of(status), errorType: CoarseLabel.of(errorType),
        version: "_other", scheme: scheme)
    }
  }

  private struct Departed {
    var routes = Departures<String>()
    /// Where each of the present routes leads.
    var leads: [String: Destination?] = [:]
    var upstreams = Departures<Destination.Server>()
    /// The operations of all routes, by name.
    var operations = Departures<String>()
    /// The shares of the family of durations, by route.
    var shares: [String: SeriesShare<DurationLabels>] = [:]
    var ownDurations = GatewayMetrics.mostOwnDurations
    /// Each of the present upstreams, with the limits that don't apply to it. One that is reached by http and by https
    /// has one set of series.
    var unused: [Destination.Server: (upstream: Destination, gauges: ControlGauges)] = [:]
    /// The limits that apply to no authority of those that requests name.
    var unusedByRequests = ControlGauges.all
    /// Whether there was such an authority at the last page.
    var hasRequested = false
  }

  /// - Parameters:
  ///   - client: Measures the requests to upstreams. Its series, too, are made and removed with the configuration.
  ///   - endpointLimit: Endpoints with series of their own.
  package init(
    _ registry: Registry, client: MetricsMonitor? = nil, endpointLimit: Int = 500
  ) throws(RegistryError) {
    self.client = client
    self.registry = registry
    endpoints = EndpointMetrics(limit: endpointLimit)
    try registry.register(endpoints)
    try registry.register(listeners)
    try registry.register(credentials)
    try registry.register(replay)
    tls = try TLSMetrics(registry)
    tunnels = try TunnelMetrics(registry)
    limits = try LimitMetrics(registry)
    duration = try registry.histogram(
      "http_server_request_duration_seconds",
      help: "Duration of requests to the gateway, from their header to the end of the response.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60],
      seriesLimit: Self.maximumDurationSeries, labels: "http_request_method", "url_scheme", "http_route",
      "http_response_status_code", "error_type", "network_protocol_version")
    active = try registry.gauge(
      "http_server_active_requests", help: "Requests to the gateway under way.", labels: "http_request_method",
      "url_scheme")
    requests = try registry.counter(
      "weir_gateway_requests_total", help: "Requests to the gateway that ended, by route and outcome.",
      seriesLimit: Self.maximumRequestSeries, labels: "route", "outcome")
    failed = try registry.counter(
      "weir_gateway_requests_failed_total",
      help: "Requests to the gateway that were answered with 500 or more, or whose response broke off.", labels: "route"
    )
    retried = try registry.counter(
      "weir_retried_requests_received_total", help: "Requests to the gateway that say that their sender retries them.",
      labels: "route")
    abandoned = try registry.counter(
      "weir_gateway_requests_abandoned_total",
      help: "Requests to the gateway whose client left before the response had been sent.", labels: "route")
    repaired = try registry.counter(
      "weir_gateway_responses_repaired_total",
      help: "Responses of upstreams in whose fields control characters were replaced by blanks.", labels: "route")
    coded = try registry.counter(
      "weir_gateway_coded_bytes_total",
      help: "Bytes of bodies that the gateway coded or decoded, before and after that, or that it left uncoded.",
      seriesLimit: 2 * Configuration.maximumRoutes * 5, labels: "route", "direction", "stage")
    accessLines = try registry.counter(
      "weir_access_log_lines_total",
      help: "Lines of the access log that were written, left out by its sampling, or lost.", labels: "result")
    routeInfo = try registry.gauge(
      "weir_route_info",
      help: "The upstream of each route; without address and port if it has several, or answers itself.",
      seriesLimit: Configuration.maximumRoutes, labels: "route", "server_address", "server_port")
    reloadSuccessful = try registry.gauge(
      "weir_config_last_reload_successful", help: "Whether the last attempt to load the configuration succeeded.")
    reloadTime = try registry.gauge(
      "weir_config_last_reload_success_timestamp_seconds", help: "When the configuration was last loaded, Unix time.")
    registry.beforeEachPage { [weak self] in self?.dropWhatIsGone(at: .now) }
  }

  /// Makes the series at zero of a configuration's routes and upstreams, so that the first failure is an increase.
  ///
  /// - Parameters:
  ///   - refusals: The outcomes that follow from limits and access rules, by route.
  ///   - upstreams: Each with the gauges of all limits that any route sets there.
  ///   - requested: The gauges of all limits that routes set at authorities that requests name.
  ///   - credentials: The names of the credentials that requests to upstreams get.
  func prepare(
    _ routes: [Route], refusals: [String: [GatewayOutcome]] = [:], upstreams: [Destination: ControlGauges] = [:],
    requested: ControlGauges = [], credentials: [Destination: Set<String>] = [:], at now: MonotonicTime = .now
  ) {
    func begin(_ outcomes: [GatewayOutcome], of route: String) {
      for outcome in outcomes { _ = requests.with(route, outcome.label) }
    }
    // Under one lock: the series of a route that returns at this moment must not be removed after they were made.
    departed.withLock { departed in
      departed.routes.follow(Set(routes.map(\.name)), at: now)
      tell(of: routes, &departed.leads)
      departed.ownDurations = min(Self.mostOwnDurations, Self.ownDurations / max(1, routes.count))
      departed.unused = upstreams.reduce(into: [:]) { unused, upstream in
        unused[upstream.key.server, default: (upstream.key, .all)].gauges.subtract(upstream.value)
      }
      departed.unusedByRequests = ControlGauges.all.subtracting(requested)
      departed.upstreams.follow(Set(departed.unused.keys), at: now)
      departed.operations.follow(Set(routes.flatMap { $0.operations.map(\.name) }), at: now)
      drop(from: &departed, at: now)
      limits.follow(routes)
      begin(GatewayOutcome.ofNoRoute, of: "")
      for route in routes {
        begin(GatewayOutcome.ofRoutes, of: route.name)
        _ = failed.with(route.name)
        _ = series(of: route)
        if route.tunnels != nil { tunnels.prepare(route.name) }
      }
      for (route, outcomes) in refusals { begin(outcomes, of: route) }
      // In one order, so that beyond the limit of destinations all instances count the same ones together.
      let sorted = upstreams.keys.sorted { ($0.host, $0.port) < ($1.host, $1.port) }
      for upstream in sorted {
        client?.prepare(upstream)
        if upstreams[upstream]?.contains(.pace) ?? false { client?.preparePace(of: upstream) }
        for name in credentials[upstream] ?? [] { client?.prepare(credential: name, for: upstream) }
      }
    }
    for method in KnownMethod.allCases { _ = active.with(method.label, "http") }
  }

  /// Tells where routes lead. Unlike counters, what no longer holds goes at once.
  private func tell(of routes: [Route], _ told: inout [String: Destination?]) {
    var present: [String: Destination?] = [:]
    for route in routes { present[route.name] = .some(route.upstream?.destination) }
    let changed = told.filter { present[$0.key] != .some($0.value) }.map(\.key)
    routeInfo.removeAll(LabelChoice(["route"], changed.map { [$0] }))
    for (route, lead) in present {
      routeInfo.with(route, lead?.host ?? "", lead.map { String($0.port) } ?? "").set(1)
    }
    told = present
  }

  /// The counters of a route, which begin at zero.
  func series(of route: Route) -> RouteSeries {
    RouteSeries(
      retried: retried.with(route.name), abandoned: abandoned.with(route.name), repaired: repaired.with(route.name),
      coded: CodedBytes(coded, route: route.name, route.compression), limited: limits.series(of: route))
  }

  /// Makes the series of the access log at zero.
  func accessLog() -> AccessLogCounters {
    AccessLogCounters(
      written: accessLines.with("written"), sampledOut: accessLines.with("sampled_out"),
      dropped: accessLines.with("dropped"))
  }

  /// The series of requests that ended in the way that `key` describes.
  func series(
    of key: SeriesCache.Key, route: String, at now: MonotonicTime = .now
  ) -> SeriesCache.Series {
    let labels = DurationLabels(
      method: key.method.label, status: key.status == 0 ? "" : String(key.status),
      errorType: key.outcome.errorType(status: key.status), version: key.isHTTP10 ? "1.0" : "1.1",
      scheme: key.isSecure ? "https" : "http")
    let isOwn = departed.withLock { departed in
      if !route.isEmpty { departed.routes.seen(route, at: now) }
      return departed.shares[route, default: SeriesShare()].admits(labels, limit: departed.ownDurations)
    }
    let shown = isOwn ? labels : labels.coarse
    return SeriesCache.Series(
      duration: duration.with(shown.method, shown.scheme, route, shown.status, shown.errorType, shown.version),
      count: requests.with(route, key.outcome.label),
      failed: route.isEmpty || !key.outcome.isFailure(status: key.status) ? nil : failed.with(route)
    )
  }

  /// Removes from the page the series of routes, upstreams and operations that left the configuration ten minutes ago.
  func dropWhatIsGone(at now: MonotonicTime) {
    departed.withLock { drop(from: &$0, at: now) }
  }

  private func drop(from departed: inout Departed, at now: MonotonicTime) {
    let expired = departed.routes.expired(at: now)
    for route in expired { departed.shares[route] = nil }
    let gone = LabelChoice(["route"], expired.map { [$0] })
    requests.removeAll(gone)
    tunnels.remove(gone)
    limits.remove(gone, of: expired)
    for family in [failed, retried, abandoned, repaired] { family.removeAll(gone) }
    coded.removeAll(gone)
    duration.removeAll(LabelChoice(["http_route"], expired.map { [$0] }))
    let requested = followRequested(&departed, at: now)
    // Requests under way by an older configuration may still have set these gauges.
    for (server, (upstream, gauges)) in departed.unused {
      let others = requested[server] == nil ? .all : departed.unusedByRequests
      client?.remove(gauges.intersection(others), of: upstream)
    }
    for (server, upstream) in requested where departed.unused[server] == nil {
      client?.remove(departed.unusedByRequests, of: upstream)
    }
    for upstream in client?.forget(departed.upstreams.expired(at: now)) ?? [] {
      departed.upstreams.seen(upstream, at: now)
    }
    for operation in client?.forget(operations: departed.operations.expired(at: now)) ?? [] {
      departed.operations.seen(operation, at: now)
    }
  }

  /// Takes the authorities that requests have named. They come and go between configurations.
  private func followRequested(_ departed: inout Departed, at now: MonotonicTime) -> [Destination.Server: Destination] {
    let requested = Dictionary(authorities.items.map { ($0.server, $0) }) { first, _ in first }
    if !requested.isEmpty || departed.hasRequested {
      departed.upstreams.follow(Set(departed.unused.keys).union(requested.keys), at: now)
    }
    departed.hasRequested = !requested.isEmpty
    return requested
  }

  func configurationLoaded(at time: Timestamp = .now) {
    reloadSuccessful.set(1)
    reloadTime.set(time.seconds)
  }

  func configurationRefused() {
    reloadSuccessful.set(0)
  }

  /// When the configuration was loaded, in seconds since 1970, and whether the last attempt to load it succeeded.
  var configuration: (loaded: Double, isSuccessful: Bool) { (reloadTime.value, reloadSuccessful.value == 1) }
}

/// The elements that a configuration names, and the times at which earlier elements left it. A value.
struct Departures<Element: Hashable> {
  private var current: Set<Element> = []
  private var gone: [Element: MonotonicTime] = [:]

  /// Seconds for which the series of an element that has left stay on the page, so that its last requests are seen.
  static var patience: Double { 600 }
  /// The most elements that stay so.
  static var most: Int { 50 }

  mutating func follow(_ elements: Set<Element>, at now: MonotonicTime) {
    for element in current.subtracting(elements) { gone[element] = now }
    for element in elements { gone[element] = nil }
    current = elements
  }

  /// The element has series on the page. If it is not in the configuration, as with a request that began before a
  /// reload, its time starts now.
  mutating func seen(_ element: Element, at now: MonotonicTime) {
    if !current.contains(element) { gone[element] = now }
  }

  /// Returns, and forgets, the elements that left long enough ago, or before the last fifty.
  mutating func expired(at now: MonotonicTime) -> [Element] {
    let recent = gone.filter { now.seconds(since: $0.value) < Self.patience }
    let kept = Set(recent.sorted { $0.value > $1.value }.prefix(Self.most).map(\.key))
    let expired = gone.keys.filter { !kept.contains($0) }
    for element in expired { gone[element] = nil }
    return expired
  }
}

/// The metrics of the limits on routes' requests. Only routes with such limits have series.
final class LimitMetrics: Sendable {
  private static let labels = ["route", "limit", "enforced"]

  private let limited: CounterFamily<(String, String, String)>
  /// The labels of the present limits, and of those of routes that are gone but not from the page.
  private let known = Mutex<Set<[String]>>([])

  init(_ registry: Registry) throws(RegistryError) {
    limited = try registry.counter(
      "weir_gateway_limited_total", help: "Requests that exceeded a limit of their route, by whether it was enforced.",
      seriesLimit: 2 * Configuration.maximumRoutes * (RouteLimits.mostRates + RouteLimits.mostConcurrency),
      labels: "route", "limit", "enforced")
  }

  /// Takes the routes that there are. The series of limits that a route no longer has go at once, and those of routes
  /// that are gone with ``remove(_:of:)``.
  func follow(_ routes: [Route]) {
    let present = Set(routes.flatMap { route in route.limits.labels.map { [route.name, $0.limit, $0.enforced] } })
    let names = Set(routes.map(\.name))
    let gone = known.withLock { known in
      let gone = known.subtracting(present).filter { names.contains($0[0]) }
      known = known.subtracting(gone).union(present)
      return gone
    }
    limited.removeAll(LabelChoice(Self.labels, Array(gone)))
  }

  /// The series of a route's limits, in the order in which they are asked.
  func series(of route: Route) -> [Counter] {
    route.limits.labels.map { limited.with(route.name, $0.limit, $0.enforced) }
  }

  func remove(_ gone: LabelChoice, of routes: [String]) {
    let routes = Set(routes)
    known.withLock { known in known = known.filter { !routes.contains($0[0]) } }
    limited.removeAll(gone)
  }
}
