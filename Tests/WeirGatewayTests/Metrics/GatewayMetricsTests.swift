import Foundation
import Synchronization
import Testing
import Weir
import WeirExporter
import WeirHTTP
import WeirIO
import WeirMetrics

@testable import WeirGateway

@Suite struct GatewayMetricsTests {
  private let registry = Registry(ownMetrics: false)

  /// A route that leads nowhere.
  private func route(_ name: String) -> Route { Route(name: name, action: .respond(RouteResponse(status: 204))) }

  private func routes(_ names: String...) -> [Route] { names.map { route($0) } }

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
    try GatewayMetrics(registry).prepare(routes("a"))
    let text = registry.text()
    for outcome in GatewayOutcome.ofRoutes {
      #expect(text.contains("weir_gateway_requests_total{route=\"a\",outcome=\"\(outcome.label)\"} 0\n"))
    }
    #expect(text.contains("weir_gateway_requests_total{route=\"\",outcome=\"no_route\"} 0\n"))
    #expect(text.contains("weir_retried_requests_received_total{route=\"a\"} 0\n"))
  }

  @Test func asManyRoutesAsThereCanBeHaveSeries() throws {
    let metrics = try GatewayMetrics(registry)
    for reload in 0..<2 { metrics.prepare((0..<1000).map { route("\(reload)-\($0)") }) }
    let text = registry.text()
    for outcome in GatewayOutcome.ofRoutes {
      #expect(text.contains("weir_gateway_requests_total{route=\"1-999\",outcome=\"\(outcome.label)\"} 0\n"))
    }
    #expect(!text.contains("_other"))
  }

  /// Whatever statuses one upstream makes up, and methods its callers.
  @Test func aRouteOfManyStatusesTakesNoSeriesOfOthers() throws {
    let metrics = try GatewayMetrics(registry)
    let routes = ["liar"] + (0..<20).map { "r\($0)" }
    metrics.prepare(routes.map { route($0) })
    var cache = SeriesCache(metrics, routes: routes)
    func ended(_ route: Int, _ method: KnownMethod, _ status: Int) {
      let key = SeriesCache.Key(
        route: route, method: method, isHTTP10: status.isMultiple(of: 2), status: status,
        outcome: .forwarded(status < 400 ? .success : .httpError))
      cache.series(key).duration.observe(1)
    }
    for status in 200...999 {
      for method in KnownMethod.allCases { ended(0, method, status) }
    }
    for route in 1...20 {
      for status in [200, 404, 503] { ended(route, .get, status) }
    }
    let lines = registry.text().split(separator: "\n").filter {
      $0.hasPrefix("http_server_request_duration_seconds_count{")
    }
    let ofLiar = lines.filter { $0.contains("http_route=\"liar\"") }
    #expect(ofLiar.count > 100 && ofLiar.count <= 130)
    let folded =
      "http_route=\"liar\",http_response_status_code=\"5xx\",error_type=\"5xx\",network_protocol_version=\"_other\"} "
    #expect(ofLiar.contains { $0.hasSuffix(folded + "\(100 * KnownMethod.allCases.count)") })
    for route in routes.dropFirst() {
      #expect(lines.filter { $0.contains("http_route=\"\(route)\"") }.count == 3)
    }
    #expect(!lines.contains { $0.contains("http_route=\"_other\"") })
  }

  /// Names may change for ever; those that come back in time go on counting.
  @Test func routesThatAreGoneLeaveThePage() throws {
    let metrics = try GatewayMetrics(registry)
    let start = MonotonicTime.now
    func after(_ seconds: Double) -> MonotonicTime { start.advanced(bySeconds: seconds) }
    metrics.prepare(routes("a", "b", "c"), at: start)
    var cache = SeriesCache(metrics, routes: ["a", "b", "c"])
    for route in 0..<3 {
      let key = SeriesCache.Key(route: route, method: .get, isHTTP10: false, status: 200, outcome: .forwarded(.success))
      cache.series(key).count.increment()
      cache.series(key).duration.observe(1)
    }
    let before = registry.text()
    metrics.prepare(routes("a"), at: after(1))
    metrics.dropWhatIsGone(at: after(500))
    // Only what says where routes lead goes at once.
    let gone = ["b", "c"].map { "weir_route_info{route=\"\($0)\",server_address=\"\",server_port=\"\"} 1\n" }
    #expect(registry.text() == gone.reduce(before) { $0.replacing($1, with: "") })
    metrics.prepare(routes("a", "c"), at: after(501))
    metrics.dropWhatIsGone(at: after(602))
    let text = registry.text()
    #expect(!text.contains("route=\"b\""))
    for route in ["a", "c"] {
      #expect(text.contains("weir_gateway_requests_total{route=\"\(route)\",outcome=\"success\"} 1\n"))
      #expect(text.contains("http_route=\"\(route)\""))
    }
    // One under way that ends later is dropped after the same time.
    var late = SeriesCache(metrics, routes: ["b"])
    _ = late.series(
      SeriesCache.Key(route: 0, method: .get, isHTTP10: false, status: 0, outcome: .forwarded(.cancelled)))
    #expect(registry.text().contains("route=\"b\""))
    metrics.dropWhatIsGone(at: MonotonicTime.now.advanced(bySeconds: 601))
    #expect(!registry.text().contains("route=\"b\""))
  }

  /// Only routes that code bodies count them, in their directions, and as long as they are there.
  @Test func countsBytesThatAreCoded() throws {
    let metrics = try GatewayMetrics(registry)
    let start = MonotonicTime.now
    var (a, b) = (route("a"), route("b"))
    (a.compression, b.compression) = (CompressionRules(), CompressionRules())
    a.compression?.compressesResponses = true
    b.compression?.decodesResponses = true
    b.compression?.decodesRequests = true
    metrics.prepare([a, b, route("c")], at: start)
    let bytes = try #require(metrics.series(of: b).coded)
    bytes.count(.response, before: 100, after: 30, isCoded: true)
    bytes.count(.response, before: 5, after: 5, isCoded: false)
    bytes.count(.request, before: 7, after: 70, isCoded: true)
    metrics.series(of: a).coded?.count(.request, before: 1, after: 1, isCoded: true)
    #expect(metrics.series(of: route("c")).coded == nil)
    func samples() -> [String] {
      registry.text().split(separator: "\n").filter { $0.hasPrefix("weir_gateway_coded_bytes_total{") }.map(String.init)
        .sorted()
    }
    let ofA = ["after", "before", "uncoded"].map {
      "weir_gateway_coded_bytes_total{route=\"a\",direction=\"response\",stage=\"\($0)\"} 0"
    }
    let ofB = [
      ("request", "after", 70), ("request", "before", 7), ("response", "after", 30), ("response", "before", 100),
      ("response", "uncoded", 5),
    ].map { "weir_gateway_coded_bytes_total{route=\"b\",direction=\"\($0)\",stage=\"\($1)\"} \($2)" }
    #expect(samples() == ofA + ofB)
    metrics.prepare([a], at: start)
    metrics.dropWhatIsGone(at: start.advanced(bySeconds: 600))
    #expect(samples() == ofA)
  }

  @Test func upstreamsThatAreGoneLeaveThePage() throws {
    let metrics = try GatewayMetrics(registry, client: MetricsMonitor(registry: registry))
    let start = MonotonicTime.now
    let (a, b) = try (destination("a.test"), destination("b.test"))
    metrics.prepare([], upstreams: [a: .all, b: .all], at: start)
    metrics.prepare([], upstreams: [a: .all], at: start)
    metrics.dropWhatIsGone(at: start.advanced(bySeconds: 599))
    #expect(registry.text().contains("server_address=\"b.test\""))
    metrics.dropWhatIsGone(at: start.advanced(bySeconds: 600))
    let text = registry.text()
    #expect(!text.contains("server_address=\"b.test\""))
    #expect(text.contains("weir_requests_started_total{server_address=\"a.test\",server_port=\"443\""))
    metrics.prepare([], upstreams: [b: .all], at: start.advanced(bySeconds: 700))
    #expect(registry.text().contains("weir_requests_started_total{server_address=\"b.test\""))
  }

  /// They come and go without a reload.
  @Test func authoritiesThatAreForgottenLeaveThePage() throws {
    let client = try MetricsMonitor(registry: registry)
    let metrics = try GatewayMetrics(registry, client: client)
    let start = MonotonicTime.now
    let (a, b) = try (destination("a.test"), destination("b.test"))
    let known = Mutex([a, b])
    metrics.authorities.follow { known.withLock { $0 } }
    metrics.prepare([], requested: .budget, at: start)
    for authority in [a, b] {
      client.destination(authority, availableRetries: 3)
      client.destination(authority, entered: CircuitState.open)
    }
    let text = registry.text()
    #expect(text.contains("weir_retry_budget_available{server_address=\"b.test\""))
    #expect(!text.contains("weir_circuit_state{"))
    known.withLock { $0 = [a] }
    metrics.dropWhatIsGone(at: start.advanced(bySeconds: 1))
    #expect(registry.text().contains("server_address=\"b.test\""))
    metrics.dropWhatIsGone(at: start.advanced(bySeconds: 601))
    #expect(!registry.text().contains("server_address=\"b.test\""))
    #expect(registry.text().contains("server_address=\"a.test\""))
  }

  @Test func allInstancesCountTheSameUpstreamsTogether() throws {
    let metrics = try GatewayMetrics(registry, client: MetricsMonitor(registry: registry, destinationLimit: 3))
    let authorities = (1...20).map { "h\($0).test" } + ["a.test:8443", "a.test", "a.test:80"]
    let upstreams = try authorities.map { try destination($0) }
    metrics.prepare([], upstreams: Dictionary(uniqueKeysWithValues: upstreams.map { ($0, .all) }))
    let shown = registry.text().matches(of: /weir_requests_started_total\{server_address="(.*?)",server_port="(.*?)"/)
      .map { "\($0.1):\($0.2)" }
    #expect(Set(shown) == ["a.test:80", "a.test:443", "a.test:8443", "_other:_other"])
  }

  /// An upstream that is reached by another scheme at the same port is the same one on the page.
  @Test func aSchemeMayChangeAndChangeBack() throws {
    let client = try MetricsMonitor(registry: registry)
    let metrics = try GatewayMetrics(registry, client: client)
    let start = MonotonicTime.now
    let (plain, secure) = try (destination("a.test:8443", scheme: "http"), destination("a.test:8443"))
    for (seconds, upstream) in [(0.0, plain), (60, secure), (180, plain)] {
      metrics.prepare([], upstreams: [upstream: .all], at: start.advanced(bySeconds: seconds))
    }
    metrics.dropWhatIsGone(at: start.advanced(bySeconds: 1000))
    #expect(registry.text().contains("weir_requests_started_total{server_address=\"a.test\",server_port=\"8443\""))
  }

  private func destination(_ authority: String, scheme: String = "https") throws -> Destination {
    try #require(URL(string: "\(scheme)://\(authority)/").flatMap { Destination(url: $0) })
  }

  @Test func tellsOfReloads() throws {
    let metrics = try GatewayMetrics(registry)
    metrics.configurationLoaded(at: Timestamp(milliseconds: 1_700_000_000_250))
    #expect(registry.text().contains("weir_config_last_reload_successful 1\n"))
    metrics.configurationRefused()
    let text = registry.text()
    #expect(text.contains("weir_config_last_reload_successful 0\n"))
    #expect(text.contains("weir_config_last_reload_success_timestamp_seconds 1700000000.25\n"))
  }

  @Test(arguments: [
    ("GET", KnownMethod.get), ("QUERY", .query), ("Query", .other), ("get", .other), ("PROPFIND", .other),
    ("_OTHER", .other),
  ])
  func boundsMethods(name: String, expected: KnownMethod) {
    #expect(KnownMethod(name) == expected)
  }
}
