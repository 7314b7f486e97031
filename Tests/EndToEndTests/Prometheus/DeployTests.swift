import Foundation
import Testing
import WeirTestSupport

/// What is shipped for Prometheus and Grafana, in a real Prometheus.
@Suite(.needs(.prometheus, .promtool, .curl)) struct DeployTests {
  // MARK: The dashboard

  /// A panel of the dashboard, or a row of them.
  struct Panel: Decodable {
    let title: String?
    let targets: [Target]?
    let panels: [Panel]?

    struct Target: Decodable {
      let expr: String

      /// With the values that Grafana would set.
      var query: String {
        expr.replacing("$__rate_interval", with: "1m").replacing("$job", with: "weir")
          .replacing("$destination", with: ".*")
      }
    }

    var all: [Panel] { [self] + (panels ?? []).flatMap(\.all) }
  }

  private func panels() throws -> [Panel] {
    struct Dashboard: Decodable {
      let panels: [Panel]
    }
    let text = try PackageRoot.text(of: "dashboards/weir-client.json")
    return try JSONDecoder().decode(Dashboard.self, from: Data(text.utf8)).panels.flatMap(\.all)
  }

  @Test func everyQueryOfTheDashboardHasData() async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    var count = 0
    for panel in try panels() {
      for target in panel.targets ?? [] {
        count += 1
        #expect(!target.query.contains("$"), "a variable that this test doesn't know: \(target.expr)")
        let values = try await prometheus.query(target.query)
        #expect(values.values.contains { $0.isFinite }, "\(panel.title ?? ""): \(target.query) gives \(values)")
      }
    }
    #expect(count > 20)
  }

  @Test(arguments: [
    // POST is no series until the first one comes, so to down.test there is no increase unless a scrape saw it begin.
    ("Requests started", 3...4), ("Phases, p99", 7...7), ("Retries by reason", 1...1), ("Adaptation failures", 1...1),
  ])
  func aPanelHasALinePerSeriesThatMoved(title: String, lines: ClosedRange<Int>) async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    let target = try #require(try panels().first { $0.title == title }?.targets?.first)
    let values = try await prometheus.query("(\(target.query.replacing(".*", with: ".*.test"))) != 0")
    #expect(lines.contains(values.count), "\(values)")
  }

  // MARK: Rules

  @Test func allRulesAreHealthy() async throws {
    let rules = try await PrometheusFixture.shared.value.prometheus.rules()
    #expect(rules.count > 40)
    for rule in rules { #expect(rule.health == "ok" && rule.lastError ?? "" == "", "\(rule)") }
  }

  @Test(arguments: [
    // 300 retries of 300 requests, more than one request a second.
    ("WeirRetryStorm", ["pending", "firing"]),
    // 7 of 7 requests.
    ("WeirAdaptationFailing", ["pending", "firing"]),
    ("WeirScrapeFailing", ["inactive"]),
  ])
  func alertsSeeWhatHappened(name: String, states: [String]) async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    try await eventually("\(name) is one of \(states)") {
      let rule = try #require(try await prometheus.rules().first { $0.name == name })
      return states.contains(rule.state ?? "")
    }
  }

  @Test func retryDemandIsRecorded() async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    let demand = "job_destination:weir_retry_demand:ratio_rate2m"
    let flaky = try #require(try await prometheus.value("\(demand){server_address=\"flaky.test\"}"))
    #expect(flaky > 0.5 && flaky < 1.1)
    #expect(try await prometheus.value("\(demand){server_address=\"slow.test\"}") == 0)
  }

  @Test(arguments: [
    ["config", "prometheus.yml"], ["rules", "rules/recording.yml"], ["rules", "rules/alerts.yml"],
  ])
  func promtoolAcceptsThem(arguments: [String]) async throws {
    try await Tool.promtool.run(["check", arguments[0], "\(PackageRoot.path)/deploy/prometheus/\(arguments[1])"])
  }
}
