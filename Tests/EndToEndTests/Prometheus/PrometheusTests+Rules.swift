import Testing
import WeirTestSupport

/// What the rules that are shipped record and tell of what was sent.
extension PrometheusTests {
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
}
