import CTLS
import Testing
import WeirTLS
import WeirTestSupport

@Suite struct TransferTests {
  private let context: TLSServerContext

  init() throws {
    context = try TLSServerContext(
      TLSSettings(certificates: [try MadeCertificate("server", alternatives: "DNS:server.example").pair()]))
  }

  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func largeWritesArriveBothWays(maximum: CInt) throws {
    let connection = try Connection.opened(context, .init(maximum: maximum))
    let sent = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try connection.stream.write(sent)
    var received: [UInt8] = []
    // The output is consumed in uneven parts.
    while !connection.stream.output.isEmpty {
      let part = Array(connection.stream.output.prefix(10_007))
      connection.stream.consumeOutput(part.count)
      connection.client.take(part)
      received += connection.client.read()
    }
    #expect(received == sent)

    connection.client.write(sent)
    var got: [UInt8] = []
    for piece in connection.client.takeOutput().pieces(of: 9_001) {
      connection.stream.take(piece)
      let (bytes, end) = connection.stream.readAll()
      got += bytes
      #expect(end == .needsInput)
    }
    #expect(got == sent)
    #expect(connection.stream.inputSpace == TLSStream.inputLimit)
  }

  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION]) func closeNotifyIsToldApart(maximum: CInt) throws {
    let connection = try Connection.opened(context, .init(maximum: maximum))
    connection.client.write(Array("last".utf8))
    connection.client.close()
    let (bytes, end) = connection.sendToServer()
    #expect(bytes == Array("last".utf8))
    #expect(end == .closed)
    connection.stream.take([1, 2, 3])
    #expect(connection.stream.readAll().end == .closed)
    // The server may still answer.
    try connection.stream.write(Array("answer".utf8))
    connection.stream.closeNotify()
    connection.stream.closeNotify()
    connection.client.take(connection.stream.takeOutput())
    #expect(connection.client.read() == Array("answer".utf8))
    #expect(connection.client.hasServerClosed)
    #expect(throws: TLSFailure.self) { try connection.stream.write([1]) }
  }

  @Test func renegotiationIsRefused() throws {
    let connection = try Connection.opened(context, .init(maximum: TLS1_2_VERSION))
    #expect(SSL_renegotiate(connection.client.ssl) == 1)
    SSL_do_handshake(connection.client.ssl)
    let (bytes, end) = connection.sendToServer()
    #expect(bytes.isEmpty)
    #expect(end == .needsInput)
    connection.client.take(connection.stream.takeOutput())
    #expect(connection.client.read().isEmpty)
    #expect(connection.client.failure == "no renegotiation")
  }

  @Test func garbageAfterTheHandshakeFails() throws {
    var random = SeededRandom(seed: 7)
    for maximum in [TLS1_2_VERSION, TLS1_3_VERSION] {
      for round in 0..<200 {
        let connection = try Connection.opened(context, .init(maximum: maximum))
        connection.client.write(Array("good".utf8))
        var bytes = connection.client.takeOutput()
        if round % 2 == 0 {
          // A record of the right type whose contents are wrong.
          let place = Int.random(in: 5..<bytes.count, using: &random)
          bytes[place] ^= UInt8.random(in: 1...255, using: &random)
        } else {
          bytes = (0..<Int.random(in: 5...2000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        connection.stream.take(bytes)
        let (read, end) = connection.stream.readAll()
        #expect(read.isEmpty)
        // Random bytes may look like the head of a longer record.
        if round % 2 == 0 || end != .needsInput {
          guard case .failed = end else {
            Issue.record("\(end)")
            continue
          }
          #expect(!connection.stream.isOpen)
          #expect(connection.stream.readAll().end == end)
        }
      }
    }
  }

  @Test func keyUpdatesAreAnsweredWithinABound() throws {
    let connection = try Connection.opened(context)
    for _ in 0..<20 {
      SSL_key_update(connection.client.ssl, SSL_KEY_UPDATE_REQUESTED)
      connection.client.write(Array("x".utf8))
    }
    #expect(connection.sendToServer().bytes.count == 20)
    try connection.stream.write(Array("answer".utf8))
    connection.client.take(connection.stream.takeOutput())
    #expect(connection.client.read() == Array("answer".utf8))

    var end = TLSStream.ReadResult.needsInput
    var largest = 0
    for _ in 0..<5000 where end == .needsInput {
      SSL_key_update(connection.client.ssl, SSL_KEY_UPDATE_REQUESTED)
      SSL_do_handshake(connection.client.ssl)
      end = connection.sendToServer().end
      largest = max(largest, connection.stream.output.count)
    }
    guard case .failed(let failure) = end else {
      Issue.record("\(end)")
      return
    }
    #expect(failure.reason == .flood)
    #expect(largest <= 17 << 10)
  }
}
