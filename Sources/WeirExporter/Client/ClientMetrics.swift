import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// The client's metric families, registered once per registry. Names, labels and buckets are those of docs/metrics.md.
final class ClientMetrics: Sendable {
  let requestsStarted: CounterFamily<(String, String, String)>
  let requests: CounterFamily<(String, String, String, String, String)>
  let requestsFailed: CounterFamily<(String, String)>
  let requestsInFlight: GaugeFamily<(String, String)>
  let requestDuration, retryDelay, phaseDuration: HistogramFamily<(String, String, String)>
  let requestAttempts, requestBodySize, responseBodySize, paceWait: HistogramFamily<(String, String)>
  let attemptsStarted, limited, pauses: CounterFamily<(String, String)>
  let attempts, wireBytes, decodedBytes, redirects: CounterFamily<(String, String, String)>
  let attemptDuration: HistogramFamily<(String, String, String, String, String, String)>
  let activeAttempts: GaugeFamily<(String, String)>
  let connectionsOpened, connectionsReused, staleRetries: CounterFamily<(String, String)>
  let retries: CounterFamily<(String, String, String, String)>
  let retriesDenied, hedges, cacheRequests: CounterFamily<(String, String, String)>
  let circuitState, overloadState: GaugeFamily<(String, String, String)>
  let circuitTransitions, limitProbes, shed, abandoned: CounterFamily<(String, String, String)>
  let retryBudget, concurrencyLimit, concurrencyUsed, baseline, serviceRate, paused: GaugeFamily<(String, String)>
  let adaptationFailures: CounterFamily<(String, String, String, String)>
  let adaptationDuration, authRefreshDuration, loopLag: HistogramFamily<String>
  let authRefreshes: CounterFamily<(String, String)>
  let authRefreshWaiters: GaugeFamily<String>
  /// The paces, for a status page of the same registry.
  let paces: KnownPaces
  let limits: SeriesLimits
  private let removals: [DestinationFamilies.Removal]

