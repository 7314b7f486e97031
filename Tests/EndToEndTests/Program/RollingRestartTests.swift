import Foundation
import Glibc
import Testing
import WeirTestSupport

/// Two gateways behind haproxy, replaced one after the other while wrk keeps both busy: nobody notices.
@Suite(.needs(.shippedWeir, .haproxy, .wrk)) struct RollingRestartTests {
  private struct Place {
    let port = LoopbackPort.free(), metricsPort = LoopbackPort.free()
  }

  /// With a delay in which haproxy notices, and without one, where it is the refused connection that tells it.
  @Test(arguments: [("http-reuse always", "1s"), ("http-reuse safe", "1s"), ("option redispatch 1", nil)])
  func noRequestIsLost(backend: String, delay: String?) async throws {
    let upstream = try ScriptedServer(.answering(okResponse("hello")))
    let directory = try TemporaryDirectory()
    let config = try directory.file(
      "weir.yml", "routes: [{name: all, upstream: \"http://127.0.0.1:\(upstream.port)\"}]\n")
    let flags =
      ["--config.file=\(config)", "--gateway.workers=2"]
      + (delay.map { ["--gateway.shutdown-delay=\($0)"] } ?? [])
    let places = [Place(), Place()]
    var gateways: [WeirProgram] = []
    for place in places {
      gateways.append(
        try await WeirProgram(flags, program: .shippedWeir, port: place.port, metricsPort: place.metricsPort))
    }
    let front = LoopbackPort.free(), statistics = LoopbackPort.free()
    let haproxy = try Peer(
      .haproxy,
      ["-db", "-f", try directory.file("haproxy.cfg", Self.haproxyConfig(front, statistics, places, backend))])
    try await haproxy.waitForPort(front)
    let report = try directory.file("report.lua", Self.report)
    let wrk = try Peer(
      .wrk, ["-t", "1", "-c", "16", "-d", "9s", "--timeout", "10s", "-s", report, "http://127.0.0.1:\(front)/"])
    for index in places.indices {
      try await eventually("both gateways are up for haproxy") {
        try await Self.up(statistics) == 2
      }
      gateways[index].peer.send(signal: SIGTERM)
      #expect(try await gateways[index].peer.waitForExit(within: 30) == .exited(0), "\(gateways[index].peer.output)")
      gateways[index] = try await WeirProgram(
        flags, program: .shippedWeir, port: places[index].port, metricsPort: places[index].metricsPort)
    }
    #expect(wrk.exitStatus == nil, "the load goes on beyond the restarts")
    #expect(try await wrk.waitForExit(within: 60) == .exited(0))
    let counts = wrk.output.split(separator: "\n").last { $0.hasPrefix("counts ") } ?? ""
    #expect(counts.hasSuffix(" failed 0"), "\(wrk.output)")
    #expect((Int(counts.split(separator: " ").dropFirst().first ?? "") ?? 0) > 1000, "\(wrk.output)")
  }

  /// Numbers as `counts REQUESTS failed FAILED`.
  private static let report = """
    done = function(summary, latency, requests)
      local e = summary.errors
      print("counts " .. summary.requests .. " failed " .. (e.connect + e.read + e.write + e.status + e.timeout))
    end

    """

  private static func haproxyConfig(_ front: Int, _ statistics: Int, _ places: [Place], _ backend: String) -> String {
    let servers = places.enumerated().map { index, place in
      "  server weir\(index) 127.0.0.1:\(place.port) check port \(place.metricsPort) inter 100ms fall 1 rise 1"
    }
    return """
      defaults
        mode http
        timeout connect 5s
        timeout client 30s
        timeout server 30s
        # Else a check has 100 ms, and on a busy machine a gateway would be down that is only slow.
        timeout check 5s
      frontend front
        bind 127.0.0.1:\(front)
        default_backend weir
      frontend statistics
        bind 127.0.0.1:\(statistics)
        stats enable
        stats uri /stats
      backend weir
        \(backend)
        option httpchk GET /-/ready
        http-check expect status 200
      \(servers.joined(separator: "\n"))

      """
  }

  /// How many servers haproxy takes for healthy.
  private static func up(_ statistics: Int) async throws -> Int {
    let page = try await CurlAnswer.get("http://127.0.0.1:\(statistics)/stats;csv").body
    return page.split(separator: "\n").count { $0.hasPrefix("weir,weir") && $0.contains(",UP,") }
  }
}
