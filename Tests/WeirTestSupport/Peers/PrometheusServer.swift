import Foundation

/// A Prometheus that scrapes exporters on 127.0.0.1, and evaluates rules, every second.
package final class PrometheusServer: Sendable {
  package let port: Int
  /// The files of rules that are shipped.
  package static let shippedRules = ["recording", "alerts", "native"].map {
    "\(PackageRoot.path)/deploy/prometheus/rules/\($0).yml"
  }
  private let peer: Peer
  private let directory: TemporaryDirectory

  /// - Parameters:
  ///   - ports: Where the exporters of the job `weir` listen.
  ///   - rules: Files of rules to load.
  package convenience init(scraping ports: [Int], rules: [String] = []) async throws {
    try await self.init(jobs: ["weir": ports], rules: rules)
  }

  /// - Parameters:
  ///   - jobs: Where the exporters of each job listen.
  ///   - rules: Files of rules to load. All are evaluated every second, whatever interval a group has.
  ///   - alertmanager: The port of the Alertmanager that is to hear of alerts.
  ///   - settings: Further keys of every job, as a flow mapping has them: `scheme: https`.
  ///   - features: What is turned on beside the defaults: `exemplar-storage`.
  package init(
    jobs: [String: [Int]], rules: [String] = [], alertmanager: Int? = nil, settings: String = "",
    features: [String] = []
  ) async throws {
    port = LoopbackPort.free()
    let directory = try TemporaryDirectory()
    self.directory = directory
    let rules = try rules.enumerated().map { number, file in
      let text = try String(contentsOfFile: file, encoding: .utf8)
      return try directory.file("rules-\(number).yml", text.replacing(#/\n +interval: \w+/#, with: ""))
    }
    let config = try directory.file(
      "prometheus.yml",
      """
      global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
      rule_files: [\(rules.joined(separator: ", "))]
      alerting: {alertmanagers: [static_configs: [targets: \(Self.targets(alertmanager.map { [$0] } ?? []))]]}
      scrape_configs:
      \(jobs.map { Self.job($0, $1, settings) }.joined(separator: "\n"))

      """)
    peer = try Peer(
      .prometheus,
      [
        "--config.file=\(config)", "--web.listen-address=127.0.0.1:\(port)",
        "--storage.tsdb.path=\(try directory.directory("data"))", "--log.level=warn",
      ] + features.map { "--enable-feature=\($0)" })
    try await peer.waitForPort(port)
    _ = try await eventually("Prometheus is ready") { try? await get("/-/ready", ["--fail"]) }
  }

  private static func job(_ name: String, _ ports: [Int], _ settings: String) -> String {
    let settings = settings.isEmpty ? "" : ", \(settings)"
    return "  - {job_name: \(name), static_configs: [targets: \(targets(ports))]\(settings)}"
  }

  private static func targets(_ ports: [Int]) -> String {
    "[\(ports.map { "\"127.0.0.1:\($0)\"" }.joined(separator: ", "))]"
  }

  /// Ends it, also if a fixture still has it: evaluating all rules every second takes its share of the processor.
  package func stop() { peer.stop() }

  /// The value of each series that an expression yields: now, or at a Unix time.
  /// - Throws: ``PeerError`` with Prometheus' own words when it refuses the expression.
  package func query(_ expression: String, at time: Double? = nil) async throws -> [[String: String]: Double] {
    var parameters = ["query": expression]
    if let time { parameters["time"] = String(time) }
    let data: QueryData = try await answer("/api/v1/query", parameters)
    var values: [[String: String]: Double] = [:]
    for series in data.result { values[series.metric] = Double(series.value.text) ?? .nan }
    return values
  }

  /// The value of the only series that an expression yields; nil when it yields none.
  package func value(_ expression: String) async throws -> Double? {
    let values = try await query(expression)
    guard values.count < 2 else { throw PeerError("\(expression) yields \(values)") }
    return values.values.first
  }

  /// The labels of all exemplars of the series that an expression selects, with those of the last ten minutes.
  package func exemplars(of expression: String) async throws -> [(series: [String: String], exemplar: [String: String])]
  {
    let now = Date().timeIntervalSince1970
    let data: [ExemplarsData] = try await answer(
      "/api/v1/query_exemplars", ["query": expression, "start": String(now - 600), "end": String(now + 60)])
    return data.flatMap { entry in entry.exemplars.map { (entry.seriesLabels, $0.labels) } }
  }

  /// The rules it has loaded.
  package func rules() async throws -> [Rule] {
    let data: RulesData = try await answer("/api/v1/rules", [:])
    return data.groups.flatMap(\.rules)
  }

  /// One of a rule file's rules, as evaluated last.
  package struct Rule: Decodable, Sendable {
    package let name: String
    /// `unknown` before the first evaluation, then `ok` or `err`.
    package let health: String
    package let lastError: String?
    /// Of an alert: `inactive`, `pending` or `firing`.
    package let state: String?
  }

  private func answer<Data: Decodable>(_ path: String, _ parameters: [String: String]) async throws -> Data {
    let text = try await get(path, parameters.flatMap { ["--data-urlencode", "\($0)=\($1)"] })
    let answer = try JSONDecoder().decode(Answer<Data>.self, from: Foundation.Data(text.utf8))
    guard let data = answer.data, answer.status == "success" else {
      throw PeerError("Prometheus to \(parameters): \(answer.error ?? text)")
    }
    return data
  }

  /// By way of curl: what is tested here must not be what the test relies on.
  private func get(_ path: String, _ arguments: [String]) async throws -> String {
    try await Tool.curl.run(["-sS", "--get", "http://127.0.0.1:\(port)\(path)"] + arguments)
  }
}

private struct Answer<Value: Decodable>: Decodable {
  let status: String
  let error: String?
  let data: Value?
}

private struct ExemplarsData: Decodable {
  struct Exemplar: Decodable {
    let labels: [String: String]
  }

  let seriesLabels: [String: String]
  let exemplars: [Exemplar]
}

private struct QueryData: Decodable {
  let result: [Series]

  struct Series: Decodable {
    let metric: [String: String]
    let value: Sample
  }

  /// A time and a number as text: `[1700000000.123, "1.5"]`.
  struct Sample: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      _ = try container.decode(Double.self)
      text = try container.decode(String.self)
    }
  }
}

private struct RulesData: Decodable {
  let groups: [Group]

  struct Group: Decodable {
    let rules: [PrometheusServer.Rule]
  }
}
