import CLinux
import Glibc
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

@Suite(.slow) struct ServerLimitTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private func rig(_ change: (inout ServerLimits) -> Void) throws -> ServerRig {
    try ServerRig(limits: .with(change)) { $0.respond(status: 200) }
  }

  @Test func slowHeadIsAnswered408() async throws {
    let rig = try rig { $0.headerTimeout = 1 }
    let client = try rig.client()
    client.send("GET / HTTP/1.1\r\nHost:")
    let answer = client.readToEnd()
    #expect(answer.text.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
    #expect(answer.ending == .end)
    #expect(rig.events.all.contains("timedOut(status: Optional(408))"))
    #expect(rig.events.all.contains { $0.hasPrefix("requestRefused(") && $0.contains("status: 408") })
  }

  @Test func drippingHeadIsAnswered408() throws {
    let client = try rig { $0.headerTimeout = 1 }.client()
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX: ")
    while client.send("x") { letPass(0.005) }
    #expect(client.readToEnd().text.hasPrefix("HTTP/1.1 408"))
  }

  @Test func silentConnectionIsClosed() throws {
    let rig = try rig { $0.headerTimeout = 0.05 }
    #expect(try rig.client().readToEnd() == ("", .end))
    #expect(rig.events.all == [])
  }

  @Test func idleConnectionIsClosed() throws {
    let client = try rig { $0.idleTimeout = 0.5 }.client()
    #expect(client.status(of: Self.get) == 200)
    #expect(client.readToEnd() == ("", .end))
  }

  @Test func slowBodyIsAnswered408() async throws {
    let log = Events()
    let client = try ServerRig(limits: .with { $0.bodyTimeout = 0.05 }) { exchange in
      exchange.onAbort = { log.append("aborted") }
      exchange.collectBody(limit: 10) { _ in log.append("collected") }
    }.client()
    #expect(client.status(of: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel") == 408)
    #expect(log.all == ["aborted"])
  }

  @Test func clientThatDoesNotReadIsReset() async throws {
    let log = Events()
    let rig = try ServerRig(limits: .with { $0.writeTimeout = 0.1 }) { exchange in
      if exchange.head.path == "/streamed" {
        exchange.onAbort = { log.append("aborted") }
        exchange.begin(status: 200, length: .chunked)
        while exchange.write([UInt8](repeating: 0, count: 1 << 20)) {}
      } else {
        exchange.respond(status: 200, body: [UInt8](repeating: 0, count: 20_000_000))
      }
    }
    let whole = try rig.client(receiveBuffer: 4096)
    whole.send(Self.get)
    #expect(try await rig.events.wait(for: "timedOut(status: nil)"))
    let streamed = try rig.client(receiveBuffer: 4096)
    streamed.send("GET /streamed HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try await log.wait(for: "aborted"))
    #expect(try await rig.waitForConnections { $0 == 0 })
    #expect(whole.readToEnd().ending == .reset)
  }

  @Test func waitingConnectionMakesPlace() async throws {
    let rig = try rig { $0.connections = 2 }
    let first = try rig.client()
    #expect(try await rig.waitForConnections { $0 == 1 })
    let second = try rig.client()
    #expect(second.status(of: Self.get) == 200)
    let third = try rig.client()
    #expect(third.status(of: Self.get) == 200)
    #expect(first.readToEnd() == ("", .end))
    #expect(second.status(of: Self.get) == 200)
    #expect(rig.events.all == ["connectionEvicted"])
  }

  /// Connections that discard what their clients still send are a quarter of all at most, and the oldest goes first.
  @Test func theOldestOneThatLingersMakesPlace() async throws {
    let rig = try rig { $0.connections = 8 }
    let clients = try (0..<3).map { _ in
      let client = try rig.client()
      client.send("GARBAGE\r\n")
      #expect(client.response()?.status == 400)
      return client
    }
    #expect(try await rig.waitForConnections { $0 == 2 })
    #expect(rig.tally.ended(.evicted) == 1)
    #expect(rig.events.all.filter { $0 == "connectionEvicted" } == [])
    clients[0].send("x")
    #expect(clients[0].readToEnd().ending == .end || !clients[0].send("x"))
    for client in clients.dropFirst() {
      #expect(client.send("more"))
      #expect(client.readToEnd() == ("", .end))
    }
    #expect(rig.tally.ended(.evicted) == 1)
  }

  /// The first of the two that could make place has sent a request that the server has not seen yet.
  @Test func whoHasJustAskedIsAnsweredFirst() throws {
    let rig = try rig { $0.connections = 1 }
    let used = try rig.client()
    #expect(used.status(of: Self.get) == 200)
    let second = try rig.whileLoopIsHeld {
      let second = try rig.client()
      used.send(Self.get)
      return second
    }
    #expect(used.response()?.status == 200)
    #expect(used.readToEnd() == ("", .end))
    #expect(second.status(of: Self.get) == 200)
  }

  /// Without free descriptors a waiting connection gives up its own; one at most, as it may go to others.
  @Test func withoutDescriptorsOneMakesPlaceAndAcceptingPauses() async throws {
    let rig = try rig { _ in }
    let waiting = try (0..<3).map { _ in try rig.client() }
    for client in waiting { #expect(client.status(of: Self.get) == 200) }
    let late = try rig.whileLoopIsHeld {
      rig.server.loop.post {
        ThisProcess.withoutFreeDescriptors { rig.server.core.value.descriptorReady(-1, events: .read) }
      }
      let late = try rig.client()
      late.send(Self.get)
      return late
    }
    #expect(late.response()?.status == 200)
    #expect(waiting[0].readToEnd() == ("", .end))
    for client in waiting.dropFirst() { #expect(client.status(of: Self.get) == 200) }
    let events = rig.events.all
    #expect(events.count == 2 && events[0] == "connectionEvicted" && events[1].hasPrefix("acceptFailed("), "\(events)")
  }

  @Test func busyConnectionsMakeNoPlace() async throws {
    let pending = Pending()
    let rig = try ServerRig(limits: .with { $0.connections = 1 }) { pending.append($0.bound) }
    let first = try rig.client()
    first.send(Self.get)
    #expect(try await pending.wait())
    let second = try rig.client()
    second.send(Self.get)
    #expect(await rig.connectionCount() == 1)
    rig.server.loop.run { pending.respondAll() }
    #expect(first.response()?.status == 200)
    #expect(first.readToEnd() == ("", .end))  // it waits now, so it makes place
    #expect(try await pending.wait())
    rig.server.loop.run { pending.respondAll() }
    #expect(second.response()?.status == 200)
  }

  @Test(
    .enabled(if: ThisProcess.raiseDescriptorLimit(to: 6000), "both ends of 2,000 connections need 6,000 descriptors"))
  func twoThousandConnections() async throws {
    let rig = try rig { $0.connections = 4000 }
    let clients = try (0..<2000).map { _ in try rig.client() }
    for _ in 0..<2 {
      for client in clients { client.send(Self.get) }
      for client in clients { #expect(client.response()?.status == 200) }
    }
    #expect(await rig.connectionCount() == 2000)
  }

  @Test(
    .enabled(if: ThisProcess.raiseDescriptorLimit(to: 6000), "both ends of 2,000 connections need 6,000 descriptors"))
  func twoThousandSlowClientsDoNotShutOutAGoodOne() async throws {
    let rig = try rig { $0.connections = 500 }
    let slow = try (0..<2000).map { _ in try rig.client() }
    for client in slow { client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ") }
    #expect(try rig.client().status(of: Self.get) == 200)
    #expect(await rig.connectionCount() <= 500)
  }
}
