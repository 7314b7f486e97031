import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

/// Connections with a channel between the socket and HTTP.
@Suite(.slow, .timeLimit(.minutes(5))) struct SecureConnectionTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let end = "\u{0}"

  private let record = ScriptedChannel.Record()

  /// - Parameter space: The bytes that a channel takes at once.
  private func rig(
    space: Int = 32_768, proxies: Bool = false, _ change: (inout ServerLimits) -> Void = { _ in },
    answering handler: @escaping @Sendable (Exchange) -> Void = { $0.respond(status: 200, text: $0.head.path) }
  ) throws -> ServerRig {
    let expectsProxyHeader: @Sendable (SocketAddress) -> Bool = { _ in proxies }
    return try ServerRig(
      limits: .with(change), expectsProxyHeader: expectsProxyHeader,
      secure: { [record] in ScriptedChannel(space: space, record: record) }, handler)
  }

  private func opened(_ rig: ServerRig, receiveBuffer: CInt? = nil) throws -> RawClient {
    let client = try rig.client(receiveBuffer: receiveBuffer)
    client.send("HELLO\n")
    #expect(client.read(until: "WELCOME\n") == "WELCOME\n")
    return client
  }

  @Test(arguments: [6, 7, 64, 32_768]) func requestsPass(space: Int) throws {
    let rig = try rig(space: space)
    let client = try opened(rig)
    for path in ["/a", "/b"] {
      client.send("GET \(path) HTTP/1.1\r\nHost: a\r\nX-Long: \(String(repeating: "x", count: 4000))\r\n\r\n")
      #expect(client.response()?.body == path)
    }
    client.send((0..<200).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
    for number in 0..<200 { #expect(client.response()?.body == "/\(number)") }
    #expect(record.all == [.done])
    #expect(rig.tally.handshaking == 0)
  }

  @Test func aRequestMayFollowTheHandshakeInOneSegment() throws {
    let client = try rig().client()
    client.send("HELLO\n\(Self.get)")
    #expect(client.response()?.status == 200)
  }

  @Test func theHandshakeMayComeByteByByte() async throws {
    let rig = try rig()
    let client = try rig.client()
    for byte in Array("HELLO\n".utf8) {
      client.send([byte])
      await rig.readsOn()
    }
    #expect(client.read(until: "WELCOME\n") == "WELCOME\n")
    #expect(client.status(of: Self.get) == 200)
  }

  @Test func anEndIsSaidOnlyAfterACompleteResponse() throws {
    let closing = try opened(rig())
    closing.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(closing.readToEnd().text.hasSuffix("/\(Self.end)"))

    let cut = try opened(
      rig(answering: { exchange in
        exchange.begin(status: 200, length: .length(10))
        _ = exchange.write(Array("12345".utf8))
        exchange.abort()
      }))
    cut.send(Self.get)
    let text = cut.readToEnd().text
    #expect(text.hasSuffix("12345"), "\(text)")
  }

  /// What is discarded is not even decrypted: it may be no record.
  @Test func anEarlyAnswerToALargeUpload() throws {
    let rig = try rig(answering: { $0.collectBody(limit: 100_000) { _ in } })
    let client = try opened(rig)
    let body = String(repeating: "x", count: 5 << 20)
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\na00000\r\n\(body)")
    client.send([ScriptedChannel.broken])
    #expect(client.send(body))
    let (text, ending) = client.readToEnd()
    #expect(text.hasPrefix("HTTP/1.1 413 ") && text.hasSuffix("\r\n\r\nthe body is too large\n\(Self.end)"))
    #expect(ending == .end)
  }

  @Test func aClientMayEndItsSideAndReadOn() throws {
    let client = try opened(rig())
    client.send(Self.get + Self.end)
    #expect(client.readToEnd().text.hasSuffix("/\(Self.end)"))
    let other = try opened(rig())
    other.send(Self.get)
    other.endSending()
    #expect(other.readToEnd().text.hasSuffix("/\(Self.end)"))
  }

  @Test func aBodyWaitsInTheChannelForItsReader() throws {
    let reader = SlowReader()
    let body = String(repeating: "0123456789", count: 20_000)
    let client = try opened(
      rig({ $0.bodyBytes = 1 << 20 }, answering: { exchange in reader.start(exchange) }))
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    #expect(client.response()?.body == body)
  }

  @Test func aLargeResponseReachesASlowReader() throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 3 << 20)
    let rig = try rig(answering: { $0.respond(status: 200, body: body) })
    let client = try opened(rig, receiveBuffer: 4096)
    client.send(Self.get)
    #expect(client.response()?.body.utf8.count == body.count)
    #expect(client.status(of: Self.get) == 200)
  }

  /// What it sends is the beginning of a record, as far as the connection knows.
  @Test func aClientThatReadsNothingGetsNoTimeForSending() async throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 8 << 20)
    let rig = try rig({ $0.writeTimeout = 0.3 }, answering: { $0.respond(status: 200, body: body) })
    let client = try opened(rig, receiveBuffer: 4096)
    client.send(Self.get)
    #expect(
      await soon {
        client.send([ScriptedChannel.void])
        return rig.tally.ended(.slowRead) == 1
      })
  }

  @Test func aRefusedHandshakeIsReadEvenIfTheClientSendsMore() async throws {
    let rig = try rig()
    let client = try rig.client()
    client.send("NO\n" + String(repeating: "more", count: 1000))
    client.send("and more")
    #expect(client.readToEnd() == ("ALERT\n", .end))
    #expect(try await rig.events.wait(for: "it said NO"))
    #expect(record.all == [.failed])
  }

  @Test func aChannelMayBreakLater() async throws {
    let rig = try rig()
    let client = try opened(rig)
    client.send([ScriptedChannel.broken])
    #expect(client.readToEnd().text == "ALERT\n")
    #expect(try await rig.waitForConnections { $0 == 0 })
    #expect(rig.tally.ended(.tls) == 1)
  }

  @Test func plainHTTPIsToldWhatToDo() async throws {
    let rig = try rig()
    let client = try rig.client()
    client.send(Self.get)
    let response = client.response()
    #expect(response?.status == 400 && response?.body == "this address speaks TLS; use https://\n")
    client.endSending()
    #expect(try await rig.waitForConnections { $0 == 0 })
    #expect(rig.tally.ended(.tls) == 1)
    #expect(record.all == [.failed])
  }

  @Test func aHandshakeHasItsTime() async throws {
    let rig = try rig { $0.handshakeTimeout = 0.1 }
    let silent = try rig.client(), slow = try rig.client()
    slow.send("HEL")
    #expect(silent.readToEnd() == ("", .end) && slow.readToEnd() == ("", .end))
    #expect(try await rig.waitForConnections { $0 == 0 })
    #expect(rig.tally.ended(.tls) == 2 && rig.tally.handshaking == 0)
    #expect(record.all == [.timedOut], "the first has no channel")
  }

  @Test func clientsThatLeaveInAHandshakeCount() async throws {
    let rig = try rig()
    let client = try rig.client()
    client.send("HEL")
    #expect(try await rig.waitForConnections { $0 == 1 })
    #expect(rig.tally.handshaking == 1)
    client.endSending()
    #expect(try await rig.waitForConnections { $0 == 0 })
    #expect(record.all == [.abandoned] && rig.tally.ended(.client) == 1 && rig.tally.handshaking == 0)
  }

  @Test func aProxyHeaderComesFirst() async throws {
    let rig = try rig(proxies: true, answering: { $0.respond(status: 200, text: "\($0.peer)") })
    let header = "PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n"
    let client = try rig.client()
    client.send("\(header)HELLO\n\(Self.get)")
    #expect(client.response()?.body == "192.0.2.1:1000")
    let other = try rig.client()
    other.send(header)
    await rig.readsOn()
    other.send("HELLO\n")
    #expect(other.read(until: "WELCOME\n") == "WELCOME\n")
    #expect(other.status(of: Self.get) == 200)
  }

  @Test func aHandshakeThatHangsGivesWayAtOnce() async throws {
    let rig = try rig { $0.handshakes = 1 }
    let hanging = try rig.client()
    hanging.send("HEL")
    try await settle(rig, connections: 1)
    let second = try rig.client()
    second.send("HELLO\n\(Self.get)")
    #expect(second.response()?.status == 200)
    #expect(hanging.readToEnd() == ("", .end))
    #expect(record.all == [.timedOut, .done])
  }

  @Test func aHandshakeWhoseClientHasAnsweredDoesNotGiveWay() async throws {
    let rig = try rig { $0.handshakes = 1 }
    let first = try rig.client(), second = try rig.client()
    first.send("HEL")
    try await settle(rig, connections: 2)
    rig.whileLoopIsHeld {
      second.send("HELLO\n\(Self.get)")
      first.send("LO\n")
    }
    #expect(first.read(until: "WELCOME\n") == "WELCOME\n")
    #expect(second.response()?.status == 200)
    #expect(record.all == [.done, .done])
  }

  /// Waits until the server has read what its clients sent before.
  private func settle(_ rig: ServerRig, connections: Int) async throws {
    #expect(try await rig.waitForConnections { $0 == connections })
    await rig.readsOn()
  }

  /// A PROXY header that names the last number of the client's address.
  private static func from(_ client: Int) -> String { "PROXY TCP4 192.0.2.\(client) 192.0.2.255 1000 443\r\n" }

  /// The one that has the most gives up its own, however old those of others are.
  @Test func oneAddressDoesNotCostOthersTheirHandshakes() async throws {
    let rig = try rig(proxies: true) { $0.handshakes = 4 }
    let other = try rig.client()
    other.send(Self.from(1) + "HEL")
    try await settle(rig, connections: 1)
    var many: [RawClient] = []
    for number in 0..<13 {
      many.append(try rig.client())
      many[number].send(Self.from(2) + "HEL")
      if number >= 3 { #expect(many[number - 3].readToEnd() == ("", .end)) }
      try await settle(rig, connections: min(number + 2, 4))
    }
    other.send("LO\n")
    #expect(other.read(until: "WELCOME\n") == "WELCOME\n")
    for client in many.suffix(3) {
      client.send("LO\n")
      #expect(client.read(until: "WELCOME\n") == "WELCOME\n")
    }
    #expect(record.all == Array(repeating: .timedOut, count: 10) + Array(repeating: .done, count: 4))
  }

  /// Each address has one, so the oldest gives way.
  @Test func theOldestOfManyAddressesGivesWay() async throws {
    let rig = try rig(proxies: true) { $0.handshakes = 3 }
    var clients: [RawClient] = []
    for number in 0..<5 {
      clients.append(try rig.client())
      clients[number].send(Self.from(number) + "HEL")
      if number >= 3 { #expect(clients[number - 3].readToEnd() == ("", .end)) }
      try await settle(rig, connections: min(number + 1, 3))
    }
    for client in clients.suffix(3) {
      client.send("LO\n")
      #expect(client.read(until: "WELCOME\n") == "WELCOME\n")
    }
  }

  /// The steps of a turn are few, and those of an address with many handshakes come after others.
  @Test(arguments: [256, 4]) func oneAddressDoesNotKeepOthersWaiting(limit: Int) async throws {
    let order = Events()
    let rig = try rig(proxies: true) {
      $0.handshakes = limit
    } answering: {
      order.append("\($0.peer)")
      $0.respond(status: 200, text: "")
    }
    let clients = try (0...40).map { _ in try rig.client() }
    for (number, client) in clients.enumerated() { client.send(Self.from(number == 40 ? 1 : 2)) }
    #expect(try await rig.waitForConnections { $0 == 41 })
    rig.whileLoopIsHeld { for client in clients { client.send("HELLO\n\(Self.get)") } }
    for client in clients { #expect(client.response()?.status == 200) }
    let place = order.all.firstIndex { $0.hasPrefix("192.0.2.1:") }
    #expect(place.map { $0 <= 16 } == true, "\(order.all)")
  }

  /// A step that waits for its turn comes before those that the turn brings.
  @Test func newHandshakesDoNotKeepOldOnesWaiting() async throws {
    let order = Events()
    nonisolated(unsafe) var later: [RawClient] = []
    let rig = try rig(proxies: true) {
      $0.handshakes = 256
    } answering: {
      order.append("\($0.peer)")
      $0.respond(status: 200, text: "")
      later.popLast()?.send("HELLO\n\(Self.get)")
    }
    let clients = try (0..<80).map { _ in try rig.client() }
    for (number, client) in clients.enumerated() { client.send(Self.from(number)) }
    try await settle(rig, connections: clients.count)
    rig.whileLoopIsHeld {
      for client in clients[..<9] { client.send("HELLO\n\(Self.get)") }
      later = Array(clients[9...])
    }
    for client in clients { #expect(client.response()?.status == 200) }
    let place = order.all.firstIndex { $0.hasPrefix("192.0.2.8:") }
    #expect(place.map { $0 <= 16 } == true, "\(order.all)")
  }

  @Test func manyHandshakesAtOnceEndInTurns() throws {
    let rig = try rig { $0.handshakes = 20 }
    let clients = try (0..<60).map { _ in try rig.client() }
    rig.whileLoopIsHeld { for client in clients { client.send("HELLO\n\(Self.get)") } }
    for client in clients {
      #expect(client.response()?.status == 200)
    }
  }

  @Test func aDrainServesWhoIsInAHandshake() async throws {
    let rig = try rig { $0.stopLinger = 2 }
    let client = try rig.client()
    client.send("HEL")
    #expect(try await rig.waitForConnections { $0 == 1 })
    rig.server.stop(grace: 5) {}
    client.send("LO\n\(Self.get)")
    #expect(client.readToEnd().text.contains("200 OK"))
  }

  @Test func aHandshakeIsGivenUpForAnotherConnection() async throws {
    let rig = try rig { $0.connections = 1 }
    let first = try rig.client()
    first.send("HEL")
    #expect(try await rig.waitForConnections { $0 == 1 })
    await rig.readsOn()
    #expect(try opened(rig).status(of: Self.get) == 200)
    #expect(first.readToEnd() == ("", .end))
    #expect(rig.tally.ended(.evicted) == 1)
  }
}

/// Takes a body in pieces with pauses between them, and sends it back.
private final class SlowReader: BodyReader, @unchecked Sendable {
  private var exchange: Exchange?
  private var bytes: [UInt8] = []

  func start(_ exchange: Exchange) {
    self.exchange = exchange
    exchange.bodyReader = self
  }

  func didReceive(_ piece: UnsafeRawBufferPointer) -> BodyFlow {
    bytes += piece
    exchange?.loop.post { [self] in exchange?.resumeReading() }
    return .pause
  }

  func didEnd() { exchange?.respond(status: 200, body: bytes) }
}
