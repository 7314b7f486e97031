import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Active checks, as clients and upstreams see them.
@Suite(.slow, .timeLimit(.minutes(5))) struct HealthCheckTests {
  private func rig(_ servers: [HealthServer], workers: Int = 1, _ thresholds: String) throws -> GatewayRig {
    let list = servers.map { "\"\($0.endpoint)\"" }.joined(separator: ", ")
    let text = """
      upstreams:
        - name: u
          endpoints: [\(list)]
          balance: roundRobin
          slowStart: off
          check: {path: /healthz, interval: 0.5s, \(thresholds)}
      routes: [{name: r, upstream: u}]
      """
    return try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"), workers: workers)
  }

  /// The endpoints that answer so many requests.
  private func answering(_ rig: GatewayRig, _ count: Int = 12) throws -> Set<String> {
    let client = try rig.client()
    return Set(
      (0..<count).map { _ in
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        let response = client.response()
        return response?.status == 200 ? response?.text ?? "" : "status \(response?.status ?? 0)"
      })
  }

  @Test func anEndpointThatFailsIsLeftOutUntilItIsWell() async throws {
    let one = try HealthServer("one"), two = try HealthServer("two")
    let rig = try rig([one, two], workers: 2, "unhealthyAfter: 2, healthyAfter: 2")
    #expect(await soon { one.checks.count >= 2 && two.checks.count >= 2 })
    #expect(try answering(rig) == ["one", "two"])
    let before = two.checks.count
    two.status = 503
    #expect(await soon { (try? answering(rig)) == ["one"] })
    #expect(two.checks.count - before >= 2)
    for _ in 0..<5 { #expect(try answering(rig) == ["one"]) }
    let failed = two.checks.count
    two.status = 204
    #expect(await soon { (try? answering(rig)) == ["one", "two"] })
    #expect(two.checks.count - failed >= 2)
    // One check per endpoint, whatever the number of workers, and no series and no slots of its own.
    #expect(abs(one.checks.count - two.checks.count) <= 4)
    let requests = one.requests.count + two.requests.count - one.checks.count - two.checks.count
    let labels = "server_address=\"u\",server_port=\"80\""
    #expect(await soon { rig.sample("weir_request_attempts_count{\(labels)}") == Double(requests) })
  }

  @Test func threeOfFourFail() async throws {
    let servers = try (0..<4).map { try HealthServer("\($0)", status: $0 == 2 ? 200 : 500) }
    let rig = try rig(servers, "unhealthyAfter: 1, healthyAfter: 1")
    #expect(await soon { (try? answering(rig)) == ["2"] })
    #expect(try answering(rig, 40) == ["2"])
  }

  /// Health alone never makes a 503.
  @Test func allFail() async throws {
    let servers = try (0..<4).map { try HealthServer("\($0)", status: 500) }
    let rig = try rig(servers, "unhealthyAfter: 1, healthyAfter: 1")
    #expect(await soon { servers.allSatisfy { $0.checks.count >= 2 } })
    #expect(try answering(rig, 40) == ["0", "1", "2", "3"])
  }
}
