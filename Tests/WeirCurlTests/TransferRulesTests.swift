import Foundation
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport
import WeirTransport

/// Transfers with settings of their own in place of the transport's.
@Suite(.slow, .timeLimit(.minutes(5)))
struct TransferRulesTests {
  /// Made anew for each transfer, as equal rules need not be the same object.
  private static func spec(
    _ url: String, connectTimeout: Double? = nil, idleTimeout: Double? = nil, maximumAge: Double? = nil,
    _ version: HTTPVersionChoice? = nil
  ) -> TransferSpec {
    var spec = TransferSpec(url: url)
    spec.rules = TransferRules(
      connectTimeout: connectTimeout, idleTimeout: idleTimeout, maximumAge: maximumAge, httpVersion: version)
    return spec
  }

  private static func server(_ body: String = "x") throws -> ScriptedServer {
    try ScriptedServer(Script(.forever([.request, .send(okResponse(body))])))
  }

  // MARK: - The connect timeout

  /// - Parameters:
  ///   - transport: The transport's time.
  ///   - rule: The transfer's.
  @Test(arguments: [(10, 0.2), (0.2, 1.2)] as [(Double, Double)], ["http", "https"])
  func connectTimeout(times: (transport: Double, rule: Double), scheme: String) async throws {
    // TCP hangs on one, TLS on the other.
    let (full, hole) = (try FullListener(), try BlackHole())
    let rig = try await EngineRig { $0.connectTimeout = times.transport }
    let url = scheme == "http" ? full.url : "https://127.0.0.1:\(hole.port)/"
    let outcome = await rig.transfer(Self.spec(url, connectTimeout: times.rule))
    #expect(outcome.error?.code == .timedOut, "\(outcome)")
    let total = try #require(outcome.report?.total)
    #expect(total > times.rule * 0.75 && total < times.rule + 5)
    #expect(rig.counts.open == 0)
    let error = try #require(outcome.error)
    let failure = TransferFailure(
      error,
      advice: TransferAdvice(options: TransportOptions(), rules: TransferRules(connectTimeout: times.rule)))
    #expect(failure.text.hasSuffix("(connectTimeout: \(times.rule) s)"))
    await rig.close()
  }

  /// A connection that is opened with more patience than a later transfer has does not serve that one.
  @Test func transfersOfOnePlaceWaitForTheirOwnTime() async throws {
    let full = try FullListener()
    let rig = try await EngineRig()
    let patient = await rig.start(Self.spec(full.url, connectTimeout: 2))
    let hasty = await rig.transfer(Self.spec(full.url, connectTimeout: 0.3))
    #expect(hasty.error?.code == .timedOut)
    #expect(try #require(hasty.report?.total) < 1.5)
    #expect(!patient.isFinished)
    #expect(try #require(await patient.outcome.report?.total) > 1.5)
    await rig.close()
  }

  // MARK: - Idle connections

  @Test func idleConnectionsCloseInTheirTime() async throws {
    let (short, other) = (try Self.server(), try Self.server())
    let rig = try await EngineRig()
    let began = MonotonicTime.now
    #expect(await rig.get(other.url).text == "x")
    #expect(await rig.transfer(Self.spec(short.url, idleTimeout: 1)).text == "x")
    #expect(await eventually { short.closedByClientCount == 1 })
    let age = MonotonicTime.now.seconds(since: began)
    #expect(age >= 1 && age < 15)
    #expect(await eventually { rig.counts.open == 1 })
    #expect(await rig.transfer(Self.spec(short.url, idleTimeout: 1)).report?.isReusedConnection == false)
    #expect(await rig.get(other.url).report?.isReusedConnection == true, "it has the transport's time")
    await rig.close()
  }

  /// The requests come as fast as idle connections are looked at in vain, and would keep a connection from its end.
  @Test func aLongerTimeThanTheTransports() async throws {
    let (long, other) = (try Self.server(), try Self.server())
    let rig = try await EngineRig { $0.idleConnectionLifetime = 1 }
    #expect(await rig.transfer(Self.spec(long.url, idleTimeout: 30)).text == "x")
    #expect(await rig.get(other.url).text == "x")
    #expect(await eventually { other.closedByClientCount == 1 })
    #expect(await rig.get(other.url).report?.isReusedConnection == false)
    #expect(await eventually { other.closedByClientCount == 2 })
    #expect(await rig.transfer(Self.spec(long.url, idleTimeout: 30)).report?.isReusedConnection == true)
    #expect(rig.counts.open == 1)
    await rig.close()
  }

