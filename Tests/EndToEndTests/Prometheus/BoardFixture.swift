import FoundationNetworking
import Testing
import Weir
import WeirExporter
import WeirTestSupport

/// A service that embeds weir, a gateway, and a Prometheus that scrapes both as one job, after all that the dashboards
/// show has happened in at least two waves: series that begin above zero are no increase.
struct BoardFixture {
  static let shared = Task { try await BoardFixture() }

  let prometheus: PrometheusServer
  /// When everything had been counted.
  let time: Double
  /// The `instance` of the service.
  let service: String
  /// The `instance` of the gateway.
  let gateway: String
  /// The `server_port` of ``host``.
  let port: String

  /// The destination to which everything happens.
  static let host = "everything.test"
  /// The gateway's upstream that has endpoints, and its route.
  static let pool = "pool"

  private let exporter: Exporter
  private let weir: WeirProgram
  private let client: Session
  private let caller: Session
  private let upstream: ScriptedServer
  private let directory: TemporaryDirectory

  init() async throws {
    upstream = try ScriptedServer(Script(.forever([.dispatch(Self.answer)])))
    directory = try TemporaryDirectory()
    exporter = try Exporter(listenAddress: "127.0.0.1:\(LoopbackPort.free())").start()
    client = try Self.client(measuredBy: MetricsMonitor(registry: exporter.registry), port: upstream.port)
    caller = Session(configuration: SessionConfiguration())
    weir = try await WeirProgram([
      "--config.file=\(try Self.configuration(in: directory, port: upstream.port))", "--log.level=error",
    ])
    let servicePort = Int((exporter.address ?? "").split(separator: ":").last ?? "") ?? 0
    service = "127.0.0.1:\(servicePort)"
    gateway = "127.0.0.1:\(weir.metricsPort)"
    port = String(upstream.port)
    prometheus = try await PrometheusServer(
      scraping: [servicePort, weir.metricsPort],
      rules: PrometheusServer.shippedRules + [try directory.file("alert.yml", Self.alert)])
    let traffic = Traffic(client: client, caller: caller, weir: weir, port: upstream.port)
    time = try await Self.count(traffic, with: prometheus)
  }

  /// Sends wave after wave, each of which is scraped before the next one, until all is counted. Returns when that was.
  private static func count(_ traffic: Traffic, with prometheus: PrometheusServer) async throws -> Double {
    var waves = 0
    return try await eventually("all has been counted", within: 60) {
      try await traffic.send()
      waves += 1
      let seen = """
        sum(weir_requests_total{server_address="\(host)"}) >= \(waves * Traffic.requests)
          and sum(weir_gateway_requests_total{route="dead"}) >= \(waves * Traffic.deadRequests)
        """
      try await eventually(seen) { try await prometheus.value(seen) != nil }
      // At one time, as a token that is not used any more soon has no expiry.
      guard let time = try await prometheus.value("vector(time())") else { return nil }
      for expression in counted where try await prometheus.query(expression, at: time).isEmpty { return nil }
      return time
    }
  }

