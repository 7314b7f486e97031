import Foundation
import Testing
import WeirTestSupport

/// Four clients that ask for far more than their rate.
@Suite(.needs(.shippedWeir, .nginx, .wrk), .serialized, .timeLimit(.minutes(5))) struct LimitLoadTests {
  private static let rate = 100, burst = 50, clients = 4

  /// What wrk counted.
  private struct Counts {
    let admitted: Int
    let limited: Int
    /// Answers 429 without a Retry-After of 1 or more, and all other answers.
    let wrong: Int
    /// From the first answer of each client to its last one, of all clients together.
    let seconds: Double

    /// The requests that the limits have room for.
    var room: Double { Double(clients * burst) + Double(rate) * seconds }
  }

  private let origin: NginxServer
  private let weir: Peer
  private let port = LoopbackPort.free(), metricsPort = LoopbackPort.free()
  private let directory: TemporaryDirectory

  init() async throws {
    origin = try await NginxServer(config: "location / { return 200 ok; }")
    directory = try TemporaryDirectory()
    let config = try directory.file("weir.yml", Self.config(port, origin.port()))
    weir = try Peer(
      .shippedWeir,
      ["serve", "--config.file=\(config)", "--gateway.workers=2", "--web.listen-address=127.0.0.1:\(metricsPort)"])
    try await weir.waitForPort(port)
    try await weir.waitForPort(metricsPort)
  }

  private static func config(_ port: Int, _ origin: Int) -> String {
    let route = """
      upstream: "http://127.0.0.1:\(origin)", circuitBreaker: {minimumRequests: 1},
          retry: {limit: 2, statusCodes: [429, 503]}
      """
    return """
      listeners: [{name: l, address: "127.0.0.1:\(port)", trustedProxies: [127.0.0.1]}]
      routes:
        - {name: limited, match: {pathPrefix: /limited}, \(route),
          rateLimits: [{name: clients, rate: \(Self.rate)/s, burst: \(Self.burst)}]}
        - {name: counted, match: {pathPrefix: /counted}, \(route),
          rateLimits: [{name: clients, rate: \(Self.rate)/s, burst: \(Self.burst), enforce: false}]}

      """
  }

  /// Runs wrk with one thread for each client.
  private func load(_ path: String, seconds: Int) async throws -> Counts {
    let script = try directory.file("load.lua", Self.script)
    let output = try await Tool.wrk.run([
      "-t\(Self.clients)", "-c\(2 * Self.clients)", "-d\(seconds)s", "-s", script, "http://127.0.0.1:\(port)\(path)",
    ])
    let line = output.split(separator: "\n").last { $0.hasPrefix("counts ") } ?? ""
    let numbers = line.split(separator: " ").dropFirst().compactMap { Int($0) }
    try #require(numbers.count == 4, "\(output)")
    return Counts(
      admitted: numbers[0], limited: numbers[1], wrong: numbers[2], seconds: Double(numbers[3]) / 1_000_000)
  }

  private func metrics() async throws -> String {
    try await Tool.curl.run(["-sSf", "--max-time", "60", "http://127.0.0.1:\(metricsPort)/metrics"])
  }

  private func value(_ series: String, in page: String) -> Double? {
    page.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  @Test func theRateHoldsExactly() async throws {
    let counts = try await load("/limited", seconds: 4)
    print("\(counts.admitted) of \(counts.room) admitted, \(counts.limited) refused")
    #expect(counts.wrong == 0)
    #expect(abs(Double(counts.admitted) - counts.room) <= 0.01 * counts.room + Double(Self.clients))
    #expect(counts.limited > 4 * counts.admitted)
    let page = try await metrics()
    #expect(value("weir_gateway_requests_failed_total{route=\"limited\"}", in: page) == 0)
    let refused = value("weir_gateway_requests_total{route=\"limited\",outcome=\"rate_limited\"}", in: page)
    #expect(refused.map { Int($0) >= counts.limited } == true)
    #expect(
      refused == value("weir_gateway_limited_total{route=\"limited\",limit=\"clients\",enforced=\"true\"}", in: page))
    // Nothing was retried or denied, no request failed, and the circuit is as it was.
    for name in ["weir_retries_total{", "weir_retries_denied_total{", "weir_circuit_rejections_total{"] {
      let lines = page.split(separator: "\n").filter { $0.hasPrefix(name) && !$0.hasSuffix(" 0") }
      #expect(lines.isEmpty, "\(lines)")
    }
    let closed = page.split(separator: "\n").filter { $0.hasPrefix("weir_circuit_state{") && $0.contains("closed") }
    #expect(!closed.isEmpty && closed.allSatisfy { $0.hasSuffix(" 1") }, "\(closed)")
  }

  @Test func withoutEnforcementItCountsTheSame() async throws {
    let counts = try await load("/counted", seconds: 3)
    #expect(counts.wrong == 0)
    #expect(counts.limited == 0)
    let page = try await metrics()
    let all = value("weir_gateway_requests_total{route=\"counted\",outcome=\"success\"}", in: page) ?? 0
    let series = "weir_gateway_limited_total{route=\"counted\",limit=\"clients\",enforced=\"false\"}"
    let within = all - (value(series, in: page) ?? 0)
    print("\(within) of \(counts.room) within the limit, \(all) in all")
    #expect(abs(within - counts.room) <= 0.01 * counts.room + Double(Self.clients))
    // A sanitizer slows the gateway down to about that.
    #expect(all > 4 * within || ThisProcess.isSanitized)
  }

  private static let script = """
    local ffi = require("ffi")
    ffi.cdef[[
      typedef struct { long seconds; long nanoseconds; } monotonic_time;
      int clock_gettime(int clock, monotonic_time *time);
    ]]
    local time = ffi.new("monotonic_time")
    local function now()
      ffi.C.clock_gettime(1, time)
      return tonumber(time.seconds) * 1000000 + tonumber(time.nanoseconds) / 1000
    end
    local threads = {}
    function setup(thread)
      table.insert(threads, thread)
      thread:set("number", #threads)
    end
    function init(args)
      wrk.headers["X-Forwarded-For"] = "192.0.2." .. number
      admitted, limited, wrong = 0, 0, 0
    end
    function response(status, headers, body)
      last = now()
      first = first or last
      local after = tonumber(headers["Retry-After"])
      if status == 200 then
        admitted = admitted + 1
      elseif status == 429 and after and after >= 1 then
        limited = limited + 1
      else
        wrong = wrong + 1
      end
    end
    function done(summary, latency, requests)
      local admitted, limited, wrong, duration = 0, 0, 0, 0
      for _, thread in ipairs(threads) do
        admitted = admitted + thread:get("admitted")
        limited = limited + thread:get("limited")
        wrong = wrong + thread:get("wrong")
        duration = duration + thread:get("last") - thread:get("first")
      end
      io.write(string.format("counts %d %d %d %d\\n", admitted, limited, wrong, duration))
    end
    """
}
