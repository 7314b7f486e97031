import Testing
import Weir
import WeirExporter
import WeirTestSupport

/// An exporter, a Prometheus that scrapes it, and traffic whose every request and delay is known.
///
/// | host | requests | what its server does |
/// |---|---|---|
/// | slow.test | 12 GET, 6 at a time | waits 1.2 s, sends half a body, waits 0.6 s, sends the rest |
/// | flaky.test | 300 GET, one by one | answers 503 and 200 by turns |
/// | down.test | 4 POST | answers 503 |
/// | unsigned.test | 7 GET | is never asked: an adapter fails |
struct PrometheusFixture {
  static let shared = Task { try await PrometheusFixture() }

  let exporter: Exporter
  let prometheus: PrometheusServer
  private let session: Session
  private let servers: [ScriptedServer]

  static let hosts = ["slow.test", "flaky.test", "down.test", "unsigned.test"]
  static let counts = ["slow.test": 12, "flaky.test": 300, "down.test": 4, "unsigned.test": 7]

  /// Fails requests to the host for which it has no key.
  private struct Signer: RequestAdapter {
    struct NoKey: Error {}

    func adapt(
      _ urlRequest: URLRequest, for session: Session,
      completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
      completion(urlRequest.url?.host() == "unsigned.test" ? .failure(NoKey()) : .success(urlRequest))
    }
  }

  init() async throws {
    let port = LoopbackPort.free()
    exporter = try Exporter(listenAddress: "127.0.0.1:\(port)").start()
    let monitor = try MetricsMonitor(registry: exporter.registry)
    prometheus = try await PrometheusServer(
      scraping: [port], rules: PrometheusServer.shippedRules)
    servers = try Self.makeServers()
    var configuration = SessionConfiguration()
    configuration.httpMaximumConnectionsPerHost = 6
    configuration.timeoutIntervalForResource = 60
    // As many retries as there are failures: it is they that are looked at.
    configuration.retryBudget = nil
    configuration.resolveOverrides = zip(Self.hosts, servers).map {
      .init(host: $0, port: $1.port, addresses: ["127.0.0.1"])
    }
    session = Session(
      configuration: configuration,
      interceptor: Interceptor(adapters: [Signer()], retriers: [RetryPolicy(exponentialBackoffScale: 0)]),
      eventMonitors: [monitor])

    // Series at zero are scraped first, so that what follows is an increase.
    for (host, server) in zip(Self.hosts, servers) {
      monitor.prepare(Destination(scheme: "http", host: host, port: server.port))
    }
    try await wait(until: "count(weir_requests_started_total{server_address=~\".*.test\"}) == 4")
    // What is on the page once it has happened begins above zero: a little of each first.
    await sendAll(1, 1, 1, 2)
    try await wait(until: "sum(weir_requests_total) == 5")
    await sendAll(11, 299, 3, 5)
    try await wait(until: "sum(weir_requests_total) == \(Self.counts.values.reduce(0, +))")
    // The rules have seen all of it, too.
    try await wait(until: "sum(rate(weir_requests_total[1m])) > 0")
    try await wait(until: "job_destination:weir_retry_demand:ratio_rate2m{server_address=\"flaky.test\"} > 0.5")
    try await wait(until: "job_destination_adapter:weir_adaptation_failures:ratio_rate5m > 0.01")
  }

  private func wait(until expression: String) async throws {
    try await eventually(expression) { try await prometheus.value(expression) != nil }
  }

  var address: String { exporter.address ?? "" }

  /// A page of the exporter, as curl gets it.
  func page(_ path: String) async throws -> String {
    try await Tool.curl.run(["-sSf", "http://\(address)\(path)"])
  }

  private static func makeServers() throws -> [ScriptedServer] {
    let unavailable = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf "
    return [
      try ScriptedServer(Script(.forever([.head, .sleep(1.2), .send(half), .sleep(0.6), .send("whole")]))),
      try ScriptedServer(Script(.forever([.head, .send(unavailable), .head, .send(okResponse("ok"))]))),
      try ScriptedServer(.answering(unavailable)),
      try ScriptedServer(.answering(unavailable)),
    ]
  }

  /// How often to each host.
  private func sendAll(_ slow: Int, _ flaky: Int, _ down: Int, _ unsigned: Int) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await send(0, times: slow, atOnce: slow) }
      // One by one: each answer's turn on the connection decides what it is.
      group.addTask { await send(1, times: flaky) }
      group.addTask { await send(2, times: down, .post) }
      group.addTask { await send(3, times: unsigned) }
    }
  }

  private func send(_ index: Int, times: Int, atOnce: Int = 1, _ method: HTTPMethod = .get) async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<times {
        if number >= atOnce { await group.next() }
        group.addTask { await send(to: index, method) }
      }
    }
  }

  private func send(to index: Int, _ method: HTTPMethod) async {
    let response = await session.request("http://\(Self.hosts[index]):\(servers[index].port)/", method: method)
      .validate().serializingString().response
    switch index {
    case 0: #expect(response.value == "half whole", "\(response)")
    case 1: #expect(response.value == "ok", "\(response)")
    case 2: #expect(response.error?.responseCode == 503, "\(response)")
    default: #expect(response.error?.isRequestAdaptationError == true, "\(response)")
    }
  }
}
