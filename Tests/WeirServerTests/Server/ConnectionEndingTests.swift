import Glibc
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

/// A server's counts of its connections, and the limits that came with listeners.
@Suite(.slow, .timeLimit(.minutes(5))) struct ConnectionEndingTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"

  private func rig(_ change: (inout ServerLimits) -> Void = { _ in }) throws -> ServerRig {
    try ServerRig(limits: .with(change)) { exchange in
      if exchange.head.method == "GET" { return exchange.respond(status: 200) }
      exchange.collectBody(limit: 100) { _ in exchange.respond(status: 200) }
    }
  }

  private func counts(_ rig: ServerRig) -> [ConnectionEnding: Int] {
    let pairs = ConnectionEnding.allCases.map { ($0, rig.tally.ended($0)) }
    return Dictionary(uniqueKeysWithValues: pairs).filter { $0.value > 0 }
  }

  private func expect(_ ending: ConnectionEnding, _ rig: ServerRig) async throws {
    #expect(try await rig.waitForConnections { $0 == 0 && !counts(rig).isEmpty })
    #expect(counts(rig) == [ending: 1])
    #expect(rig.tally.open == 0 && rig.tally.active == 0 && rig.tally.accepted == 1)
  }

  @Test(arguments: [
    (get, ConnectionEnding.idle), ("", .idle), ("GET / HT", .slowHeader), (get + "GET", .slowHeader),
    (post + "ab", .slowBody), ("GET / HTTP/9.9\r\n\r\n", .refused), (get + "rubbish\r\n\r\n", .refused),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", .client),
  ])
  func saysWhy(_ input: String, _ ending: ConnectionEnding) async throws {
    let rig = try rig {
      $0.idleTimeout = 0.5
      $0.headerTimeout = 0.5
      $0.bodyTimeout = 0.5
    }
    do {
      let client = try rig.client()
      if !input.isEmpty { client.send(input) }
      _ = client.readToEnd()
    }
    try await expect(ending, rig)
  }

  @Test func aClientLeaves() async throws {
    let rig = try rig()
    do {
      let client = try rig.client()
      #expect(client.status(of: Self.get) == 200)
      #expect(rig.tally.open == 1)
    }
    try await expect(.client, rig)
  }

  @Test func oneIsClosedForAnother() async throws {
    let rig = try rig { $0.connections = 1 }
    let first = try rig.client()
    #expect(first.status(of: Self.get) == 200)
    let second = try rig.client()
    #expect(second.status(of: Self.get) == 200)
    #expect(counts(rig) == [.evicted: 1])
    withExtendedLifetime(first) {}
  }

  /// Their clients have sent all of their requests by then.
  @Test func connectionsWithAProxyHeaderAreNotClosedUnread() async throws {
    let rig = try ServerRig(limits: .with { $0.connections = 2 }, expectsProxyHeader: { _ in true }) {
      $0.respond(status: 200)
    }
    let clients = try rig.whileLoopIsHeld {
      try (0..<8).map { _ in
        let client = try rig.client()
        client.send("PROXY TCP4 192.0.2.1 127.0.0.1 1 80\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return client
      }
    }
    for client in clients { #expect(client.readToEnd().text.hasPrefix("HTTP/1.1 200")) }
  }

  @Test func aClientThatReadsNothing() async throws {
    let rig = try ServerRig(limits: .with { $0.writeTimeout = 0.2 }) {
      $0.respond(status: 200, body: [UInt8](repeating: 0, count: 16 << 20))
    }
    let client = try rig.client(receiveBuffer: 4096)
    client.send(Self.get)
    try await expect(.slowRead, rig)
    withExtendedLifetime(client) {}
  }

  @Test func theServerStops() async throws {
    let rig = try rig()
    let client = try rig.client()
    #expect(client.status(of: Self.get) == 200)
    await rig.server.stop(grace: 5)
    try await expect(.drain, rig)
    withExtendedLifetime(client) {}
  }

  @Test func anOldConnectionAnswersOnceMoreAndCloses() async throws {
    let rig = try rig { $0.maximumAge = 1 }
    let client = try rig.client()
    #expect(client.status(of: Self.get) == 200)
    client.send("GET / HT")
    // It reaches its age within the head.
    try await letPass(1.1)
    client.send("TP/1.1\r\nHost: a\r\n\r\n")
    let answer = client.readToEnd()
    #expect(answer.text.hasPrefix("HTTP/1.1 200"))
    #expect(answer.text.contains("Connection: close\r\n"))
    try await expect(.age, rig)
  }

  /// Each response of which a client may think that another request can follow is followed by an answer.
  @Test func noRequestIsLostToAge() async throws {
    let rig = try rig { $0.maximumAge = 0.02 }
    for pause in 0..<40 {
      let client = try rig.client()
      for _ in 0..<20 {
        client.send(Self.get)
        let head = client.read(until: "\r\n\r\n")
        #expect(head.hasPrefix("HTTP/1.1 200"))
        if head.contains("Connection: close") { break }
        try await letPass(Double(pause) / 10_000)
      }
    }
  }

  @Test func oneAddressHasSoManyConnections() async throws {
    let rig = try rig { $0.connectionsPerClient = 2 }
    var clients = try (0..<2).map { _ in try rig.client() }
    for client in clients { #expect(client.status(of: Self.get) == 200) }
    let third = try rig.client()
    third.send(Self.get)
    #expect(third.readToEnd().text == "")
    #expect(counts(rig) == [.refused: 1])
    #expect(rig.tally.accepted == 3 && rig.tally.open == 2)
    clients.removeFirst()
    #expect(try await rig.waitForConnections { $0 == 1 })
    #expect(try rig.client().status(of: Self.get) == 200)
  }

  @Test func aRetiredServerThatGoesLeavesTheListenerOpen() async throws {
    let listener = try Listener(.loopback(port: 0))
    let handler = ClosureHandler { $0.respond(status: 200) }
    let loop = try EventLoop(name: "test")
    var old: Server? = Server(listener: listener, loop: loop, handler: handler)
    old?.start()
    let next = Server(listener: listener, loop: loop, handler: handler)
    next.start()
    await withCheckedContinuation { continuation in old?.retire(grace: 1) { continuation.resume() } }
    old = nil
    await withCheckedContinuation { continuation in loop.post { continuation.resume() } }
    #expect(try RawClient(port: listener.address.port ?? 0).status(of: Self.get) == 200)
    withExtendedLifetime(next) {}
  }

  @Test func aRetiredServerLeavesTheListenerToOthers() async throws {
    let rig = try rig { $0.stopLinger = 1 }
    let old = try rig.client()
    #expect(old.status(of: Self.get) == 200)
    let next = Server(
      listener: rig.server.listener, loop: try EventLoop(name: "next"), limits: .with { _ in },
      handler: ClosureHandler { $0.respond(status: 204) })
    next.start()
    rig.server.retire(grace: 5)
    // A request that was under way is answered, and then the connection closes.
    old.send(Self.get)
    #expect(old.readToEnd().text.hasPrefix("HTTP/1.1 200"))
    #expect(try await rig.waitForConnections { $0 == 0 })
    for _ in 0..<20 { #expect(try rig.client().status(of: Self.get) == 204) }
    #expect(rig.tally.accepted == 1)
  }
}
