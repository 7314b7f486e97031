import Foundation
import Glibc
import Testing
import WeirTestSupport

/// Five hundred connections come at once while the program has no processor: none of them waits for long afterwards.
@Suite(
  .needs(.shippedWeir, .nginx, .wrk),
  .enabled(
    if: ProcessInfo.processInfo.environment["WEIR_PROGRAM"] != nil, "times are those of the program as it is shipped"))
struct StallTests {
  private static let connections = 512

  /// Not slower, from when the program goes on, than half a second or three times the slowest of nginx, in one of three
  /// rounds: others use the machine.
  @Test func whoConnectsInACrowdIsServedSoon() async throws {
    let origin = try await NginxServer(
      .init("", listen: "backlog=4096", #"location / { add_header Cache-Control "max-age=60"; return 200 "hello"; }"#))
    let nginx = try await NginxServer(
      .init(
        "", listen: "backlog=4096",
        #"location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; }"#,
        beside: "upstream origin { server 127.0.0.1:\(origin.port()); keepalive 512; }"))
    let directory = try TemporaryDirectory()
    let config = try directory.file(
      "weir.yml", "routes: [{name: all, upstream: \"http://127.0.0.1:\(origin.port())\"}]\n")
    let report = try directory.file("report.lua", Self.report)
    let weir = try await WeirProgram(["--config.file=\(config)", "--gateway.workers=1"], program: .shippedWeir)
    var seen: [String] = []
    for _ in 0..<3 {
      let expected = try await Self.slowest(of: Self.load(nginx.port(), report, seconds: 1))
      weir.peer.send(signal: SIGSTOP)
      defer { weir.peer.send(signal: SIGCONT) }
      try await eventually("the program stands still") { try weir.peer.isStopped }
      let load = try Self.load(weir.port, report, seconds: 2)
      let (crowd, since) = try await Self.crowd(at: weir.port)
      weir.peer.send(signal: SIGCONT)
      let stood = Int((ContinuousClock.now - since) / .milliseconds(1))
      let slowest = try await Self.slowest(of: load) - stood
      seen.append("\(crowd) waited for \(stood) ms, then weir \(slowest) ms, nginx \(expected) ms")
      if crowd > Self.connections / 2, slowest < max(500, 3 * expected) { return }
    }
    Issue.record("\(seen)")
  }

  private static func load(_ port: Int, _ report: String, seconds: Int) throws -> Peer {
    try Peer(.wrk, ["-t1", "-c\(connections)", "-d\(seconds)s", "-s", report, "http://127.0.0.1:\(port)/"])
  }

  /// Milliseconds of the slowest request.
  private static func slowest(of load: Peer) async throws -> Int {
    #expect(try await load.waitForExit() == .exited(0))
    let words = load.output.split(separator: "\n").last { $0.hasPrefix("slowest ") }?.split(separator: " ") ?? []
    try #require(words.count == 4, "\(load.output)")
    #expect(words[3] == "0", "requests that failed: \(load.output)")
    return try #require(Int(words[1]))
  }

  /// Milliseconds and errors as `slowest MILLISECONDS failed FAILED`.
  private static let report = """
    done = function(summary, latency, requests)
      local e = summary.errors
      print(string.format("slowest %d failed %d", latency.max / 1000, e.connect + e.read + e.write + e.status))
    end

    """

  /// How many wait to be accepted when all do, or after a second, and when nobody did yet.
  private static func crowd(at port: Int) async throws -> (Int, since: ContinuousClock.Instant) {
    var crowd = 0
    var since = ContinuousClock.now
    try? await eventually("all wait", within: 1) {
      let now = ContinuousClock.now
      crowd = try waiting(at: port)
      if crowd == 0 { since = now }
      return crowd >= connections
    }
    return (crowd, since)
  }

  /// Connections that wait to be accepted, as proc_net_tcp(5) tells: a listener's receive queue.
  private static func waiting(at port: Int) throws -> Int {
    let address = "0100007F:" + String(format: "%04X", port)
    for line in try ThisProcess.text(ofFile: "/proc/net/tcp").split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 4, fields[1] == address, fields[3] == "0A" else { continue }
      return fields[4].split(separator: ":").last.flatMap { Int($0, radix: 16) } ?? 0
    }
    return 0
  }
}
