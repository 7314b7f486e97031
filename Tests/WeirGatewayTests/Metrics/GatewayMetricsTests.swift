import Testing
import Weir
import WeirMetrics

@testable import WeirGateway

@Suite struct GatewayMetricsTests {
  private let registry = Registry(ownMetrics: false)

  @Test func showsARequest() throws {
    let metrics = try GatewayMetrics(registry)
    var cache = SeriesCache(metrics, routes: ["a", "b"])
    let key = SeriesCache.Key(
      route: 1, method: .get, isHTTP10: false, status: 502, outcome: .forwarded(.transportError))
    for _ in 0..<2 {
      let series = cache.series(key)
      series.duration.observe(0.02)
      series.count.increment()
    }
    cache.active(.other).increment()
    let text = registry.text()
    let labels = """
      http_request_method="GET",url_scheme="http",http_route="b",http_response_status_code="502",\
      error_type="transport_error",network_protocol_version="1.1"
      """
    #expect(text.contains("http_server_request_duration_seconds_count{\(labels)} 2\n"))
    #expect(text.contains("weir_gateway_requests_total{route=\"b\",outcome=\"transport_error\"} 2\n"))
    #expect(text.contains("http_server_active_requests{http_request_method=\"_OTHER\",url_scheme=\"http\"} 1\n"))
  }

  @Test func countersBeginAtZero() throws {
    try GatewayMetrics(registry).prepare(routes: ["a"])
    let text = registry.text()
    for outcome in GatewayOutcome.ofRoutes {
      #expect(text.contains("weir_gateway_requests_total{route=\"a\",outcome=\"\(outcome.label)\"} 0\n"))
    }
    #expect(text.contains("weir_gateway_requests_total{route=\"\",outcome=\"no_route\"} 0\n"))
  }

  @Test func tellsOfReloads() throws {
    let metrics = try GatewayMetrics(registry)
    metrics.configurationLoaded(at: LogTime(milliseconds: 1_700_000_000_250))
    #expect(registry.text().contains("weir_config_last_reload_successful 1\n"))
    metrics.configurationRefused()
    let text = registry.text()
    #expect(text.contains("weir_config_last_reload_successful 0\n"))
    #expect(text.contains("weir_config_last_reload_success_timestamp_seconds 1700000000.25\n"))
  }

  @Test(arguments: [("GET", KnownMethod.get), ("get", .other), ("PROPFIND", .other), ("_OTHER", .other)])
  func boundsMethods(name: String, expected: KnownMethod) {
    #expect(KnownMethod(name) == expected)
  }
}
