import Foundation
import Glibc
import Testing
import WeirTestSupport

/// Two gateways behind haproxy, replaced one after the other while wrk keeps both busy: nobody notices.
@Suite(.needs(.shippedWeir, .haproxy, .wrk, .openssl)) struct RollingRestartTests {
  private struct Place {
    let port = LoopbackPort.free(), metricsPort = LoopbackPort.free()

    /// The gateway there, once it listens.
    func start(_ config: String, delay: String?) async throws -> Peer {
      let flags = delay.map { ["--gateway.shutdown-delay=\($0)"] } ?? []
      let peer = try Peer(
        .shippedWeir,
        ["serve", "--config.file=\(config)", "--gateway.workers=2", "--web.listen-address=127.0.0.1:\(metricsPort)"]
          + flags)
      try await peer.waitForPort(port)
      try await peer.waitForPort(metricsPort)
      return peer
    }
  }

  /// How haproxy speaks to the gateways.
  enum Link: String {
    case plain = ""
    case proxyHeader = "send-proxy-v2"
    case secureProxyHeader = "send-proxy-v2 ssl verify none"
  }

  /// With a delay in which haproxy notices, and without one, where it is the refused connection that tells it.
  @Test(
    arguments: [
      ("http-reuse always", "1s", .plain), ("http-reuse safe", "1s", .plain), ("option redispatch 1", nil, .plain),
      ("http-reuse safe", "1s", .proxyHeader), ("http-reuse safe", "1s", .secureProxyHeader),
    ] as [(String, String?, Link)])
  func noRequestIsLost(backend: String, delay: String?, link: Link) async throws {
    let upstream = try ScriptedServer(.answering(okResponse("hello")))
    let directory = try TemporaryDirectory()
    let certificates = try await TestCertificates()
    let places = [Place(), Place()]
    let configs = try places.map { place in
      try directory.file(
        "\(place.port).yml",
        """
        listeners: [{name: all, address: "127.0.0.1:\(place.port)"\(Self.keys(link, certificates.server))}]
        routes: [{name: all, upstream: "http://127.0.0.1:\(upstream.port)"}]

        """)
    }
    var gateways: [Peer] = []
    for (place, config) in zip(places, configs) { gateways.append(try await place.start(config, delay: delay)) }
    let front = LoopbackPort.free(), statistics = LoopbackPort.free()
    let haproxy = try Peer(
      .haproxy,
      ["-db", "-f", try directory.file("haproxy.cfg", Self.haproxyConfig(front, statistics, places, backend, link))])
    try await haproxy.waitForPort(front)
    let report = try directory.file("report.lua", Self.report)
    let wrk = try Peer(
      .wrk, ["-t", "1", "-c", "16", "-d", "9s", "--timeout", "10s", "-s", report, "http://127.0.0.1:\(front)/"])
    for index in places.indices {
      try await eventually("both gateways are up for haproxy") {
        try await Self.up(statistics) == 2
      }
      gateways[index].send(signal: SIGTERM)
      #expect(try await gateways[index].waitForExit(within: 30) == .exited(0), "\(gateways[index].output)")
      gateways[index] = try await places[index].start(configs[index], delay: delay)
    }
    #expect(wrk.exitStatus == nil, "the load goes on beyond the restarts")
    #expect(try await wrk.waitForExit() == .exited(0))
    let counts = wrk.output.split(separator: "\n").last { $0.hasPrefix("counts ") } ?? ""
    #expect(counts.hasSuffix(" failed 0"), "\(wrk.output)")
    #expect((Int(counts.split(separator: " ").dropFirst().first ?? "") ?? 0) > 1000, "\(wrk.output)")
  }

  /// The keys of a listener to which haproxy speaks so.
  private static func keys(_ link: Link, _ pair: TestCertificates.Pair) -> String {
    switch link {
    case .plain: ""
    case .proxyHeader: ", proxyProtocol: true"
    case .secureProxyHeader:
      ", proxyProtocol: true, tls: {certificates: [{certificate: \(pair.certificate), key: \(pair.key)}]}"
    }
  }

  /// Numbers as `counts REQUESTS failed FAILED`.
  private static let report = """
    done = function(summary, latency, requests)
      local e = summary.errors
      print("counts " .. summary.requests .. " failed " .. (e.connect + e.read + e.write + e.status + e.timeout))
    end

    """

  private static func haproxyConfig(
    _ front: Int, _ statistics: Int, _ places: [Place], _ backend: String, _ link: Link
  ) -> String {
    // Checks go to another port, without TLS and PROXY header.
    let servers = places.enumerated().map { index, place in
      "  server weir\(index) 127.0.0.1:\(place.port) check port \(place.metricsPort) inter 100ms fall 1 rise 1"
        + " \(link.rawValue)"
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
