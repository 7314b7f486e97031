import Foundation
import Glibc
import Testing
import WeirMetrics
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Clients that don't take their responses keep no slot of the upstream.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct SlowReaderTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let large = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let size = 8 << 20

  private func upstream() throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .forever([
          .route { head in
            let isLarge = head.hasPrefix("GET /large")
            return [.send(okResponse(isLarge ? String(repeating: "x", count: Self.size) : "ok"))]
          }
        ])))
  }

  private func rig(
    _ upstream: ScriptedServer, _ settings: String, workers: Int = 1, route: String = ""
  ) throws -> GatewayRig {
    let text = """
      upstreams:
        - { name: named, endpoints: ["127.0.0.1:\(upstream.port)"], \(settings) }
      routes: [{ name: r, upstream: named\(route) }]
      """
    return try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"), workers: workers)
  }

  private func resets(_ rig: GatewayRig) -> Double? {
    rig.sample("weir_listener_connections_closed_total{listener=\"gateway\",reason=\"slow_read\"}")
  }

  private func slowReaders(_ count: Int, _ rig: GatewayRig) throws -> [RawClient] {
    try (0..<count).map { _ in
      let client = try rig.client()
      client.send(Self.large)
      return client
    }
  }

  @Test(arguments: [1, 2]) func theyLeaveTheSlotToOthersAndGoOn(workers: Int) throws {
    let upstream = try upstream()
    let rig = try rig(upstream, "connections: 1, parked: 3", workers: workers)
    let slow = try slowReaders(3, rig)
    let good = try rig.client()
    for _ in 0..<3 { #expect(good.status(of: Self.get) == 200) }
    #expect(eventually { upstream.connectionCount >= 4 })
    #expect(good.status(of: Self.get) == 200)
    #expect(resets(rig) == 0)
    for client in slow {
      let response = try #require(client.response())
      #expect(response.isComplete && response.body.count == Self.size)
    }
    #expect(good.status(of: Self.get) == 200)
    #expect(eventually { rig.count("success") == 8 })
  }

  /// A client that takes nothing is no failure of the upstream, however long the route allows.
  @Test func theTimeoutOfTheRouteBlamesNobody() throws {
    let upstream = try upstream()
    let rig = try rig(upstream, "parked: 3", route: ", timeout: 8s")
    let slow = try slowReaders(2, rig)
    #expect(eventually { rig.count("cancelled") == 2 })
    #expect(rig.sample("weir_gateway_requests_failed_total{route=\"r\"}") == 0)
    for client in slow { #expect(client.response()?.isComplete != true) }
  }

  @Test func asManyAsMayBeParkedStay() throws {
    DescriptorLimit.raise()
    let upstream = try upstream()
    let rig = try rig(upstream, "connections: 2, parked: 4")
    let slow = try slowReaders(10, rig)
    #expect(eventually { resets(rig) == 6 })
    let good = try rig.client()
    #expect(good.status(of: Self.get) == 200)
    #expect(resets(rig) == 6)
    let whole = slow.count { $0.response()?.isComplete ?? false }
    #expect(whole == 4)
    #expect(eventually { rig.count("cancelled") == 6 && rig.count("success") == 5 })
  }

  /// The second reader takes something, and the first does not: the third one takes the place of the first.
  @Test func theOneThatTookLeastIsReset() throws {
    let upstream = try upstream()
    let rig = try rig(upstream, "connections: 1, parked: 2")
    let slow = try slowReaders(2, rig)
    #expect(eventually { upstream.connectionCount == 2 })
    let good = try rig.client()
    #expect(good.status(of: Self.get) == 200)
    // More than the system of one that takes nothing acknowledges, and more than a look at it comes too late for.
    for _ in 0..<20 {
      #expect(slow[1].discard(100_000) == 100_000)
      letPass(0.1)
    }
    let third = try rig.client()
    third.send(Self.large)
    #expect(eventually { resets(rig) == 1 })
    _ = slow[0].rest()
    #expect(slow[0].wasReset)
    #expect(slow[1].discard(Self.size - 2_000_000) == Self.size - 2_000_000)
    #expect(third.response()?.isComplete == true)
  }
}

extension RawClient {
  fileprivate func status(of request: String) -> Int? {
    send(request)
    return response()?.status
  }
}
