import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway
@testable import WeirTransport

/// Checks whose endpoints and settings change.
@Suite("Changes of checks", .slow, .timeLimit(.minutes(5))) struct EndpointCheckChangesTests {
  /// - Parameter other: Further entries.
  private func upstream(_ endpoints: String, _ check: String, _ other: String = "") -> String {
    "[{name: u, slowStart: off, endpoints: [\(endpoints)], check: \(check)}\(other)]"
  }

  private func isUnhealthy(_ rig: CheckRig, _ server: HealthServer) -> Bool {
    rig.registry.all["u"]?.set.endpoints.contains {
      $0.name == server.endpoint && $0.availability == .unhealthy
    } ?? false
  }

  @Test func changesOfHealthAreToldAndLogged() async throws {
    let server = try HealthServer("x", status: 503)
    let rig = try CheckRig(
      upstream("\"\(server.endpoint)\"", "{path: /healthz, interval: 0.5s, unhealthyAfter: 2, healthyAfter: 1}"))
    #expect(await soon { rig.events == ["u: \(server.endpoint) fails its checks"] })
    #expect(rig.count(.status) >= 2)
    server.status = 200
    #expect(await soon { rig.events.count == 2 })
    #expect(rig.events.last == "u: \(server.endpoint) passes its checks again")
    let lines = rig.log.map { $0.drop { $0 != " " }.dropFirst() }
    #expect(
      lines == [
        "level=warn msg=\"endpoint fails its checks\" upstream=u endpoint=\(server.endpoint) "
          + "problem=\"answered with status 503\"\n",
        "level=info msg=\"endpoint passes its checks again\" upstream=u endpoint=\(server.endpoint)\n",
      ])
  }

  @Test func anotherCheckBeginsAnewAndForgetsNothing() async throws {
    let server = try HealthServer("x", status: 503)
    let check = "interval: 0.5s, unhealthyAfter: 1"
    let rig = try CheckRig(upstream("\"\(server.endpoint)\"", "{path: /healthz, \(check)}"))
    #expect(await soon { isUnhealthy(rig, server) })
    // The same once more changes nothing, and another one begins within a second, not after an hour.
    try rig.follow(upstream("\"\(server.endpoint)\"", "{path: /healthz, \(check)}"))
    let before = server.checks.count
    #expect(await soon { server.checks.count > before })
    try rig.follow(upstream("\"\(server.endpoint)\"", "{path: /healthz, interval: 1h, healthyAfter: 1}"))
    #expect(isUnhealthy(rig, server))
    let early = server.checks.count
    #expect(await soon { server.checks.count > early })
    #expect(isUnhealthy(rig, server))
    // Without checks, what they found says nothing.
    let clock = try HealthServer("clock")
    try rig.follow(
      upstream(
        "\"\(server.endpoint)\"", "off",
        ", {name: v, endpoints: [\"\(clock.endpoint)\"], check: {path: /healthz, interval: 0.5s}}"))
    #expect(await soon { !isUnhealthy(rig, server) })
    let count = server.checks.count, laterCount = clock.checks.count
    #expect(await soon { clock.checks.count >= laterCount + 3 })
    #expect(server.checks.count == count)
  }

  @Test func endpointsOfAFileAreCheckedAsTheyComeAndGo() async throws {
    let one = try HealthServer("one"), two = try HealthServer("two")
    let directory = try TemporaryDirectory()
    let path = try directory.file("targets.json", "[{\"targets\": [\"\(one.endpoint)\"]}]")
    let rig = try CheckRig("[{name: u, file: \(path), check: {path: /healthz, interval: 0.5s}}]")
    #expect(await soon { one.checks.count >= 2 })
    #expect(two.checks.isEmpty)
    try directory.file("targets.json", "[{\"targets\": [\"\(two.endpoint)\"]}]")
    #expect(await soon { two.checks.count >= 1 })
    let count = one.checks.count
    #expect(await soon { two.checks.count >= 4 })
    #expect(one.checks.count == count)
    #expect(rig.count(.good, one.endpoint) >= 2, "the counts stay for a minute")
  }

  @Test func anEndEndsAllChecks() async throws {
    let server = try HealthServer("x"), silent = try BlackHole()
    var rig: CheckRig? = try CheckRig(
      upstream("\"\(server.endpoint)\", \"127.0.0.1:\(silent.port)\"", "{path: /healthz, interval: 60s, timeout: 60s}"))
    #expect(await soon { silent.connectionCount == 1 && server.checks.count == 1 })
    weak let registry = rig?.registry
    #expect(registry != nil)
    rig = nil
    #expect(await soon { silent.closedByClientCount == 1 })
    #expect(await soon { registry == nil })
  }
}