  /// What is counted last: by rules, of series that came with the traffic.
  private static let counted = [
    "job_destination:weir_request_failures:ratio_rate6h{server_address=\"\(host)\"} > 0",
    "job_destination:weir_request_duration_seconds:p99_rate10m{server_address=\"\(host)\"} > 0",
    "job_destination_operation:http_client_request_duration_seconds:p99_rate5m{server_address=\"\(host)\"} > 0",
    "job_destination:weir_connect_seconds:p99_rate5m{server_address=\"\(host)\"} > 0",
    "job_destination:weir_retry_demand:ratio_rate2m{server_address=\"\(host)\"} > 0",
    "job_destination_adapter:weir_adaptation_failures:ratio_rate5m{server_address=\"\(host)\"} > 0",
    "rate(weir_adaptation_failures_total{adapter=\"locked\", reason=\"invalid_client\"}[5m]) > 0",
    "rate(weir_auth_refreshes_total{interceptor=\"locked\", outcome=\"failure\"}[5m]) > 0",
    "rate(weir_auth_refreshes_total{interceptor=\"vault\", outcome=\"success\"}[5m]) > 0",
    "weir_credential_expires_timestamp_seconds{credential=\"vault\"} > 0",
    "sum(job_destination:weir_requests_settled:increase10m{server_address=\"\(pool)\"})"
      + " > sum(job_destination:weir_requests_failed:increase10m{server_address=\"\(pool)\"})",
    "job_route:weir_gateway_requests_failed:increase10m{route=\"shop\"} > 0",
    "job_route:weir_gateway_requests_failed:increase10m{route=\"dead\"} > 0",
    "job_route:weir_retried_requests_received:increase10m > 0",
    "weir_circuit_state{server_address=\"127.0.0.1\", state=\"open\"} == 1",
    "rate(http_server_request_duration_seconds_count{error_type=\"transport_error\"}[5m]) > 0",
    "rate(http_server_request_duration_seconds_count{error_type=\"rejected\"}[5m]) > 0",
    "rate(weir_cache_requests_total[5m]) > 0", "rate(weir_hedges_total{result=\"lost\"}[5m]) > 0",
    "rate(weir_gateway_requests_abandoned_total{route=\"shop\"}[5m]) > 0",
    "rate(weir_endpoint_attempts_total{upstream=\"\(pool)\", result=\"success\"}[5m]) > 0",
    "rate(weir_endpoint_attempts_total{upstream=\"\(pool)\", result=\"failure\"}[5m]) > 0",
    "weir_endpoint_ewma_seconds{upstream=\"\(pool)\"} > 0",
    "rate(weir_upstream_discoveries_total{upstream=\"\(pool)\", result=\"failed\"}[5m]) >= 0",
    "job_destination:weir_requests_abandoned:ratio_rate2m > 0",
    "job_destination:weir_responses_limited:ratio_rate2m > 0",
    "weir_baseline_seconds{server_address=\"\(host)\"}",
    "weir_concurrency_limit{server_address=\"\(host)\"}", "weir_retry_budget_available{server_address=\"\(host)\"}",
    "ALERTS{alertstate=\"firing\", server_address=\"\(host)\"}",
  ]

  /// Fires at once for each destination; those that are shipped take their time.
  private static let alert = """
    groups:
      - name: fixture
        rules:
          - alert: WeirOfTheFixture
            expr: job_destination:weir_requests_started:rate2m >= 0
            labels: {severity: ticket}

    """

  // MARK: The parts