  /// A connection whose time is over is not used, whether or not it is closed already.
  @Test func aRequestAsTheTimeIsOver() async throws {
    let server = try Self.server()
    let rig = try await EngineRig()
    for round in 0..<4 {
      let outcome = await rig.transfer(Self.spec(server.url, idleTimeout: 1))
      #expect(outcome.text == "x", "\(outcome)")
      #expect(outcome.report?.isReusedConnection == (round % 2 == 1), "\(round)")
      #expect(outcome.report?.staleRetries == 0)
      if round % 2 == 1 { try await letPass(1.1) }
    }
    #expect(await eventually { rig.counts.open == 0 })
    await rig.close()
  }

  /// A short time of some requests does not end the connections of others, though libcurl looks at all at once.
  @Test func othersConnectionsStay() async throws {
    let (short, other) = (try Self.server(), try Self.server())
    let rig = try await EngineRig()
    #expect(await rig.get(other.url).text == "x")
    for _ in 0..<4 {
      #expect(await rig.transfer(Self.spec(short.url, idleTimeout: 0.2, maximumAge: 0.4)).text == "x")
      try await letPass(0.7)
    }
    #expect(await rig.get(other.url).report?.isReusedConnection == true)
    #expect(other.connectionCount == 1)
    #expect(short.connectionCount == 4)
    await rig.close()
  }

  @Test func anIdleUnixSocketClosesInItsTime() async throws {
    let directory = try TemporaryDirectory()
    let path = try directory.file("socket")
    let server = try ScriptedServer(unixSocketPath: path, Script(.forever([.request, .send(okResponse("x"))])))
    let rig = try await EngineRig()
    for _ in 0..<2 {
      var spec = Self.spec("http://pay.invalid/", idleTimeout: 1)
      spec.endpoint = TransferEndpoint(.unixSocket(path))
      let outcome = await rig.transfer(spec)
      #expect(outcome.text == "x" && outcome.report?.isReusedConnection == false, "\(outcome)")
      #expect(await eventually { rig.counts.open == 0 })
    }
    #expect(server.connectionCount == 2)
    await rig.close()
  }

  // MARK: - Age

  @Test func oldConnectionsAreNotUsedAgain() async throws {
    let server = try ScriptedServer(
      Script(.forever([.dispatch { [.send(Self.okHead), .sleep($0.contains("slow") ? 1.2 : 0), .send("done")] }])))
    let rig = try await EngineRig()
    func get(_ path: String) async -> Outcome {
      await rig.transfer(Self.spec(server.url + path, maximumAge: 0.8))
    }
    #expect(await get("").report?.isReusedConnection == false)
    let slow = await get("slow")
    #expect(slow.error == nil && slow.text == "done", "a request is not cut: \(slow)")
    #expect(slow.report?.isReusedConnection == true)
    let next = await get("")
    #expect(next.text == "done" && next.report?.isReusedConnection == false)
    #expect(next.report?.staleRetries == 0)
    #expect(server.connectionCount == 2)
    #expect(await eventually { server.closedByClientCount >= 1 })
    await rig.close()
  }

  private static let okHead = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"

  @Test func oldIdleConnectionsClose() async throws {
    let server = try Self.server()
    let rig = try await EngineRig()
    #expect(await rig.transfer(Self.spec(server.url, maximumAge: 1)).text == "x")
    #expect(await eventually { rig.counts.open == 0 })
    #expect(await eventually { server.closedByClientCount == 1 })
    await rig.close()
  }

  // MARK: - Sharing

  @Test func equalRulesShareConnections() async throws {
    let server = try Self.server()
    let rig = try await EngineRig()
    for round in 0..<3 {
      let outcome = await rig.transfer(
        Self.spec(server.url, connectTimeout: 3, idleTimeout: 20, maximumAge: 100, .http1_1))
      #expect(outcome.report?.isReusedConnection == (round > 0))
    }
    // Another connect timeout, or a choice that leads to the same version, says nothing of an open connection.
    let other = await rig.transfer(Self.spec(server.url, connectTimeout: 4, idleTimeout: 20, maximumAge: 100, .http1_1))
    #expect(other.report?.isReusedConnection == true)
    await rig.close()
  }

  @Test(.enabled(if: isOwnEngine)) func otherLifetimesAreOtherConnections() async throws {
    let server = try Self.server()
    let rig = try await EngineRig()
    for round in 0..<2 {
      for (idle, age) in [(nil, nil), (20, nil), (nil, 20), (20, 20), (30, 20)] as [(Double?, Double?)] {
        let outcome = await rig.transfer(Self.spec(server.url, idleTimeout: idle, maximumAge: age))
        #expect(outcome.report?.isReusedConnection == (round > 0))
      }
    }
    #expect(await rig.get(server.url).report?.isReusedConnection == true, "rules that say nothing are none")
    #expect(server.connectionCount == 5)
    await rig.close()
  }
}
