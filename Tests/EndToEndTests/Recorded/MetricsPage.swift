import Foundation

/// A page of metrics without values that depend on time: buckets and sums of histograms, and values of the process.
enum MetricsPage {
  /// Metrics whose values a recording leaves out; it shows that they are there.
  private static let unsteady = [
    "process_", "weir_scrape", "weir_retry_budget_available", "weir_concurrency_limit",
    "weir_concurrency_used",
    "weir_config_last_reload_success_timestamp_seconds",
    "weir_metrics_series{metric=\"weir_event_loop_lag_seconds\"}",
    "weir_metrics_series{metric=\"weir_phase_duration_seconds\"}",
  ]

  /// - Parameter senders: the names of ports to which request bodies were sent. With libcurl 8.14.1 such attempts lack the
  ///   `processing` phase now and then, so a recording leaves it out.
  static func recorded(_ page: String, _ ports: PortNames, senders: Set<String>) -> String {
    var result = ""
    var samples: [String: [String]] = [:]
    for line in page.split(separator: "\n") {
      if line.hasPrefix("#") {
        result += joined(&samples) + line + "\n"
      } else {
        let (sample, name) = named(line, ports)
        if senders.contains(name), sample.contains("phase=\"processing\"") { continue }
        // libcurl closes that connection at once or when it next looks at it, whichever comes first.
        if name == "half-head", sample.hasPrefix("http_client_open_connections") { continue }
        if let sample = recorded(sample) { samples[sample, default: []].append(name) }
      }
    }
    return result + joined(&samples)
  }

  /// The samples of one family, in an order that ports don't decide. Those that differ in nothing but the destination's
  /// port or the route are one line with all names.
  private static func joined(_ samples: inout [String: [String]]) -> String {
    defer { samples = [:] }
    return samples.sorted { $0.key < $1.key }.map { line, names in
      line.replacing("NAMES", with: names.sorted().joined(separator: " ")) + "\n"
    }.joined()
  }

  /// The sample with a mark in place of its port's or route's name, and that name.
  private static func named(_ line: Substring, _ ports: PortNames) -> (sample: String, name: String) {
    for label in ["server_port=\"", "route=\""] {
      guard let start = line.range(of: label)?.upperBound else { continue }
      let value = line[start...].prefix { $0 != "\"" }
      return ("\(line[..<start])NAMES\(line[value.endIndex...])", ports[value])
    }
    return (String(line), "")
  }

  private static func recorded(_ line: String) -> String? {
    let name = line.prefix { $0 != "{" && $0 != " " }
    if name.hasSuffix("_bucket") || name.hasSuffix("_sum") { return nil }
    // A loop's series is there from its first late timer on.
    if name == "weir_event_loop_lag_seconds_count" { return nil }
    if name == "weir_build_info" { return "weir_build_info{…} 1" }
    guard unsteady.contains(where: { line.hasPrefix($0) }), let space = line.lastIndex(of: " ")
    else { return line }
    return line[..<space] + " V"
  }
}
