import Foundation
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

@Suite(.slow) struct AcceptShareTests {
  @Test(arguments: [
    // Idle: one, whoever shares the listener.
    (ready: 1, own: 0, all: 0, servers: 1, connections: 1, isAhead: false),
    (1, 0, 7, 2, 1, false),
    // Busy: as many as are ready.
    (200, 512, 512, 1, 200, false),
    (200, 100, 200, 2, 200, false),
    (200, 66, 200, 3, 200, false),
    // Ahead of another: one, however busy.
    (200, 101, 200, 2, 1, true),
    (200, 67, 200, 3, 1, true),
    (1, 1, 1, 2, 1, true),
    // Asked outside of a turn that had anything ready.
    (0, 0, 0, 1, 1, false),
  ])
  func share(ready: Int, own: Int, all: Int, servers: Int, connections: Int, isAhead: Bool) {
    let share = AcceptShare(ready: ready, own: own, all: all, servers: servers)
    #expect(share.connections == connections)
    #expect(share.isAhead == isAhead)
  }

  /// Sixty-four connect while a loop has sixty-four requests to answer. At one per turn they would be served in as many.
  @Test func whoWaitsToBeAcceptedIsServedWithTheOthers() throws {
    let turns = Turns()
    let rig = try ServerRig { exchange in
      if exchange.head.path == "/new" { turns.insert(exchange.loop.turnTime) }
      exchange.respond(status: 200)
    }
    let clients = try (0..<64).map { _ in try rig.client() }
    for client in clients { #expect(client.status(of: "GET / HTTP/1.1\r\nHost: a\r\n\r\n") == 200) }
    let others = try rig.whileLoopIsHeld {
      for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      return try (0..<64).map { _ in
        let client = try rig.client()
        client.send("GET /new HTTP/1.1\r\nHost: a\r\n\r\n")
        return client
      }
    }
    for client in clients + others { #expect(client.response()?.status == 200) }
    #expect(turns.count <= 3)
  }

  /// Clients come one by one while both loops sleep, of which the system would always wake the same.
  @Test func sleepingLoopsShareWhoComes() async throws {
    let listener = try Listener(.loopback(port: 0))
    let servers = try (0..<2).map { number in
      Server(
        listener: listener, loop: try EventLoop(name: "test.\(number)"),
        handler: ClosureHandler { $0.respond(status: 200) })
    }
    for server in servers { server.start() }
    let port = try #require(listener.address.port)
    var clients: [RawClient] = []
    for _ in 0..<32 {
      try await eventually("both sleep") { try Self.sleepers.isSuperset(of: ["test.0", "test.1"]) }
      let client = try RawClient(port: port)
      #expect(client.status(of: "GET / HTTP/1.1\r\nHost: a\r\n\r\n") == 200)
      clients.append(client)
    }
    var counts: [Int] = []
    for server in servers { counts.append(await server.connectionCount()) }
    #expect(counts.reduce(0, +) == 32)
    #expect(counts.allSatisfy { $0 >= 12 }, "\(counts)")
    withExtendedLifetime(clients) {}
  }

  /// The names of this process's threads that sleep, as proc_pid_stat(5) tells.
  private static var sleepers: Set<Substring> {
    get throws {
      let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
      return Set(
        tasks.compactMap { task in
          let stat = try? ThisProcess.text(ofFile: "/proc/self/task/\(task)/stat")
          guard let fields = stat?.split(whereSeparator: { "()".contains($0) }), fields.count == 3,
            fields[2].hasPrefix(" S ")
          else { return nil }
          return fields[1]
        })
    }
  }

  /// The turns of a loop in which something happened.
  private final class Turns: Sendable {
    private let times = Mutex<Set<MonotonicTime>>([])

    func insert(_ time: MonotonicTime) { times.withLock { _ = $0.insert(time) } }
    var count: Int { times.withLock { $0.count } }
  }
}
