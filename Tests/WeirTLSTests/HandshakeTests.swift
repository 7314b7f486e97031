import CTLS
import Testing
import WeirTLS

@Suite struct HandshakeTests {
  private let settings: TLSSettings

  init() throws {
    settings = TLSSettings(certificates: [try MadeCertificate("server", alternatives: "DNS:server.example").pair()])
  }

  @Test(
    arguments: [
      ([], nil, true), (["http/1.1"], "http/1.1", true), (["h2", "http/1.1"], "http/1.1", true), (["h2"], nil, false),
      (["http/1.0"], "http/1.0", true), (["http/1.0", "http/1.1"], "http/1.1", true),
      (["http/2", "http/1"], nil, false),
    ] as [([String], String?, Bool)])
  func protocolIsChosen(offered: [String], chosen: String?, isGood: Bool) throws {
    let context = try TLSServerContext(settings)
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      let connection = try Connection.opened(context, .init(protocols: offered, maximum: maximum))
      #expect((connection.state == .done) == isGood)
      #expect(connection.client.chosenProtocol == chosen)
      if !isGood {
        #expect(connection.failure == .applicationProtocol)
        #expect(connection.client.failure?.contains("no application protocol") == true)
      }
    }
  }

  @Test(arguments: [
    (TLSSettings.Version.v1_2, TLS1_1_VERSION, nil), (.v1_2, TLS1_2_VERSION, "1.2"), (.v1_2, TLS1_3_VERSION, "1.3"),
    (.v1_3, TLS1_2_VERSION, nil), (.v1_3, TLS1_3_VERSION, "1.3"),
  ])
  func versionIsAgreedUpon(minimum: TLSSettings.Version, maximum: CInt, expected: String?) throws {
    var settings = settings
    settings.minimumVersion = minimum
    let connection = try Connection.opened(
      try TLSServerContext(settings), .init(minimum: TLS1_VERSION, maximum: maximum))
    if let expected {
      #expect(connection.state == .done)
      #expect(connection.stream.version == expected)
    } else {
      #expect(connection.failure == .version)
      #expect(connection.client.failure?.contains("alert") == true)
    }
    #expect(connection.client.isDone == (expected != nil))
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\n", "DELETE /a HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "CONNECT a:1 HTTP/1.1\r\n", "P ",
  ])
  func plainHTTPIsTold(request: String) throws {
    let stream = try TLSStream(try TLSServerContext(settings))
    #expect(stream.step() == .needsInput)
    for byte in request.utf8.prefix(while: { $0 != UInt8(ascii: " ") }) {
      stream.take([byte])
      #expect(stream.step() == .needsInput)
    }
    stream.take(Array(" / HTTP".utf8))
    #expect(stream.step() == .plainHTTP)
    #expect(stream.step() == .plainHTTP)
    #expect(stream.output.isEmpty)
  }

  @Test(arguments: [
    "GET", "SSH-2.0-x\r\n", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "get / HTTP", "\0\0\0\0\0\0\0", "\r\n\r\n\r\n",
  ])
  func garbageEndsTheHandshake(text: String) throws {
    let stream = try TLSStream(try TLSServerContext(settings))
    stream.take(Array(text.utf8))
    if text == "GET" {
      #expect(stream.step() == .needsInput)
    } else {
      guard case .failed(let failure) = stream.step() else {
        Issue.record("no failure")
        return
      }
      #expect(failure.reason == .notTLS)
      #expect(stream.step() == .failed(failure))
      #expect(stream.readAll().end == .failed(failure))
      #expect(throws: failure) { try stream.write([1]) }
      stream.closeNotify()
    }
  }

  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func bytesMayComeOneByOne(maximum: CInt) throws {
    var connection = try Connection.opened(try TLSServerContext(settings), .init(maximum: maximum), pieces: 1)
    #expect(connection.state == .done)
    connection.client.write(Array("hello".utf8))
    var got: [UInt8] = []
    for byte in connection.client.takeOutput() {
      connection.stream.take([byte])
      got += connection.stream.readAll().bytes
    }
    #expect(got == Array("hello".utf8))
    connection.open()
  }

  /// A stream that is given up in the middle frees what it holds, and none is done early.
  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func handshakesMayEndAnywhere(maximum: CInt) throws {
    let context = try TLSServerContext(settings)
    var cut = 0
    while true {
      let (stream, client) = (try TLSStream(context), try TestClient(.init(maximum: maximum)))
      var left = cut
      var state = TLSStream.State.needsInput
      for _ in 0..<6 {
        client.handshake()
        let bytes = client.takeOutput()
        stream.take(Array(bytes.prefix(left)))
        left -= min(left, bytes.count)
        state = stream.step()
        client.take(stream.takeOutput())
      }
      if state == .done { break }
      #expect(state == .needsInput)
      #expect(stream.readAll().end == .needsInput)
      #expect(throws: TLSFailure.self) { try stream.write([1]) }
      cut += 1
    }
    #expect(cut > 200)
  }

  /// A change of any byte of the client's last flight ends the handshake, and never in a trap.
  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func changedBytesEndTheHandshake(maximum: CInt) throws {
    let context = try TLSServerContext(settings)
    var place = 0
    while true {
      let (stream, client) = (try TLSStream(context), try TestClient(.init(maximum: maximum)))
      client.handshake()
      stream.take(client.takeOutput())
      #expect(stream.step() == .needsInput)
      client.take(stream.takeOutput())
      client.handshake()
      var flight = client.takeOutput()
      guard place < flight.count else { break }
      flight[place] ^= 0xff
      stream.take(flight)
      #expect(stream.step() != .done, "byte \(place)")
      place += 1
    }
    #expect(place > 50)
  }

  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func alertsOfTheClientAreTold(maximum: CInt) throws {
    let context = try TLSServerContext(settings)
    let connection = try Connection.opened(context, .init(maximum: maximum, verifies: true))
    guard case .failed(let failure) = connection.state else {
      Issue.record("\(connection.state)")
      return
    }
    #expect(failure.reason == .alert)
    #expect(failure.detail.contains("unknown ca"))

    let (stream, client) = (try TLSStream(context), try TestClient(.init(maximum: maximum)))
    client.handshake()
    stream.take(client.takeOutput())
    #expect(stream.step() == .needsInput)
    // close_notify in the clear
    stream.take([21, 3, 3, 0, 2, 1, 0])
    guard case .failed(let failure) = stream.step() else {
      Issue.record("no failure")
      return
    }
    #expect(failure.reason == .alert)
  }

  @Test func firstMessageIsBounded() throws {
    func state(claiming length: Int) throws -> TLSStream.State {
      let stream = try TLSStream(try TLSServerContext(settings))
      stream.take([22, 3, 1, 0, 4, 1, UInt8(length >> 16), UInt8(length >> 8 & 0xff), UInt8(length & 0xff)])
      return stream.step()
    }
    #expect(try state(claiming: 131_396) == .needsInput)
    guard case .failed(let failure) = try state(claiming: 131_397) else {
      Issue.record("a longer message is taken")
      return
    }
    #expect(failure.reason == .protocolError)
  }

  @Test func contextServesAllThreadsAtOnce() async throws {
    let clock = TicketTests.Clock()
    let context = try TLSServerContext(settings) { clock.now }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for round in 0..<20 {
            let maximum = round % 2 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION
            let first = try Connection.opened(context, .init(serverName: "server.example", maximum: maximum))
            #expect(first.state == .done)
            clock.advance(hours: 1)
            let second = try Connection.opened(context, .init(maximum: maximum, session: first.client.session))
            #expect(second.state == .done)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func flightsOfTheFirstMessageMayBeAnything() throws {
    let context = try TLSServerContext(settings)
    let client = try TestClient()
    client.handshake()
    let hello = client.takeOutput()
    for place in hello.indices {
      for mask: UInt8 in [0x01, 0x80, 0xff] {
        var changed = hello
        changed[place] ^= mask
        let stream = try TLSStream(context)
        stream.take(changed)
        #expect(stream.step() != .done)
      }
    }
  }
}
