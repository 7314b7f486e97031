import Foundation
import Testing
import WeirTestSupport

/// The gateway's rate limit beside nginx's `limit_req` and Envoy's local rate limit, which get the same arrivals.
@Suite(.needs(.shippedWeir, .nginx), .serialized, .timeLimit(.minutes(5))) struct LimitPeersTests {
  private static let rate = 200, burst = 50

  /// Random arrivals at five times the rate, then none for a second, and then as before.
  private static let arrivals: [Double] = {
    var random = SeededRandom(seed: 7)
    var times: [Double] = []
    for begin in [0.2, 3.2] {
      var time = begin
      while time < begin + 2 {
        times.append(time)
        time -= log(Double.random(in: 0.000_001...1, using: &random)) / Double(rate * 5)
      }
    }
    return times
  }()

  @Test func theyAdmitTheSame() async throws {
    let directory = try TemporaryDirectory()
    let config = try directory.file(
      "weir.yml",
      """
      routes:
        - name: all
          respond: { status: 200, body: ok }
          rateLimits: [{ name: all, rate: \(Self.rate)/s, burst: \(Self.burst), key: route }]

      """)
    let weir = try await WeirProgram(["--config.file=\(config)"], program: .shippedWeir)
    // nginx admits one more than its burst.
    let nginx = try await NginxServer(
      .init(
        "limited",
        """
        keepalive_requests 1000000;
        location / { limit_req zone=all burst=\(Self.burst - 1) nodelay; limit_req_status 429; }
        """, beside: "limit_req_zone $server_port zone=all:1m rate=\(Self.rate)r/s;"))
    try nginx.write("ok", toFile: "ok")
    let envoyPort = LoopbackPort.free()
    let envoy = try Peer(
      .envoy,
      [
        "-c", try directory.file("envoy.json", Self.envoyConfig(envoyPort)), "--concurrency", "1",
        "--disable-hot-restart", "--log-level", "warn",
      ])
    try await envoy.waitForPort(envoyPort)

    let request = "GET /ok HTTP/1.1\r\nHost: all\r\n\r\n"
    var load = PacedLoad([weir.port, nginx.port("limited"), envoyPort], request: request)
    let answers = try load.run(Self.arrivals)
    let names = ["weir", "nginx", "Envoy"]
    for (name, answers) in zip(names, answers) {
      #expect(Set(answers.map(\.status)) == [200, 429], "\(name)")
    }
    let (weirs, others) = (answers[0], [("nginx", answers[1]), ("Envoy", answers[2])])
    for (name, answers) in others {
      try Self.compare(weirs, answers, with: name)
    }
    withExtendedLifetime((weir, nginx, envoy)) {}
  }

  private static func compare(_ weirs: [PacedLoad.Answer], _ others: [PacedLoad.Answer], with name: String) throws {
    let (own, other) = (admitted(weirs), admitted(others))
    let all = Double(own.reduce(0, +)), otherAll = Double(other.reduce(0, +))
    print("weir \(own), \(name) \(other)")
    #expect(abs(all - otherAll) <= 0.01 * otherAll + 1, "weir admits \(all) in all, \(name) \(otherAll)")
    // Arrivals are decided about a little later than they are sent, at a time between that and the answer.
    let delay = (weirs + others).map { $0.came - $0.sent }.max() ?? 0
    for second in own.indices {
      let explained = 0.01 * Double(other[second]) + 1 + delay * Double(rate)
      #expect(
        abs(Double(own[second] - other[second])) <= explained,
        "weir admits \(own[second]) in second \(second), \(name) \(other[second]); delays are \(delay) s")
    }
  }

  /// The requests that were admitted in each second.
  private static func admitted(_ answers: [PacedLoad.Answer]) -> [Int] {
    var counts = Array(repeating: 0, count: 6)
    for answer in answers where answer.status == 200 { counts[min(counts.count - 1, Int(answer.sent))] += 1 }
    return counts
  }

  private static func envoyConfig(_ port: Int) -> String {
    """
    {"static_resources": {"listeners": [{"name": "all",
      "address": {"socket_address": {"address": "127.0.0.1", "port_value": \(port)}},
      "filter_chains": [{"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "all",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
          {"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": "ok"}}}]}]},
        "http_filters": [
          {"name": "envoy.filters.http.local_ratelimit", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "all",
            "token_bucket": {"max_tokens": \(burst), "tokens_per_fill": \(rate / 20), "fill_interval": "0.05s"},
            "filter_enabled": {"default_value": {"numerator": 100}},
            "filter_enforced": {"default_value": {"numerator": 100}}}},
          {"name": "envoy.filters.http.router", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}]}]}]}}
    """
  }
}
