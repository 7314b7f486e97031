/// A metric that tells of traffic, and what it tells.
package struct TrafficMetric: Sendable {
  package enum Fact: Sendable {
    /// Requests that ended, by the split label's value.
    case requests
    case failed, attempts
    /// Retries by the split label's value.
    case retries
    case denied, limited, shed, abandoned
    /// A histogram of requests' durations.
    case durations
    /// A histogram of attempts' durations, split by the kind of error, which tells of those that failed too.
    case attemptDurations
    /// A histogram of the durations of the phase that the split label names.
    case phases
    case inFlight, activeAttempts, budget
    /// 1 for the state that the split label names.
    case circuit, loadControl
    case limit, used

    var isHistogram: Bool { self == .durations || self == .attemptDurations || self == .phases }

    var isGauge: Bool {
      switch self {
      case .inFlight, .activeAttempts, .budget, .circuit, .loadControl, .limit, .used: true
      default: false
      }
    }
  }

  package var name: String
  package var fact: Fact
  /// The labels that name the subject, such as a route.
  package var keys: [String]
  /// The label that splits the metric.
  package var split: String?
  /// The values of the split label that count; nil for all.
  package var only: Set<String>?
  /// How many of `keys` the subjects beyond a table's room still tell apart.
  var keptKeys = 0

  package init(_ name: String, _ fact: Fact, keys: [String], by split: String? = nil, only: Set<String>? = nil) {
    self.name = name
    self.fact = fact
    self.keys = keys
    self.split = split
    self.only = only
  }

  /// The metrics of destinations, as `MetricsMonitor` counts them.
  package static let ofDestinations: [TrafficMetric] = {
    func metric(_ name: String, _ fact: Fact, by split: String? = nil, only: Set<String>? = nil) -> TrafficMetric {
      TrafficMetric(name, fact, keys: ["server_address", "server_port"], by: split, only: only)
    }
    return [
      metric("weir_requests_total", .requests, by: "outcome"),
      metric("weir_requests_failed_total", .failed),
      metric("weir_attempts_started_total", .attempts),
      metric("weir_retries_total", .retries, by: "reason"),
      metric("weir_retries_denied_total", .denied, by: "reason", only: ["budget", "overload", "pace"]),
      metric("weir_responses_limited_total", .limited),
      metric("weir_requests_shed_total", .shed, by: "reason"),
      metric("weir_requests_abandoned_total", .abandoned, by: "phase"),
      metric("weir_request_duration_seconds", .durations, by: "result"),
      metric("weir_phase_duration_seconds", .phases, by: "phase"),
      metric("weir_requests_in_flight", .inFlight),
      metric("http_client_active_requests", .activeAttempts),
      metric("weir_retry_budget_available", .budget),
      metric("weir_circuit_state", .circuit, by: "state"),
      metric("weir_overload_state", .loadControl, by: "state"),
      metric("weir_concurrency_limit", .limit),
      metric("weir_concurrency_used", .used),
    ]
  }()

  /// The operations of destinations, and the requests without one. Durations and failures are those of attempts.
  static let ofOperations: [TrafficMetric] = {
    func metric(_ name: String, _ fact: Fact, by split: String? = nil) -> TrafficMetric {
      var metric = TrafficMetric(name, fact, keys: ["server_address", "server_port", "operation"], by: split)
      metric.keptKeys = 2
      return metric
    }
    return [
      metric("weir_requests_total", .requests, by: "outcome"),
      metric("http_client_request_duration_seconds", .attemptDurations, by: "error_type"),
      metric("weir_retries_total", .retries, by: "reason"),
    ]
  }()

  /// How long the turns of event loops take; the subjects are the loops.
  package static let ofLoops = [TrafficMetric("weir_event_loop_lag_seconds", .durations, keys: ["loop"])]
}
