import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// The gateway as a whole: workers, reload, drain.
@Suite(.serialized) struct GatewayTests {
  @Test func aReloadChangesWhereRequestsGo() async throws {
    let one = try ScriptedServer(.answering(okResponse("one"))), two = try ScriptedServer(.answering(okResponse("two")))
    let rig = try GatewayRig(Route(to: one.port), workers: 2)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "one")
    await rig.gateway.reload(Configuration(routes: [try Route(to: two.port, name: "new")]))
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "two")
    #expect(eventually { rig.count("success") == 1 && rig.count("success", route: "new") == 1 })
  }

  @Test func aRequestUnderWayEndsByTheOldConfiguration() async throws {
    let gate = Gate()
    let one = try ScriptedServer(Script(.head, .wait(gate), .send(okResponse("one")), .awaitClose))
    let rig = try GatewayRig(Route(to: one.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { !one.received().isEmpty })
    await rig.gateway.reload(Configuration(routes: [try Route(to: 9, path: "/x", name: "new")]))
    gate.open()
    #expect(client.response()?.text == "one")
    #expect(eventually { rig.count("success") == 1 })
  }

  @Test func stoppingLetsRequestsEnd() async throws {
    let gate = Gate()
    let upstream = try ScriptedServer(Script(.head, .wait(gate), .send(okResponse("late")), .awaitClose))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client(), idle = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { !upstream.received().isEmpty })
    let stopped = Task { await rig.gateway.stop(grace: 10) }
    #expect(idle.rest().isEmpty)
    gate.open()
    let response = try #require(client.response())
    #expect(response.text == "late")
    #expect(response.values("Connection") == ["close"])
    await stopped.value
  }

  @Test func stoppingCutsWhatTakesTooLong() async throws {
    let upstream = try BlackHole()
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(eventually { upstream.connectionCount == 1 })
    await rig.gateway.stop(grace: 0.05)
    #expect(client.response() == nil)
    #expect(eventually { upstream.closedByClientCount == 1 })
  }

  @Test func workersShareAListener() throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port), workers: 3)
    let clients = try (0..<12).map { _ in try rig.client() }
    for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    #expect(clients.allSatisfy { $0.response()?.text == "ok" })
    #expect(eventually { rig.count("success") == 12 })
  }

  @Test func anAddressInUseIsAnError() throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port))
    #expect(throws: (any Error).self) {
      _ = try Gateway(
        Configuration(routes: [try Route(to: upstream.port)]), options: Gateway.Options(address: rig.gateway.address),
        metrics: try GatewayMetrics(rig.registry), log: Logger(level: .error))
    }
  }
}