  private static func answer(_ requestLine: String) -> [Script.Step] {
    switch requestLine.split(separator: " ").dropFirst().first?.split(separator: "/").last {
    case "limited": [.send("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")]
    case "fail": [.send("HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n")]
    case "moved": [.send("HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n")]
    case "token": [.send(okResponse(#"{"access_token": "a", "token_type": "Bearer", "expires_in": 2}"#))]
    case "no-token":
      [.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 27\r\n\r\n" + #"{"error": "invalid_client"}"#)]
    case "slow": [.sleep(0.3), .send(okResponse("slow"))]
    case "last": [.send(okResponse("last", "Connection: close\r\n")), .close]
    default: [.send(okResponse("ok"))]
    }
  }

  /// Has no key for one path.
  private struct Signer: RequestAdapter {
    struct NoKey: Error {}

    func adapt(
      _ urlRequest: URLRequest, for session: Session,
      completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
      completion(urlRequest.url?.path == "/unsigned" ? .failure(NoKey()) : .success(urlRequest))
    }
  }

  /// With all that is off by default.
  private static func client(measuredBy monitor: MetricsMonitor, port: Int) -> Session {
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForResource = 20
    // Grants some of the retries that are wanted, in each wave, and denies others.
    configuration.retryBudget = RetryBudget(ratio: 0.1, minimumPerSecond: 0, burst: 0, window: 60)
    configuration.circuitBreaker = CircuitBreaker(failureRatio: 1)
    configuration.overload = .default
    configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    configuration.resolveOverrides = [.init(host: host, port: port, addresses: ["127.0.0.1"])]
    return Session(
      configuration: configuration,
      interceptor: Interceptor(
        adapters: [Signer()], retriers: [RetryPolicy(retryLimit: 9, exponentialBackoffScale: 0)]),
      eventMonitors: [monitor])
  }

  /// The pool's endpoint is in a file, so that it is discovered.
  private static func configuration(in directory: TemporaryDirectory, port: Int) throws -> String {
    let endpoints = try directory.file("pool.json", "[{\"targets\": [\"127.0.0.1:\(port)\"]}]")
    return try directory.file("weir.yml", routes(to: port, endpoints: endpoints))
  }

  private static func routes(to port: Int, endpoints: String) -> String {
    """
    upstreams:
      - name: \(pool)
        file: \(endpoints)
    accessLog: { to: /dev/null }
    credentials:
      - name: vault
        oauth2: {tokenURL: "http://127.0.0.1:\(port)/token", clientID: board, clientSecret: secret}
      - name: locked
        oauth2: {tokenURL: "http://127.0.0.1:\(port)/no-token", clientID: board, clientSecret: secret}
    routes:
      - name: vault
        match: {pathPrefix: /vault}
        upstream: http://127.0.0.1:\(port)
        credential: vault
      - name: locked
        match: {pathPrefix: /locked}
        upstream: http://127.0.0.1:\(port)
        credential: locked
      - name: pool
        match: {pathPrefix: /pool}
        upstream: \(pool)
      - name: shop
        match: {pathPrefix: /shop}
        upstream: http://127.0.0.1:\(port)
        retry: {limit: 1, statusCodes: [503]}
        rateLimits: [{name: all, rate: 1000000/s}, {name: trial, rate: 1000000/s, enforce: false}]
      - name: dead
        match: {pathPrefix: /dead}
        upstream: http://127.0.0.1:\(LoopbackPort.free())
        circuitBreaker: {minimumRequests: 9, window: 60s}

    """
  }
}

/// A wave of requests, of each kind at least one.
private struct Traffic {
  let client: Session
  /// Is not measured.
  let caller: Session
  let weir: WeirProgram
  let port: Int

  /// How many go to ``BoardFixture/host``, and what becomes of each kind is in its path.
  static let paths = [("ok", 30), ("fail", 6), ("moved", 2), ("unsigned", 2), ("last", 1)]
  /// With one that is hedged and one POST.
  static let requests = paths.map(\.1).reduce(2, +)
  /// How many go to a route whose upstream isn't there: 502, and 503 as soon as its circuit is open.
  static let deadRequests = 6

  func send() async throws {
    let base = "http://\(BoardFixture.host):\(port)"
    for (path, times) in Self.paths {
      for _ in 0..<times {
        let request = client.request("\(base)/\(path)").operation("GET /\(path)")
        _ = await request.validate().serializingData().response
      }
      // While the retry budget has something left, as it has after what went well.
      if path == "ok" {
        let slow = client.request("\(base)/slow").hedge(after: .seconds(0.05))
        #expect(await slow.serializingString().response.value == "slow")
      }
    }
    let body = URLEncodedFormParameterEncoder.default
    let post = client.request("\(base)/ok", method: .post, parameters: ["a": "b"], encoder: body)
    #expect(await post.serializingString().response.value == "ok")

    let answers = [
      ("shop/ok", 200), ("shop/fail", 503), ("shop/limited", 429), ("nowhere", 404), ("pool/ok", 200),
      ("pool/fail", 503), ("vault/ok", 200), ("locked/ok", 503),
    ]
    for (path, status) in answers {
      let response = await caller.request(weir.url("/\(path)")).serializingData().response.response
      #expect(response?.statusCode == status, "\(path)")
    }
    for _ in 0..<Self.deadRequests { _ = await caller.request(weir.url("/dead")).serializingData().response }
    let impatient = caller.request(weir.url("/shop/slow"), requestModifier: { $0.timeoutInterval = 0.1 })
    #expect(await impatient.serializingData().response.response == nil)
    let retried = HTTPHeaders(["X-Retry-Attempt": "1"])
    _ = await caller.request(weir.url("/shop/ok"), headers: retried).serializingData().response
  }
}
