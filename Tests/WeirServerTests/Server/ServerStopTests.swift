import Testing
import WeirIO

@testable import WeirServer

@Suite struct ServerStopTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func waitingConnectionsCloseAtOnce() async throws {
    let rig = try ServerRig { $0.respond(status: 200) }
    let used = try rig.client()
    #expect(used.status(of: Self.get) == 200)
    let fresh = try rig.client()
    #expect(try await rig.waitForConnections { $0 == 2 })
    await rig.server.stop(grace: 60)
    #expect(used.readToEnd() == ("", .end))
    #expect(fresh.readToEnd() == ("", .end))
  }

  @Test func runningExchangeEndsWithClose() async throws {
    let log = Events()
    let pending = Pending()
    let rig = try ServerRig { exchange in
      pending.append(exchange.bound)
      log.append("begun")
    }
    let client = try rig.client()
    client.send(Self.get)
    #expect(try await log.wait(for: "begun"))
    rig.server.stop(grace: 60) { log.append("stopped") }
    rig.server.loop.run { pending.respondAll() }
    let response = try #require(client.response())
    #expect(response.fields["connection"] == "close")
    #expect(client.readToEnd().ending == .end)
    #expect(try await log.wait(for: "stopped"))
    #expect(await rig.connectionCount() == 0)
  }

  @Test func graceIsBounded() async throws {
    let log = Events()
    let rig = try ServerRig { exchange in
      exchange.onAbort = { log.append("aborted") }
      log.append("begun")
    }
    let client = try rig.client()
    client.send(Self.get)
    #expect(try await log.wait(for: "begun"))
    await rig.server.stop(grace: 0.05)
    #expect(log.all == ["begun", "aborted"])
    #expect(client.readToEnd().ending == .reset)
  }

  @Test func stoppedServerAcceptsNoMore() async throws {
    let rig = try ServerRig { $0.respond(status: 200) }
    await rig.server.stop(grace: 1)
    #expect(throws: (any Error).self) { try rig.client() }
    #expect(await rig.connectionCount() == 0)
  }

  /// Before its loop has come round to them.
  @Test func waitingForAcceptanceIsAnswered() async throws {
    let rig = try ServerRig(limits: .with { $0.stopLinger = 8 }) { $0.respond(status: 200) }
    let clients = try await withCheckedThrowingContinuation { continuation in
      rig.server.loop.run {
        do {
          let clients = try (0..<50).map { _ in try rig.client() }
          rig.server.stop(grace: 10)
          continuation.resume(returning: clients)
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
    for client in clients {
      client.send(Self.get)
      #expect(client.response()?.fields["connection"] == "close")
      #expect(client.readToEnd() == ("", .end))
    }
  }

  @Test func aRequestUnderWayIsAnswered() async throws {
    let rig = try ServerRig(limits: .with { $0.stopLinger = 2 }) { $0.respond(status: 200) }
    let used = try rig.client(), silent = try rig.client()
    for client in [used, silent] { #expect(client.status(of: Self.get) == 200) }
    rig.server.stop(grace: 10) {}
    #expect(try await rig.waitForConnections { _ in !rig.server.listener.isOpen })
    used.send(Self.get)
    #expect(used.response()?.fields["connection"] == "close")
    #expect(used.readToEnd() == ("", .end))
    #expect(silent.readToEnd() == ("", .end))
  }

  @Test func releasedServerCloses() throws {
    let listener = try Listener(.loopback(port: 0))
    let loop = try EventLoop(name: "test")
    let client: RawClient
    do {
      let server = Server(listener: listener, loop: loop, handler: ClosureHandler { $0.respond(status: 200) })
      server.start()
      client = try RawClient(port: listener.address.port ?? 0)
      #expect(client.status(of: Self.get) == 200)
    }
    #expect(client.readToEnd().ending == .end)
  }
}
