import Testing
import WeirTestSupport

/// What a real Prometheus reads of what was sent.
@Suite(.needs(.prometheus, .curl), .prometheus { try await PrometheusFixture.shared.value.prometheus })
struct PrometheusTests {
  /// A sum by host; hosts that are not named are at 0.
  struct Sum: CustomTestStringConvertible {
    let query: String
    let expected: [String: Double]

    init(_ query: String, _ expected: [String: Double]) {
      self.query = query
      self.expected = expected
    }

    var testDescription: String { query }
  }

  @Test(arguments: [
    // What users got.
    Sum("weir_requests_started_total", ["slow.test": 12, "flaky.test": 300, "down.test": 4, "unsigned.test": 7]),
    Sum("weir_requests_total", ["slow.test": 12, "flaky.test": 300, "down.test": 4, "unsigned.test": 7]),
    Sum("weir_requests_total{outcome=\"success\"}", ["slow.test": 12, "flaky.test": 300]),
    Sum("weir_requests_total{outcome=\"http_error\", http_request_method=\"POST\"}", ["down.test": 4]),
    Sum("weir_requests_total{outcome=\"adaptation_failed\"}", ["unsigned.test": 7]),
    Sum("weir_request_duration_seconds_count{result=\"success\"}", ["slow.test": 12, "flaky.test": 300]),
    Sum("weir_requests_in_flight", [:]),
    // What upstreams bore.
    Sum("weir_attempts_started_total", ["slow.test": 12, "flaky.test": 600, "down.test": 4]),
    Sum("weir_attempts_total{network_protocol_version=\"1.1\"}", ["slow.test": 12, "flaky.test": 600, "down.test": 4]),
    Sum(
      "http_client_request_duration_seconds_count{http_response_status_code=\"503\"}",
      ["flaky.test": 300, "down.test": 4]),
    Sum("weir_request_attempts_bucket{le=\"0.0\"}", ["unsigned.test": 7]),
    Sum("weir_request_attempts_bucket{le=\"1.0\"}", ["slow.test": 12, "down.test": 4, "unsigned.test": 7]),
    Sum("weir_request_attempts_sum", ["slow.test": 12, "flaky.test": 600, "down.test": 4]),
    Sum("http_client_active_requests", [:]),
    // Retries.
    Sum("weir_retries_total", ["flaky.test": 300]),
    Sum("weir_retries_total{reason=\"503\"}", ["flaky.test": 300]),
    Sum("weir_retries_denied_total", ["down.test": 4, "unsigned.test": 7]),
    Sum("weir_retry_delay_seconds_count{source=\"backoff\"}", ["flaky.test": 300]),
    // Adaptation.
    Sum("weir_adaptation_failures_total", ["unsigned.test": 7]),
    Sum("weir_adaptation_failures_total{adapter=\"Signer\", reason=\"error\"}", ["unsigned.test": 7]),
    // Connections and bytes.
    Sum("weir_connections_opened_total", ["slow.test": 6, "flaky.test": 1, "down.test": 1]),
    Sum("weir_connections_reused_total", ["slow.test": 6, "flaky.test": 599, "down.test": 3]),
    Sum("http_client_open_connections{http_connection_state=\"active\"}", [:]),
    Sum("weir_response_wire_bytes_total", ["slow.test": 120, "flaky.test": 600]),
    Sum("weir_response_decoded_bytes_total", ["slow.test": 120, "flaky.test": 600]),
  ])
  func countersAreWhatWasSent(sum: Sum) async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    var values: [String: Double] = [:]
    for (labels, value) in try await prometheus.query("sum by (server_address) (\(sum.query)) != 0") {
      values[labels["server_address"] ?? ""] = value
    }
    #expect(values == sum.expected)
  }

  @Test func theRetryRatioIsOne() async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    let ratio = "sum by (server_address) (weir_retries_total) / sum by (server_address) (weir_requests_started_total)"
    #expect(try await prometheus.query("(\(ratio)) > 0") == [["server_address": "flaky.test"]: 1])
  }

  /// The buckets of weir_phase_duration_seconds around the delays that were injected.
  @Test(arguments: [
    ("slow.test", "processing", 1.0, 2.5),
    ("slow.test", "transfer", 0.5, 1.0),
    // Almost half of the requests wait until another one, with both delays, is over.
    ("slow.test", "queue", 1.0, 2.5),
    ("slow.test", "send", 0, 0.5),
    ("slow.test", "connect", 0, 0.5),
    ("flaky.test", "processing", 0, 0.5),
  ])
  func quantilesAreWhereTheDelayIs(host: String, phase: String, above: Double, upTo: Double) async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    let buckets = "weir_phase_duration_seconds_bucket{server_address=\"\(host)\", phase=\"\(phase)\"}"
    for series in [buckets, "rate(\(buckets)[1h])"] {
      let quantile = try #require(try await prometheus.value("histogram_quantile(0.99, sum by (le) (\(series)))"))
      #expect(quantile > above && quantile <= upTo, "\(series)")
    }
  }

  @Test func theWholeRequestTakesAllDelays() async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    let labels = "server_address=\"slow.test\", result=\"success\""
    let sum = try #require(try await prometheus.value("weir_request_duration_seconds_sum{\(labels)}"))
    // Seven requests of at least 1.8 s, and five of twice that.
    #expect(sum >= 7 * 1.8 + 5 * 3.6)
    let attempts = try #require(
      try await prometheus.value("sum(http_client_request_duration_seconds_sum{server_address=\"slow.test\"})"))
    #expect(attempts >= 12 * 1.8 && attempts <= sum)
  }

  @Test func increasesBeginAtZero() async throws {
    let prometheus = try await PrometheusFixture.shared.value.prometheus
    for (host, count) in PrometheusFixture.counts where host != "down.test" {
      let series = "weir_requests_started_total{server_address=\"\(host)\", http_request_method=\"GET\"}[10m]"
      #expect(try await prometheus.value("max_over_time(\(series)) - min_over_time(\(series))") == Double(count))
      #expect(try #require(try await prometheus.value("rate(\(series))")) > 0)
    }
  }

  @Test func scrapesSucceed() async throws {
    let fixture = try await PrometheusFixture.shared.value
    let prometheus = fixture.prometheus
    // One that took its whole second was kept waiting by a busy machine; any other that failed is the exporter's doing.
    #expect(try await prometheus.query("max_over_time((scrape_duration_seconds < 0.9 and up == 0)[10m:1s])") == [:])
    #expect(try #require(try await prometheus.value("avg_over_time(up[10m])")) > 0.5)
    #expect(try #require(try await prometheus.value("scrape_samples_scraped")) > 500)
    #expect(try await prometheus.value("weir_build_info{version!=\"\", libcurl!=\"\", swift!=\"\"}") == 1)
    #expect(try #require(try await prometheus.value("process_resident_memory_bytes")) > 1_000_000)
    #expect(try #require(try await prometheus.value("weir_scrapes_total{code=\"200\"}")) > 1)
    #expect(try await prometheus.value("sum(weir_metrics_series_folded_total)") == 0)
    #expect(try await prometheus.value("sum(weir_metrics_invalid_updates_total)") == 0)
    #expect(try await fixture.page("/-/healthy") == "healthy\n")
    #expect(try await fixture.page("/-/ready") == "ready\n")
  }

  @Test(.needs(.promtool)) func promtoolFindsNothingWrongWithThePage() async throws {
    let address = try await PrometheusFixture.shared.value.address
    let check = "set -o pipefail; curl -sSf http://\(address)/metrics | \(try Tool.promtool.path) check metrics"
    #expect(try await Tool.shell.run(["-c", check]) == "")
  }

  @Test(arguments: ["text/plain", "application/openmetrics-text"])
  func thePageIsWhatTheScraperAsksFor(type: String) async throws {
    let address = try await PrometheusFixture.shared.value.address
    let head = try await Tool.curl.run([
      "-sSf", "-o", "/dev/null", "-D", "-", "-H", "Accept: \(type)", "http://\(address)/metrics",
    ])
    #expect(head.lowercased().contains("content-type: \(type);"), "\(head)")
  }
}