  /// - Parameter limits: Each family has room for all its destinations: if one were full before the others, ratios between
  ///   families would be wrong.
  init(_ registry: Registry, _ limits: SeriesLimits) throws(RegistryError) {
    self.limits = limits
    var families = DestinationFamilies(registry: registry, limits: limits)
    let method: Label<String> = "http_request_method"
    let operation = Label<String>(omittedIfEmpty: "operation")
    requestsStarted = try families.counter(
      "weir_requests_started_total", help: "Requests whose setup began.", each: MethodLabel.count, labels: method)
    requests = try families.counter(
      "weir_requests_total", help: "Requests that settled, by outcome.",
      each: limits.requests, labels: method, "outcome", operation)
    requestsFailed = try families.counter(
      "weir_requests_failed_total",
      help: "Requests that settled without an answer, or with one of 500 or more: what their destination owes.")
    requestDuration = try families.histogram(
      "weir_request_duration_seconds",
      help: "Time from the start of a request to its settling: attempts, waits, refreshes, serialization.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
      each: SeriesLimits.results, labels: "result")
    requestAttempts = try families.histogram(
      "weir_request_attempts", help: "Attempts per settled request.", buckets: [0, 1, 2, 3, 4, 5, 8])
    requestsInFlight = try families.gauge("weir_requests_in_flight", help: "Requests started and not settled.")
    attemptsStarted = try families.counter("weir_attempts_started_total", help: "Attempts put on the wire.")
    attempts = try families.counter(
      "weir_attempts_total", help: "Attempts that ended, by protocol.", each: SeriesLimits.versions,
      labels: "network_protocol_version")
    attemptDuration = try families.histogram(
      "http_client_request_duration_seconds", help: "Duration of one attempt.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60],
      each: limits.attempts, labels: method, "http_response_status_code", "error_type", operation)
    activeAttempts = try families.gauge("http_client_active_requests", help: "Attempts on the wire.")
    phaseDuration = try families.histogram(
      "weir_phase_duration_seconds", help: "Duration of one phase of an attempt or request.",
      buckets: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
      ], each: Phase.allCases.count, labels: "phase")
    let sizes = Buckets.exponential(start: 256, factor: 4, count: 11)
    requestBodySize = try families.histogram(
      "http_client_request_body_size_bytes", help: "Size of request bodies on the wire, per attempt.", buckets: sizes)
    responseBodySize = try families.histogram(
      "http_client_response_body_size_bytes", help: "Size of response bodies on the wire, per attempt.", buckets: sizes)
    wireBytes = try families.counter(
      "weir_response_wire_bytes_total", help: "Response body bytes received, before decoding.",
      each: SeriesLimits.encodings, labels: "content_encoding")
    decodedBytes = try families.counter(
      "weir_response_decoded_bytes_total", help: "Response body bytes after decoding.", each: SeriesLimits.encodings,
      labels: "content_encoding")
    connectionsOpened = try families.counter("weir_connections_opened_total", help: "Connections opened.")
    connectionsReused = try families.counter(
      "weir_connections_reused_total", help: "Attempts that went over a connection that was open already.")
    staleRetries = try families.counter(
      "weir_stale_connection_retries_total",
      help: "Requests sent again because a pooled connection was of no use any more.")
    retries = try families.counter(
      "weir_retries_total", help: "Retries carried out, by what caused them.", each: limits.retries,
      labels: "reason", operation)
    retriesDenied = try families.counter(
      "weir_retries_denied_total", help: "Failed attempts that were not tried again, by reason.",
      each: RetryDenial.Reason.allCases.count, labels: "reason")
    retryDelay = try families.histogram(
      "weir_retry_delay_seconds", help: "Delay before a retry, by where it comes from.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60], each: RetryDelaySource.allCases.count,
      labels: "source")
    hedges = try families.counter(
      "weir_hedges_total", help: "Second attempts beside a slow one, by what became of them.",
      each: HedgeEvent.allCases.count, labels: "result")
    cacheRequests = try families.counter(
      "weir_cache_requests_total", help: "Looks into the response cache, by what they came to.",
      each: CacheResult.allCases.count, labels: "result")
    retryBudget = try families.gauge(
      "weir_retry_budget_available", help: "Retries that the destination's budget would grant now.")
    circuitState = try families.gauge(
      "weir_circuit_state", help: "Whether the destination's circuit is in the state: 1 or 0.",
      each: CircuitState.allCases.count, labels: "state")
    circuitTransitions = try families.counter(
      "weir_circuit_transitions_total", help: "States that the destination's circuit has entered.",
      each: CircuitState.allCases.count, labels: "state")
    concurrencyLimit = try families.gauge(
      "weir_concurrency_limit",
      help: "Attempts that load control allows at once; the number of slots while nothing is limited.")
    concurrencyUsed = try families.gauge(
      "weir_concurrency_used",
      help: "Attempts that count against the limit: without a head, or abandoned while the destination works on them.")
    baseline = try families.gauge(
      "weir_baseline_seconds", help: "Time of an answer without a queue at the destination, as load control knows it.")
    serviceRate = try families.gauge(
      "weir_service_rate", help: "Answers per second that the destination can give, while load control limits it.")
    overloadState = try families.gauge(
      "weir_overload_state", help: "Whether the destination's load control is in the state: 1 or 0.",
      each: OverloadState.allCases.count, labels: "state")
    limitProbes = try families.counter(
      "weir_limit_probes_total", help: "Probes of a lower limit that ended, by what they have shown.",
      each: SeriesLimits.limitProbes, labels: "result")
    shed = try families.counter(
      "weir_requests_shed_total", help: "Requests that load control or the pace refused, by reason.",
      each: ShedReason.allCases.count, labels: "reason")
    abandoned = try families.counter(
      "weir_requests_abandoned_total", help: "Requests whose caller gave up, by where they were.",
      each: AbandonedPhase.allCases.count, labels: "phase")
    limited = try families.counter("weir_responses_limited_total", help: "Attempts that were answered with 429.")
    paceWait = try families.histogram(
      "weir_pace_wait_seconds", help: "Time that an attempt waited for its turn by the destination's pace.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60])
    pauses = try families.counter(
      "weir_upstream_pauses_total", help: "Pauses that the destination asked for, and that were obeyed.")
    paused = try families.gauge(
      "weir_upstream_paused", help: "Whether a pause is obeyed that the destination asked for: 1 or 0.")
    paces = registry.companion { KnownPaces() }
    adaptationFailures = try families.counter(
      "weir_adaptation_failures_total", help: "Requests that an adapter failed, by adapter and reason.",
      each: SeriesLimits.adapters * AdaptationFailure.allCases.count, labels: "adapter", "reason")
    adaptationDuration = try registry.histogram(
      "weir_adaptation_duration_seconds", help: "Time an adapter took to answer.",
      buckets: [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30], labels: "adapter")
    let interceptor: Label<String> = "interceptor"
    authRefreshes = try registry.counter(
      "weir_auth_refreshes_total", help: "Refreshes of credentials, by how they ended.", labels: interceptor, "outcome")
    authRefreshDuration = try registry.histogram(
      "weir_auth_refresh_duration_seconds", help: "Time an authenticator took to get a new credential, or to fail.",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60], labels: "interceptor")
    authRefreshWaiters = try registry.gauge(
      "weir_auth_refresh_waiters", help: "Requests that wait for a new credential.", labels: "interceptor")
    redirects = try families.counter(
      "weir_redirects_total", help: "Redirects received, by status.", each: SeriesLimits.redirects,
      labels: "http_response_status_code")
    loopLag = try LoopLag.histogram(in: registry)
    removals = families.removals
  }

  /// Removes the series of operations from the page.
  func remove(operations: [String]) {
    let choice = LabelChoice(["operation"], operations.map { [$0] })
    requests.removeAll(choice)
    retries.removeAll(choice)
    attemptDuration.removeAll(choice)
  }

  /// Removes the series of servers from the page.
  func remove(_ servers: [Destination.Server]) {
    let choice = LabelChoice(["server_address", "server_port"], servers.map { [$0.host, String($0.port)] })
    for remove in removals { remove(choice) }
    for server in servers { paces.forget([server.host, String(server.port)]) }
  }
}

