import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// The client's metric families, registered once per registry. Names, labels and buckets are those of docs/metrics.md.
final class ClientMetrics: Sendable {
  let requestsStarted: CounterFamily<(String, String, String)>
  let requests: CounterFamily<(String, String, String, String)>
  let requestsFailed: CounterFamily<(String, String)>
  let requestDuration: HistogramFamily<(String, String, String)>
  let requestAttempts: HistogramFamily<(String, String)>
  let requestsInFlight: GaugeFamily<(String, String)>
  let attemptsStarted: CounterFamily<(String, String)>
  let attempts: CounterFamily<(String, String, String)>
  let attemptDuration: HistogramFamily<(String, String, String, String, String)>
  let activeAttempts: GaugeFamily<(String, String)>
  let phaseDuration: HistogramFamily<(String, String, String)>
  let requestBodySize: HistogramFamily<(String, String)>
  let responseBodySize: HistogramFamily<(String, String)>
  let wireBytes: CounterFamily<(String, String, String)>
  let decodedBytes: CounterFamily<(String, String, String)>
  let connectionsOpened: CounterFamily<(String, String)>
  let connectionsReused: CounterFamily<(String, String)>
  let staleRetries: CounterFamily<(String, String)>
  let retries: CounterFamily<(String, String, String)>
  let retriesDenied: CounterFamily<(String, String, String)>
  let retryDelay: HistogramFamily<(String, String, String)>
  let hedges: CounterFamily<(String, String, String)>
  let cacheRequests: CounterFamily<(String, String, String)>
  let retryBudget: GaugeFamily<(String, String)>
  let circuitState: GaugeFamily<(String, String, String)>
  let circuitTransitions: CounterFamily<(String, String, String)>
  let concurrencyLimit: GaugeFamily<(String, String)>
  let adaptationFailures: CounterFamily<(String, String, String, String)>
  let adaptationDuration: HistogramFamily<String>
  let authRefreshes: CounterFamily<(String, String)>
  let authRefreshDuration: HistogramFamily<String>
  let authRefreshWaiters: GaugeFamily<String>
  let redirects: CounterFamily<(String, String, String)>
  let loopLag: Histogram

