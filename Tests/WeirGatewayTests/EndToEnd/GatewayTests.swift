import Testing
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// The gateway as a whole: workers, reload, drain.
@Suite(.slow, .serialized) struct GatewayTests {
  @Test func aReloadChangesWhereRequestsGo() async throws {
    let one = try ScriptedServer(.answering(okResponse("one"))), two = try ScriptedServer(.answering(okResponse("two")))
    let rig = try GatewayRig(Route(to: one.port), workers: 2)
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.text == "one")
    try await rig.gateway.reload(Configuration(routes: [try Route(to: two.port, name: "new")]))
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
    try await rig.gateway.reload(Configuration(routes: [try Route(to: 9, path: "/x", name: "new")]))
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

  /// A request that was under way as the gateway was told to stop, on a connection that looked idle.
  @Test func stoppingAnswersWhatWasUnderWay() async throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port), workers: 2)
    let used = try (0..<8).map { _ in try rig.client() }, fresh = try (0..<8).map { _ in try rig.client() }
    for client in used {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.values("Connection") == [])
    }
    let port = rig.gateway.address.port ?? 0
    let stopped = Task { await rig.gateway.stop(grace: 10) }
    // The listener has gone: whoever comes now is refused at once and can go elsewhere.
    #expect(eventually { (try? RawClient(port: port)) == nil })
    for client in used + fresh { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    for client in used + fresh {
      let response = client.response()
      // A worker that has not heard of it yet does not say that it will close.
      #expect(response?.text == "ok")
      #expect(client.rest().isEmpty && !client.wasReset)
    }
    await stopped.value
  }

  /// Those that wait to be accepted have been told that they are connected.
  @Test func stoppingAcceptsWhoWaits() async throws {
    let upstream = try ScriptedServer(.answering(okResponse("ok")))
    let rig = try GatewayRig(Route(to: upstream.port))
    let clients = try (0..<100).map { _ in try rig.client() }
    for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    let stopped = Task { await rig.gateway.stop(grace: 10) }
    #expect(clients.count { $0.response()?.text == "ok" } == 100)
    await stopped.value
  }

  @Test func stoppingAnswersAllThatWasPipelined() async throws {
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(.head, .wait(gate), .send(okResponse("one")), .forever([.head, .send(okResponse("more"))])))
    let rig = try GatewayRig(Route(to: upstream.port))
    let client = try rig.client()
    client.send((1...3).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
    #expect(eventually { !upstream.received().isEmpty })
    let port = rig.gateway.address.port ?? 0
    let stopped = Task { await rig.gateway.stop(grace: 10) }
    #expect(eventually { (try? RawClient(port: port)) == nil })
    gate.open()
    let responses = (1...3).map { _ in client.response() }
    #expect(responses.map { $0?.text } == ["one", "more", "more"])
    #expect(responses.map { $0?.values("Connection") } == [[], [], ["close"]])
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