/// Registers families whose labels begin with those of a destination.
private struct DestinationFamilies {
  let registry: Registry
  let limits: SeriesLimits
  /// Removes series from one of the families.
  typealias Removal = @Sendable (LabelChoice) -> Void
  /// One removal for each family, in the order of registration.
  var removals: [Removal] = []
  private static let address: Label<String> = "server_address"
  private static let port: Label<String> = "server_port"

  /// - Parameter count: the number of label sets that a destination may have.
  mutating func counter<each Value: LabelValue>(
    _ name: String, help: String, each count: Int = 1, labels: repeat Label<each Value>
  ) throws(RegistryError) -> CounterFamily<(String, String, repeat each Value)> {
    noted(
      try registry.counter(
        name, help: help, seriesLimit: limits.each(count), labels: Self.address, Self.port, repeat each labels))
  }

  mutating func gauge<each Value: LabelValue>(
    _ name: String, help: String, each count: Int = 1, labels: repeat Label<each Value>
  ) throws(RegistryError) -> GaugeFamily<(String, String, repeat each Value)> {
    noted(
      try registry.gauge(
        name, help: help, seriesLimit: limits.each(count), labels: Self.address, Self.port, repeat each labels))
  }

  mutating func histogram<each Value: LabelValue>(
    _ name: String, help: String, buckets: Buckets, each count: Int = 1, labels: repeat Label<each Value>
  ) throws(RegistryError) -> HistogramFamily<(String, String, repeat each Value)> {
    noted(
      try registry.histogram(
        name, help: help, buckets: buckets, seriesLimit: limits.each(count), labels: Self.address, Self.port,
        repeat each labels))
  }

  private mutating func noted<Handle, Labels>(_ family: Family<Handle, Labels>) -> Family<Handle, Labels> {
    removals.append { family.removeAll($0) }
    return family
  }
}

/// The number of label sets that each of the client's families may have, counted per destination.
///
/// Labels that the code bounds get all their values. Statuses, kinds of error and adapters are not bounded. Each gets
/// room for more values than a destination has in practice; statuses and errors also for the coarse values of the rest
/// (``CoarseLabel``). A program with more adapters uses room that other destinations leave.
struct SeriesLimits: Sendable {
  /// Those with series of their own, and the shared ones.
  let destinations: Int
  /// The operations of a destination with series of their own. Two more sets are those of requests without one, and of the
  /// operations beyond.
  let operations: Int

  /// The states active and idle.
  var connectionStates: Int { each(2) }
  /// The combinations of method, outcome and operation.
  var requests: Int { (1 + named) * MethodLabel.count * RequestOutcome.allCases.count }
  /// The combinations of method, status, error and operation.
  var attempts: Int {
    Self.ownAttempts(isNamed: false) + named * Self.ownAttempts(isNamed: true)
      + (1 + named) * CoarseLabel.statusCount * CoarseLabel.errorCount
  }
  /// The combinations of operation and status, or error.
  var retries: Int {
    Self.ownRetryReasons(isNamed: false) + named * Self.ownRetryReasons(isNamed: true)
      + (1 + named) * (CoarseLabel.statusCount + CoarseLabel.errorCount)
  }

  private var named: Int { operations + 1 }

  /// - Parameter isNamed: Whether the requests are those of an operation.
  static func ownAttempts(isNamed: Bool) -> Int { isNamed ? 20 : 100 }
  static func ownRetryReasons(isNamed: Bool) -> Int { isNamed ? 20 : 50 }
  /// The versions 1.0, 1.1, 2, 3 and unknown.
  static let versions = 5
  /// The encodings identity, gzip, deflate, br, zstd and _other.
  static let encodings = 6
  /// The statuses of redirects; five of them are followed.
  static let redirects = 10
  static let adapters = 16
  /// The results success, failure and cancelled.
  static let results = 3
  /// The results faster, same and aborted.
  static let limitProbes = 3

  func each(_ count: Int) -> Int {
    let (product, overflows) = max(1, destinations).multipliedReportingOverflow(by: count)
    return overflows ? .max : product
  }
}

/// The metric `weir_event_loop_lag_seconds`, with a series for each kind of loop: `session` (all sessions of the process),
/// `gateway.0` and so on (a worker of the gateway each), `control` (lookups and checks of the gateway's `upstreams`),
/// `metrics` (the exporter's).
enum LoopLag {
  /// Finds or makes the family in a registry.
  static func histogram(in registry: Registry) throws(RegistryError) -> HistogramFamily<String> {
    try registry.histogram(
      "weir_event_loop_lag_seconds", help: "Time a due timer waited for its turn on the event loop.",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5], labels: "loop")
  }
}