  /// - Parameter destinations: how many have series of their own, the shared ones included. Each family has room for all
  ///   of them: were one full before the others, ratios between families would go wrong.
  init(_ registry: Registry, destinations: Int) throws(RegistryError) {
    let limits = SeriesLimits(destinations: destinations)
    let address: Label<String> = "server_address"
    let port: Label<String> = "server_port"
    let method: Label<String> = "http_request_method"
    requestsStarted = try registry.counter(
      "weir_requests_started_total", help: "Requests whose setup began.", seriesLimit: limits.methods, labels: address,
      port, method)
    requests = try registry.counter(
      "weir_requests_total", help: "Requests that settled, by outcome.", seriesLimit: limits.outcomesOfMethods,
      labels: address, port, method, "outcome")
    requestsFailed = try registry.counter(
      "weir_requests_failed_total",
      help: "Requests that settled without an answer, or with one of 500 or more: what their destination owes.",
      seriesLimit: limits.one, labels: address, port)
    requestDuration = try registry.histogram(
      "weir_request_duration_seconds",
      help: "Time from the start of a request to its settling: attempts, waits, refreshes, serialization.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
      seriesLimit: limits.results, labels: address, port, "result")
    requestAttempts = try registry.histogram(
      "weir_request_attempts", help: "Attempts per settled request.", buckets: [0, 1, 2, 3, 4, 5, 8],
      seriesLimit: limits.one, labels: address, port)
    requestsInFlight = try registry.gauge(
      "weir_requests_in_flight", help: "Requests started and not settled.", seriesLimit: limits.one, labels: address,
      port)
    attemptsStarted = try registry.counter(
      "weir_attempts_started_total", help: "Attempts put on the wire.", seriesLimit: limits.one, labels: address, port)
    attempts = try registry.counter(
      "weir_attempts_total", help: "Attempts that ended, by protocol.",
      seriesLimit: limits.versions, labels: address, port, "network_protocol_version")
    attemptDuration = try registry.histogram(
      "http_client_request_duration_seconds", help: "Duration of one attempt.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60],
      seriesLimit: limits.attempts, labels: address, port, method, "http_response_status_code", "error_type")
    activeAttempts = try registry.gauge(
      "http_client_active_requests", help: "Attempts on the wire.", seriesLimit: limits.one, labels: address, port)
    phaseDuration = try registry.histogram(
      "weir_phase_duration_seconds", help: "Duration of one phase of an attempt or request.",
      buckets: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
      ],
      seriesLimit: limits.phases, labels: address, port, "phase")
    let sizes = Buckets.exponential(start: 256, factor: 4, count: 11)
    requestBodySize = try registry.histogram(
      "http_client_request_body_size_bytes", help: "Size of request bodies on the wire, per attempt.",
      buckets: sizes, seriesLimit: limits.one, labels: address, port)
    responseBodySize = try registry.histogram(
      "http_client_response_body_size_bytes", help: "Size of response bodies on the wire, per attempt.",
      buckets: sizes, seriesLimit: limits.one, labels: address, port)
    wireBytes = try registry.counter(
      "weir_response_wire_bytes_total", help: "Response body bytes received, before decoding.",
      seriesLimit: limits.encodings, labels: address, port, "content_encoding")
    decodedBytes = try registry.counter(
      "weir_response_decoded_bytes_total", help: "Response body bytes after decoding.",
      seriesLimit: limits.encodings, labels: address, port, "content_encoding")
    connectionsOpened = try registry.counter(
      "weir_connections_opened_total", help: "Connections opened.", seriesLimit: limits.one, labels: address, port)
    connectionsReused = try registry.counter(
      "weir_connections_reused_total", help: "Attempts that went over a connection that was open already.",
      seriesLimit: limits.one, labels: address, port)
    staleRetries = try registry.counter(
      "weir_stale_connection_retries_total",
      help: "Requests sent again because a pooled connection was of no use any more.", seriesLimit: limits.one,
      labels: address, port)
    retries = try registry.counter(
      "weir_retries_total", help: "Retries carried out, by what caused them.", seriesLimit: limits.retryReasons,
      labels: address, port, "reason")
    retriesDenied = try registry.counter(
      "weir_retries_denied_total", help: "Failed attempts that were not tried again, by reason.",
      seriesLimit: limits.denials, labels: address, port, "reason")
    retryDelay = try registry.histogram(
      "weir_retry_delay_seconds", help: "Delay before a retry, by where it comes from.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60], seriesLimit: limits.delaySources, labels: address,
      port, "source")
    hedges = try registry.counter(
      "weir_hedges_total", help: "Second attempts beside a slow one, by what became of them.",
      seriesLimit: limits.hedges, labels: address, port, "result")
    cacheRequests = try registry.counter(
      "weir_cache_requests_total", help: "Looks into the response cache, by what they came to.",
      seriesLimit: limits.cacheRequests, labels: address, port, "result")
    retryBudget = try registry.gauge(
      "weir_retry_budget_available", help: "Retries that the destination's budget would grant now.",
      seriesLimit: limits.one, labels: address, port)
    circuitState = try registry.gauge(
      "weir_circuit_state", help: "Whether the destination's circuit is in the state: 1 or 0.",
      seriesLimit: limits.circuitStates, labels: address, port, "state")
    circuitTransitions = try registry.counter(
      "weir_circuit_transitions_total", help: "States that the destination's circuit has entered.",
      seriesLimit: limits.circuitStates, labels: address, port, "state")
    concurrencyLimit = try registry.gauge(
      "weir_concurrency_limit", help: "Attempts that the destination's adaptive limit allows at once.",
      seriesLimit: limits.one, labels: address, port)
    adaptationFailures = try registry.counter(
      "weir_adaptation_failures_total", help: "Requests that an adapter failed, by adapter and reason.",
      seriesLimit: limits.adaptationFailures, labels: address, port, "adapter", "reason")
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
    redirects = try registry.counter(
      "weir_redirects_total", help: "Redirects received, by status.",
      seriesLimit: limits.redirects, labels: address, port, "http_response_status_code")
    loopLag = try registry.histogram(
      "weir_event_loop_lag_seconds", help: "Time a due timer waited for its turn on the event loop.",
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5])
  }

  /// Takes the series of a destination off the page.
  func remove(address: String, port: String) {
    let labels = ["server_address": address, "server_port": port]
    requestsStarted.removeAll(where: labels)
    requests.removeAll(where: labels)
    requestsFailed.removeAll(where: labels)
    requestDuration.removeAll(where: labels)
    requestAttempts.removeAll(where: labels)
    requestsInFlight.removeAll(where: labels)
    attemptsStarted.removeAll(where: labels)
    attempts.removeAll(where: labels)
    attemptDuration.removeAll(where: labels)
    activeAttempts.removeAll(where: labels)
    phaseDuration.removeAll(where: labels)
    requestBodySize.removeAll(where: labels)
    responseBodySize.removeAll(where: labels)
    wireBytes.removeAll(where: labels)
    decodedBytes.removeAll(where: labels)
    connectionsOpened.removeAll(where: labels)
    connectionsReused.removeAll(where: labels)
    staleRetries.removeAll(where: labels)
    retries.removeAll(where: labels)
    retriesDenied.removeAll(where: labels)
    retryDelay.removeAll(where: labels)
    hedges.removeAll(where: labels)
    cacheRequests.removeAll(where: labels)
    retryBudget.removeAll(where: labels)
    circuitState.removeAll(where: labels)
    circuitTransitions.removeAll(where: labels)
    concurrencyLimit.removeAll(where: labels)
    adaptationFailures.removeAll(where: labels)
    redirects.removeAll(where: labels)
  }
}

