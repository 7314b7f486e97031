import Foundation
import Testing
import Weir
import WeirCurl
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// The requests of checks, and their verdicts on the answers.
@Suite("Checks of endpoints", .slow, .timeLimit(.minutes(5))) struct EndpointChecksTests {
  private static let often = "interval: 0.5s"

  private func closedPort() throws -> Int {
    let server = try ScriptedServer(Script(.close))
    defer { withExtendedLifetime(server) {} }
    return server.port
  }

  // MARK: Requests

  @Test func aCheckIsOneRequestByTheEndpointsName() async throws {
    let server = try HealthServer("x")
    let rig = try CheckRig(
      "[{name: u, host: h.example, basePath: /base, endpoints: [\"127.1:\(server.port)\"], check: {path: /healthz}}]")
    #expect(await soon { rig.count(.good, server.endpoint) == 1 })
    #expect(
      server.requests == [
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nUser-Agent: weir/\(WeirInfo.version)"
      ])
  }

  @Test func itsPartsAreAsConfigured() async throws {
    let server = try HealthServer("x", status: 404)
    let rig = try CheckRig(
      """
      [{name: u, endpoints: ["127.0.0.1:\(server.port)"], check: {path: /healthz, method: POST, host: "a.example:81",
        headers: {X-Token: t, User-Agent: mine}, status: [404], \(Self.often)}}]
      """)
    #expect(await soon { rig.count(.good) >= 1 })
    let lines = "Host: a.example:81\r\nX-Token: t\r\nUser-Agent: mine\r\nContent-Length: 0"
    #expect(server.requests.first == "POST /healthz HTTP/1.1\r\n\(lines)")
    #expect(rig.results() == [.good])
  }

  @Test func anotherPortIsOnlyWhereItGoes() async throws {
    let server = try HealthServer("x")
    let closed = try closedPort()
    let rig = try CheckRig(
      """
      [{name: u, endpoints: ["127.0.0.1:\(closed)"], check: {path: /healthz, port: \(server.port)}},
       {name: v, endpoints: ["127.0.0.1:\(closed)"], check: {port: \(server.port)}}]
      """)
    #expect(await soon { rig.count(.good, "127.0.0.1:\(closed)") == 1 && rig.count(.good, of: "v") == 1 })
    #expect(server.requests.first?.contains("Host: 127.0.0.1:\(closed)\r\n") == true)
  }

  @Test func unixSocketsAreCheckedToo() async throws {
    let directory = try TemporaryDirectory()
    let path = "\(directory.path)/s"
    let server = try ScriptedServer(unixSocketPath: path, .answering(okResponse("x")))
    let rig = try CheckRig(
      """
      [{name: u, endpoints: ["unix:\(path)"], check: {path: /healthz, port: 1}},
       {name: v, endpoints: ["unix:\(path)"], check: {}}, {name: w, endpoints: ["unix:\(path)x"], check: {}}]
      """)
    #expect(
      await soon { rig.count(.good) == 1 && rig.count(.good, of: "v") == 1 && rig.count(.connection, of: "w") == 1 })
    #expect(
      server.receivedText(on: 0).contains("Host: localhost\r\n")
        || server.receivedText(on: 1).contains("Host: localhost\r\n"))
  }

  // MARK: Connections

  @Test func withoutAPathAConnectionIsOpened() async throws {
    let server = try ScriptedServer(Script(.awaitClose))
    let closed = try closedPort()
    let full = try FullListener()
    let mute = try BlackHole()
    let hanging = ["full", "full-path", "mute"]
    let rig = try CheckRig(
      """
      [{name: u, endpoints: ["127.0.0.1:\(server.port)", "127.0.0.1:\(closed)"], check: {\(Self.often)}},
       {name: full, endpoints: ["127.0.0.1:\(full.port)"], check: {timeout: 0.2s, \(Self.often)}},
       {name: full-path, endpoints: ["127.0.0.1:\(full.port)"], check: {path: /, timeout: 0.2s, \(Self.often)}},
       {name: mute, scheme: https, endpoints: ["127.0.0.1:\(mute.port)"], check: {timeout: 0.2s, \(Self.often)}}]
      """)
    #expect(
      await soon {
        rig.count(.good, "127.0.0.1:\(server.port)") >= 2 && rig.count(.connection, "127.0.0.1:\(closed)") >= 2
          && hanging.allSatisfy { rig.count(.timeout, of: $0) >= 2 }
      })
    #expect(rig.results() == [.good, .connection])
    #expect(hanging.map { rig.results($0) } == [[.timeout], [.timeout], [.timeout]])
    #expect(await soon { mute.closedByClientCount >= 2 })
    #expect(await soon { server.closedByClientCount >= 2 })
    #expect(server.received(on: 0).isEmpty)
  }

  @Test func thePolicyOfTheUpstreamHolds() async throws {
    let server = try HealthServer("x")
    let rig = try CheckRig(
      """
      [{name: u, endpoints: ["127.0.0.1:\(server.port)"], destinationPolicy: {otherwise: publicOnly}, check: {path: /healthz}},
       {name: v, endpoints: ["127.0.0.1:\(server.port)"], destinationPolicy: {otherwise: publicOnly}, check: {}}]
      """)
    #expect(await soon { rig.count(.connection) == 1 && rig.count(.connection, of: "v") == 1 })
    #expect(server.requests.isEmpty)
  }

  @Test func onHTTPSTheHandshakeCounts() async throws {
    let certificates = try await TestCertificates()
    let right = LoopbackPort.free(), wrong = LoopbackPort.free()
    var peers: [Peer] = []
    for (port, pair) in [(right, certificates.server), (wrong, certificates.wrongHost)] {
      let peer = try Peer(
        .openssl,
        ["s_server", "-accept", "127.0.0.1:\(port)", "-cert", pair.certificate, "-key", pair.key, "-www", "-quiet"])
      peers.append(peer)
      try await peer.waitForPort(port)
    }
    let plain = try ScriptedServer(Script(.send(okResponse("x"))))
    func upstream(_ name: String, _ port: Int, _ check: String, _ tls: String = "") -> String {
      """
      {name: \(name), scheme: https, endpoints: ["127.0.0.1:\(port)"], check: {\(check)\(Self.often)},
       tls: {ca: \(certificates.authority.certificate)\(tls)}}
      """
    }
    let rig = try CheckRig(
      """
      [\(upstream("right", right, "")),
       \(upstream("wrong", wrong, "")),
       \(upstream("named", wrong, "", ", serverName: weir.example")),
       \(upstream("plain", plain.port, "")),
       \(upstream("right-path", right, "path: /x, ")),
       \(upstream("wrong-path", wrong, "path: /x, "))]
      """)
    let names = ["right", "wrong", "named", "plain", "right-path", "wrong-path"]
    #expect(await soon { names.allSatisfy { rig.counts($0).values.contains { $0.values.reduce(0, +) >= 2 } } })
    // The answer ends with its connection, which libcurl can't prove.
    let unmarked = Self.byEngine(own: .good, libcurl: .connection)
    #expect(names.map { rig.results($0) } == [[.good], [.tls], [.good], [.tls], [unmarked], [.tls]])
    withExtendedLifetime(peers) {}
  }

  // MARK: Hostile answers

  private static func byEngine(own: CheckResult, libcurl: CheckResult) -> CheckResult {
    isOwnEngine ? own : libcurl
  }

  private static let hostile: [(name: String, script: Script, result: CheckResult)] = [
    ("silent", Script(.awaitClose), .timeout),
    ("garbage", Script(.head, .send([UInt8](repeating: 0, count: 5000))), .connection),
    ("closing", Script(.head, .close), .connection),
    ("resetting", Script(.head, .reset), .connection),
    ("cut", Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")), .connection),
    (
      "conflicting", Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")),
      .connection
    ),
    (
      "endless-head",
      Script(.head, .send("HTTP/1.1 200 OK\r\n"), .forever([.send("X: \(String(repeating: "x", count: 999))\r\n")])),
      .connection
    ),
    (
      "endless-interim", Script(.head, .forever([.send("HTTP/1.1 103 E\r\n\r\n"), .sleep(0.001)])),
      byEngine(own: .connection, libcurl: .timeout)
    ),
    (
      "endless-good",
      Script(.head, .send("HTTP/1.1 200 OK\r\n\r\n"), .forever([.send([UInt8](repeating: 1, count: 4096))])), .good
    ),
    (
      "endless-bad",
      Script(.head, .send("HTTP/1.1 500 E\r\n\r\n"), .forever([.send([UInt8](repeating: 1, count: 4096))])), .status
    ),
    ("dripping-head", Script(.head, .drip(okResponse("x"), every: 0.05)), .timeout),
    (
      "dripping-body",
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
        .drip(String(repeating: "x", count: 99), every: 0.05)), .timeout
    ),
    (
      "redirecting",
      Script(.head, .send("HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")), .good
    ),
    (
      "switching", Script(.head, .send("HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), .awaitClose),
      byEngine(own: .connection, libcurl: .timeout)
    ),
  ]

  @Test func hostileAnswersNeitherHangNorLeak() async throws {
    let servers = try Self.hostile.map { try ScriptedServer($0.script) }
    let entries = zip(Self.hostile, servers).map { hostile, server in
      "{name: \(hostile.name), endpoints: [\"127.0.0.1:\(server.port)\"], check: {path: /, interval: 1s, timeout: 1s}}"
    }
    let rig = try CheckRig("[\(entries.joined(separator: ", "))]")
    #expect(await soon { Self.hostile.allSatisfy { rig.count($0.result, of: $0.name) >= 4 } })
    for hostile in Self.hostile { #expect(rig.results(hostile.name) == [hostile.result], "\(hostile.name)") }
    // A check that has ended leaves no connection behind, and the end of all ends the last ones.
    #expect(await soon { servers.allSatisfy { $0.connectionCount - $0.finishedCount <= 1 } })
    rig.registry.close()
    #expect(await soon { servers.allSatisfy { $0.finishedCount == $0.connectionCount } })
  }

  // MARK: Many

  @Test func notAllAreCheckedAtOnce() async throws {
    let server = try BlackHole()
    let list = (1...100).map { "\"127.0.0.1:\($0)\"" }.joined(separator: ", ")
    let rig = try CheckRig(
      "[{name: u, endpoints: [\(list)], check: {path: /, port: \(server.port), timeout: 2s, interval: 2s}}]")
    var most = 0
    let isDone = await soon {
      most = max(most, server.connectionCount - server.closedByClientCount)
      return server.connectionCount >= 100
    }
    #expect(isDone)
    #expect((60...EndpointChecks.limit + 8).contains(most), "the server notices an end a little later")
    #expect(await soon { rig.counts().count == 100 })
    #expect(rig.results() == [.timeout])
  }
}
