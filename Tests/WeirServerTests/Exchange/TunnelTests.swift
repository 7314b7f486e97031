import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

/// Connections that a handler makes tunnels of, over sockets.
@Suite(.timeLimit(.minutes(5))) struct TunnelTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n"
  private static let end = "\u{0}"

  private let taken = Events()

  /// A server whose tunnels are given to `begin`.
  private func rig(
    isSecure: Bool = false, limits change: (inout ServerLimits) -> Void = { _ in },
    _ begin: @escaping @Sendable (Exchange) -> Void
  ) throws -> ServerRig {
    let makeChannel: @Sendable () -> (any SecureChannel)? = {
      ScriptedChannel(space: 32_768, record: ScriptedChannel.Record())
    }
    return try ServerRig(limits: .with(change), secure: isSecure ? makeChannel : nil) { exchange in
      guard exchange.upgrade(fields: ["Upgrade": "echo"]) else {
        return exchange.respond(status: 426)
      }
      exchange.onAbort = { [taken] in taken.append("aborted, client left: \(exchange.hasClientLeft)") }
      begin(exchange)
    }
  }

  private func echoing(isSecure: Bool = false) throws -> ServerRig {
    try rig(isSecure: isSecure) { $0.bodyReader = Echo($0) }
  }

  private func taking(
    pausing: Bool = false, _ begin: @escaping @Sendable (Exchange) -> Void
  ) throws -> ServerRig {
    try rig { [taken] exchange in
      exchange.bodyReader = Taker(exchange, taken, pausing: pausing)
      begin(exchange)
    }
  }

  @Test func bytesPassBothWaysUntilBothSidesHaveEnded() async throws {
    let rig = try echoing()
    let client = try rig.client()
    client.send(Self.get + "early")
    #expect(client.read(until: "early") == Self.head + "early")
    client.send("GET / HTTP/1.1\r\n\r\n")
    #expect(client.read(until: "\r\n\r\n") == "GET / HTTP/1.1\r\n\r\n")
    #expect(rig.tally.active == 1)
    client.endSending()
    #expect(client.readToEnd() == ("", .end))
    #expect(try await rig.waitForConnections { $0 == 0 })
    #expect(rig.tally.active == 0)
    #expect(rig.tally.ended(.client) == 1)
    #expect(taken.all == [])
  }

  @Test func bytesPassThroughAChannel() throws {
    let client = try echoing(isSecure: true).client()
    client.send("HELLO\n" + Self.get + "early")
    #expect(client.read(until: "early") == "WELCOME\n" + Self.head + "early")
    client.send("more" + Self.end)
    #expect(client.readToEnd() == ("more" + Self.end, .end))
  }

  /// What has come is passed on all the same.
  @Test func aStreamThatIsCutInItsChannelIsKnownToBe() throws {
    let client = try echoing(isSecure: true).client()
    client.send("HELLO\n" + Self.get)
    _ = client.read(until: "\r\n\r\n")
    let text = String(repeating: "0123456789", count: 20_000)
    client.send(text)
    client.endSending()
    #expect(client.readToEnd() == (text, .end), "without an end of the channel's")
  }

  @Test(arguments: [false, true]) func muchPasses(isSecure: Bool) throws {
    let client = try echoing(isSecure: isSecure).client()
    client.send((isSecure ? "HELLO\n" : "") + Self.get)
    _ = client.read(until: "upgrade\r\n\r\n")
    for number in 0..<40 {
      let text = String(repeating: "0123456789abcde\n", count: 3_000) + "end \(number)."
      client.send(text)
      #expect(client.read(until: "end \(number).") == text)
    }
  }

  @Test func ourSideMayEndFirst() async throws {
    let rig = try taking { exchange in
      exchange.write(Array("bye".utf8))
      exchange.end()
      #expect(!exchange.isEnded)
    }
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.readToEnd() == (Self.head + "bye", .end))
    client.send("late")
    #expect(try await taken.wait(for: "late"))
    client.endSending()
    #expect(try await taken.wait(for: "end"))
    #expect(try await rig.waitForConnections { $0 == 0 })
  }

  /// Both sides of the socket have ended, while its reader has paused.
  @Test func aPausedReaderGetsAllThatTheSocketHolds() async throws {
    let held = Pending()
    let rig = try taking(pausing: true) { exchange in
      held.append(exchange.bound)
      exchange.end()
    }
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.readToEnd() == (Self.head, .end))
    client.send(String(repeating: "x", count: 150_000))
    client.endSending()
    #expect(
      await soon {
        rig.server.loop.run {
          held.take().map {
            held.append($0); $0.value.resumeReading()
          }
        }
        return taken.all.contains("end")
      })
    #expect(taken.all.last == "end")
    #expect(taken.all.compactMap { Int($0) }.reduce(0, +) == 150_000)
    #expect(try await rig.waitForConnections { $0 == 0 })
  }

  @Test func closingEndsBothSides() async throws {
    let rig = try taking { exchange in
      exchange.write(Array("bye".utf8))
      exchange.close()
      #expect(exchange.isEnded)
    }
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.readToEnd() == (Self.head + "bye", .end))
    client.send("dropped")
    client.endSending()
    #expect(try await rig.waitForConnections { $0 == 0 })
    #expect(taken.all == [])
  }

  @Test func abortingResets() throws {
    let client = try rig { exchange in
      exchange.loop.post { [exchange = exchange.bound] in exchange.value.abort() }
    }.client()
    client.send(Self.get)
    #expect(client.readToEnd().ending == .reset)
    #expect(taken.all == [])
  }

  @Test func aResetOfTheClientAborts() async throws {
    let rig = try taking { _ in }
    var client: RawClient? = try rig.client()
    client?.send(Self.get + "early")
    #expect(try await taken.wait(for: "early"))
    // What it has not read makes its end a reset.
    client = nil
    #expect(try await taken.wait(for: "aborted, client left: true"))
    #expect(try await rig.waitForConnections { $0 == 0 })
  }

  @Test func aClientThatTakesNothingIsReset() async throws {
    let rig = try rig(limits: { $0.writeTimeout = 0.2 }) { exchange in
      exchange.bodyReader = Echo(exchange)
      while exchange.write([UInt8](repeating: 0, count: 65_536)) {}
    }
    let client = try rig.client(receiveBuffer: 4096)
    client.send(Self.get)
    #expect(try await taken.wait(for: "aborted, client left: false"))
    #expect(await soon { rig.tally.ended(.slowRead) == 1 })
  }

  @Test func aStopWaitsForTunnelsUpToItsTimeout() async throws {
    let rig = try echoing()
    let client = try rig.client()
    client.send(Self.get)
    _ = client.read(until: "\r\n\r\n")
    let stopped = Events()
    rig.server.stop(grace: 0.5) { stopped.append("stopped") }
    client.send("still there")
    #expect(client.read(until: "there") == "still there")
    #expect(stopped.all == [])
    #expect(client.readToEnd().ending == .reset)
    #expect(try await stopped.wait(for: "stopped"))
    #expect(taken.all == ["aborted, client left: false"])
    #expect(rig.tally.ended(.drain) == 1)
  }

  @Test func tunnelsAreNotClosedForOthers() async throws {
    let rig = try rig(limits: { $0.connections = 1 }) { $0.bodyReader = Echo($0) }
    let client = try rig.client()
    client.send(Self.get)
    _ = client.read(until: "\r\n\r\n")
    let other = try rig.client()
    #expect(try await rig.events.wait(for: "connectionsWait"))
    client.send("still there")
    #expect(client.read(until: "there") == "still there")
    client.endSending()
    #expect(client.readToEnd() == ("", .end))
    other.send(Self.get)
    #expect(other.read(until: "\r\n\r\n") == Self.head)
  }

  // MARK: CONNECT

  private static let connect = "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"

  /// Python's http.client asks in HTTP/1.0.
  @Test(
    arguments: [
      connect, "CONNECT a:443 HTTP/1.0\r\n\r\n",
      "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
    ])
  func aTunnelIsConnected(request: String) async throws {
    let rig = try ServerRig { exchange in
      guard exchange.upgrade(status: 200, fields: ["Via": "1.1 weir"]) else { return exchange.respond(status: 500) }
      exchange.bodyReader = Echo(exchange)
    }
    let client = try rig.client()
    client.send(request + "early")
    #expect(client.read(until: "early") == "HTTP/1.1 200 OK\r\nVia: 1.1 weir\r\n\r\nearly")
    client.send(Self.get)
    #expect(client.read(until: "\r\n\r\n") == Self.get)
    client.endSending()
    #expect(client.readToEnd() == ("", .end))
    #expect(try await rig.waitForConnections { $0 == 0 })
  }

  /// More than the server reads ahead.
  @Test func bytesWaitForTheTunnel() async throws {
    let asked = Pending()
    let rig = try ServerRig { asked.append($0.bound) }
    let client = try rig.client()
    let early = String(repeating: "0123456789abcde\n", count: 4_000)
    client.send(Self.connect + early)
    let begun = Events()
    #expect(
      await soon {
        rig.server.loop.run {
          guard let exchange = asked.take()?.value else { return }
          if exchange.upgrade(status: 200, fields: [:]) { begun.append("begun") }
          exchange.bodyReader = Echo(exchange)
        }
        return begun.all == ["begun"]
      })
    client.endSending()
    #expect(client.readToEnd() == ("HTTP/1.1 200 OK\r\n\r\n" + early, .end))
  }

  /// The bytes that follow were meant for the tunnel, and are no request.
  @Test func aRefusedTunnelIsTheConnectionsLastRequest() throws {
    let rig = try ServerRig { exchange in
      #expect(!exchange.upgrade(fields: [:]))
      exchange.respond(status: 403)
    }
    let client = try rig.client()
    client.send(Self.connect + Self.get)
    let (text, ending) = client.readToEnd()
    #expect(text.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    #expect(text.contains("Connection: close\r\n"))
    #expect(text.ranges(of: "HTTP/1.1").count == 1)
    #expect(ending == .end)
  }

  @Test func only200ConnectsAndOnlyCONNECTGetsIt() throws {
    let rig = try ServerRig { exchange in
      let isConnect = exchange.head.method == "CONNECT"
      exchange.respond(status: exchange.upgrade(status: isConnect ? 204 : 200, fields: [:]) ? 500 : 403)
    }
    #expect(try rig.client().status(of: Self.connect) == 403)
    #expect(try rig.client().status(of: Self.get) == 403)
  }

  @Test func aClientOfHTTP10HasNoTunnel() throws {
    let client = try echoing().client()
    #expect(client.status(of: "GET / HTTP/1.0\r\n\r\n") == 426)
  }
}

/// Sends back what comes, and ends when the client does.
private final class Echo: BodyReader {
  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
    exchange.onWritable = { exchange.resumeReading() }
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { exchange.write(bytes) ? .proceed : .pause }

  func didEnd() { if exchange.isInputCut { exchange.close(isCut: true) } else { exchange.end() } }
}

/// Writes down what comes: short texts, and the counts of others. Perhaps it pauses after each piece.
private final class Taker: BodyReader {
  private let events: Events
  private let flow: BodyFlow

  init(_ exchange: Exchange, _ events: Events, pausing: Bool) {
    self.events = events
    flow = pausing ? .pause : .proceed
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    events.append(bytes.count < 10 ? String(decoding: bytes, as: UTF8.self) : "\(bytes.count)")
    return flow
  }

  func didEnd() { events.append("end") }
}