/// How many label sets each of the client's families may have: so many per destination.
///
/// What is bounded by the code gets all its values. Statuses and kinds of error, which are not, get room for more than a
/// destination shows in practice, and for what stands for the rest (``CoarseLabel``). So do adapters; a program that has more
/// of them takes of what others leave.
struct SeriesLimits: Sendable {
  let destinations: Int

  var one: Int { each(1) }
  var methods: Int { each(MethodLabel.count) }
  var results: Int { each(RequestResult.allCases.count) }
  var outcomesOfMethods: Int { each(MethodLabel.count * RequestOutcome.allCases.count) }
  /// 1.0, 1.1, 2, 3, unknown.
  var versions: Int { each(5) }
  var phases: Int { each(Phase.allCases.count) }
  /// identity, gzip, deflate, br, zstd, _other.
  var encodings: Int { each(6) }
  var connectionStates: Int { each(2) }
  var denials: Int { each(RetryDenial.Reason.allCases.count) }
  var hedges: Int { each(HedgeEvent.allCases.count) }
  var cacheRequests: Int { each(CacheResult.allCases.count) }
  var circuitStates: Int { each(CircuitState.allCases.count) }
  var delaySources: Int { each(RetryDelaySource.allCases.count) }
  /// Method, status and error together.
  var attempts: Int { each(Self.ownAttempts + CoarseLabel.statusCount * CoarseLabel.errorCount) }
  static let ownAttempts = 100
  /// Statuses and errors.
  var retryReasons: Int { each(Self.ownRetryReasons + CoarseLabel.statusCount + CoarseLabel.errorCount) }
  static let ownRetryReasons = 50
  /// Statuses: those that are followed are five.
  var redirects: Int { each(10) }
  /// Of sixteen adapters.
  var adaptationFailures: Int { each(16 * AdaptationFailure.allCases.count) }

  private func each(_ count: Int) -> Int {
    let (product, overflows) = max(1, destinations).multipliedReportingOverflow(by: count)
    return overflows ? .max : product
  }
}
