import WeirTestSupport

/// The metrics that a dashboard may read, each with its labels: those of docs/metrics.md, of the recording rules, and
/// Prometheus' own.
struct KnownMetrics {
  private var labels: [String: Set<String>] = [:]

  /// Of recorded series, by the first part of their names.
  private static let levels: [Substring: Set<String>] = [
    "weir": [], "job": ["job"], "job_destination": ["job", "server_address", "server_port"],
    "job_destination_adapter": ["job", "server_address", "server_port", "adapter"],
    "job_destination_operation": ["job", "server_address", "server_port", "operation"],
    "job_interceptor": ["job", "interceptor"], "job_route": ["job", "route"], "job_upstream": ["job", "upstream"],
  ]

  init() throws {
    for (name, entry) in try MetricsDocument().entries {
      let own = Set(entry.labels).union(["job", "instance"])
      if entry.kind == "histogram" {
        labels["\(name)_bucket"] = own.union(["le"])
        labels["\(name)_sum"] = own
        labels["\(name)_count"] = own
      } else {
        labels[name] = own
      }
    }
    let rules = try PackageRoot.text(of: "deploy/prometheus/rules/recording.yml")
    for name in rules.matches(of: /- record: (\S+)/).map({ $0.1 }) {
      labels[String(name)] = Self.levels[name.prefix { $0 != ":" }]
    }
    labels["up"] = ["job", "instance"]
    labels["ALERTS"] = [
      "alertname", "alertstate", "severity", "job", "instance", "server_address", "server_port", "route", "upstream",
    ]
  }

  /// What is wrong with an expression; empty when nothing is.
  func problems(in expression: String) -> [String] {
    let (selectors, grouping) = Selector.all(in: expression)
    var problems = selectors.isEmpty ? ["reads nothing"] : []
    var known: Set<String> = []
    for selector in selectors {
      guard let labels = labels[selector.metric] else {
        problems.append("there is no \(selector.metric)")
        continue
      }
      known.formUnion(labels)
      for label in selector.labels.subtracting(labels) { problems.append("\(selector.metric) has no label \(label)") }
    }
    for label in grouping.subtracting(known) { problems.append("nothing has the label \(label)") }
    return problems
  }
}
