import Testing
import WeirIO

@testable import WeirServer

@Suite struct RequestBodyTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  /// Answers with the body, whole.
  private func echo(limit: Int = 1 << 20, limits: ServerLimits = ServerLimits()) throws -> ServerRig {
    try ServerRig(limits: limits) { exchange in
      exchange.collectBody(limit: limit) { exchange.respond(status: 200, body: $0) }
    }
  }

  @Test(arguments: [
    ("Content-Length: 5\r\n\r\nhello", "hello"),
    ("Content-Length: 0\r\n\r\n", ""),
    ("\r\n", ""),
    ("Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n", "hello"),
    ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""),
  ])
  func bodyIsCollected(rest: String, body: String) throws {
    let client = try echo().client()
    for _ in 0..<2 {
      client.send("POST / HTTP/1.1\r\nHost: a\r\n\(rest)")
      #expect(client.response()?.body == body)
    }
  }

  @Test func bodyArrivesInPieces() throws {
    let client = try echo().client()
    for octet in "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello".utf8 { client.send([octet]) }
    #expect(client.response()?.body == "hello")
  }

  @Test func largeBodyIsCollected() throws {
    let client = try echo().client()
    let body = String(repeating: "0123456789", count: 100_000)
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    #expect(client.response()?.body == body)
  }

  @Test(arguments: [
    "Content-Length: 11\r\n\r\n01234567890",
    "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n",
  ])
  func tooLargeBodyIsRefused(rest: String) throws {
    let client = try echo(limit: 10).client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\n\(rest)")
    let response = try #require(client.response())
    #expect(response.status == 413)
    #expect(response.fields["connection"] == "close")
    #expect(client.readToEnd().ending == .end)
  }

  @Test func serversLimitHoldsForAllBodies() throws {
    let rig = try echo(limits: .with { $0.bodyBytes = 10 })
    #expect(try rig.client().status(of: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n") == 413)
    let chunks = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"
    #expect(try rig.client().status(of: chunks) == 413)
    #expect(try rig.client().status(of: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789") == 200)
  }

  @Test func malformedChunksAbortTheExchange() async throws {
    let log = Events()
    let client = try ServerRig { exchange in
      exchange.onAbort = { log.append("aborted") }
      exchange.collectBody(limit: 10) { _ in log.append("collected") }
    }.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naX")
    #expect(client.response()?.status == 400)
    #expect(log.all == ["aborted"])
  }

  @Test func cutBodyAbortsTheExchange() async throws {
    let log = Events()
    let client = try ServerRig { exchange in
      exchange.onAbort = { log.append("aborted") }
      exchange.collectBody(limit: 10) { _ in log.append("collected") }
    }.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel")
    client.endSending()
    #expect(client.readToEnd().text == "")
    #expect(try await log.wait(for: "aborted"))
    #expect(log.all == ["aborted"])
  }

  @Test func continueIsSentWhenTheBodyIsFirstRead() async throws {
    let pending = Pending()
    let rig = try ServerRig { exchange in pending.append(exchange.bound) }
    let client = try rig.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    #expect(try await pending.wait())
    rig.server.loop.run { pending.echoAll() }
    #expect(client.response()?.status == 100)
    client.send("hello")
    #expect(client.response()?.body == "hello")
  }

  @Test func refusedExpectationEndsTheConnection() throws {
    let client = try ServerRig { $0.respond(status: 403) }.client()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    let response = try #require(client.response())
    #expect(response.status == 403)
    #expect(response.fields["connection"] == "close")
    #expect(client.readToEnd() == ("", .end))
  }

  @Test func unreadBodyIsDiscarded() throws {
    let client = try ServerRig { $0.respond(status: 200) }.client()
    let body = String(repeating: "x", count: 100_000)
    for _ in 0..<3 {
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      #expect(client.response()?.status == 200)
    }
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n\(body)\r\n0\r\n\r\n")
    #expect(client.response()?.status == 200)
    #expect(client.status(of: Self.get) == 200)
  }

  @Test func hugeUnreadBodyClosesTheConnection() throws {
    let rig = try ServerRig(limits: .with { $0.drainBytes = 1000 }) { $0.respond(status: 200) }
    let known = try rig.client()
    known.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n")
    #expect(known.response()?.fields["connection"] == "close")
    let chunked = try rig.client()
    chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    #expect(chunked.response()?.fields["connection"] == nil)
    chunked.send("3e9\r\n" + String(repeating: "x", count: 1001))
    #expect(chunked.readToEnd().text == "")
  }

  static let large = String(repeating: "x", count: 10 << 20)

  /// A client that sends all before it reads gets an early answer whole: of the server, of a handler that reads nothing,
  /// of one whose answer does not fit into the sockets, and of one that has read enough.
  @Test(arguments: ["refused", "unread", "large", "read"])
  func anEarlyAnswerToALargeUpload(kind: String) throws {
    let rig = try ServerRig(limits: .with { $0.bodyBytes = kind == "refused" ? 1 << 20 : nil }) { exchange in
      if kind == "unread" || kind == "large" {
        exchange.respond(status: 413, text: kind == "large" ? Self.large : "the body is too large\n")
      } else {
        exchange.collectBody(limit: 1 << 20) { _ in }
      }
    }
    for framing in ["Content-Length: \(10 << 20)\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\na00000\r\n"] {
      let client = try rig.client()
      // Of a chunked body that no handler takes, some is read before the connection ends.
      #expect(client.send("POST / HTTP/1.1\r\nHost: a\r\n\(framing)\(Self.large)"))
      let (text, ending) = client.readToEnd()
      #expect(ending == .end)
      #expect(text.hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
      #expect(text.hasSuffix("\r\n\r\n\(kind == "large" ? Self.large : "the body is too large\n")"))
    }
  }

  @Test func pausedReaderHoldsTheClientBack() throws {
    let client = try ServerRig { $0.bodyReader = PausingReader($0) }.client()
    let body = String(repeating: "x", count: 200_000)
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    #expect(client.response()?.body == "\(body.utf8.count)")
  }

  /// In one turn of the loop a connection has its share at most twice: as its socket is read, and as it goes on.
  @Test(arguments: [false, true]) func aBodyOfManyPiecesLeavesTimeForOthers(isSecure: Bool) throws {
    let record = ScriptedChannel.Record()
    let channel: @Sendable () -> (any SecureChannel)? = {
      ScriptedChannel(space: 32_768, piece: 1, record: record)
    }
    let rig = try ServerRig(secure: isSecure ? channel : nil) { $0.bodyReader = TurnReader($0) }
    let client = try rig.client()
    if isSecure {
      client.send("HELLO\n")
      #expect(client.read(until: "WELCOME\n") == "WELCOME\n")
    }
    let chunks = String(repeating: "1\r\nx\r\n", count: 5000)
    let whole = "Content-Length: 5000\r\n\r\n" + String(repeating: "x", count: 5000)
    let body = isSecure ? whole : "Transfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"
    _ = rig.whileLoopIsHeld { client.send("POST / HTTP/1.1\r\nHost: a\r\n\(body)") }
    let most = client.response().flatMap { Int($0.body) }
    #expect(most.map { $0 <= 2 * TurnShare.bytes / TurnShare.leastPiece } == true, "\(String(describing: most))")
  }
}

/// Answers with the most pieces of the body that came in one turn of the loop.
private final class TurnReader: BodyReader {
  private let exchange: Exchange
  private var turn = MonotonicTime.distantFuture
  private var pieces = 0
  private var most = 0

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    pieces = turn == exchange.loop.turnTime ? pieces + 1 : 1
    turn = exchange.loop.turnTime
    most = max(most, pieces)
    return .proceed
  }

  func didEnd() { exchange.respond(status: 200, text: "\(most)") }
}

/// Pauses after each piece and goes on in a later turn of the loop.
private final class PausingReader: BodyReader {
  private let exchange: Exchange
  private var count = 0
  private var isInside = false

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  func didReceive(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    #expect(!isInside)
    isInside = true
    defer { isInside = false }
    count += bytes.count
    let bound = LoopBound(confining: self, on: exchange.loop)
    exchange.loop.post { bound.value.exchange.resumeReading() }
    return .pause
  }

  func didEnd() {
    exchange.respond(status: 200, body: Array("\(count)".utf8))
  }
}
