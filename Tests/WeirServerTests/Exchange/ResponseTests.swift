import Testing
import WeirHTTP
import WeirIO
import WeirTestSupport

@testable import WeirServer

@Suite struct ResponseTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func chunkedResponse() throws {
    let client = try ServerRig { exchange in
      exchange.begin(status: 200, fields: ["X-One": "1"], length: .chunked)
      exchange.write(Array("hello ".utf8))
      exchange.write([])
      exchange.write(Array("world".utf8))
      exchange.end()
    }.client()
    client.send(Self.get)
    let text = client.read(until: "0\r\n\r\n")
    #expect(
      text.hasSuffix("X-One: 1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"))
    client.send(Self.get)
    #expect(client.response()?.body == "hello world")
  }

  @Test func interimResponsesComeFirst() throws {
    let rig = try ServerRig { exchange in
      exchange.sendInterim(status: 102, fields: [:])
      exchange.sendInterim(status: 103, fields: ["Link": "</a>", "Content-Length": "9"])
      exchange.begin(status: 200, fields: ["Date": "d"], length: .length(2))
      exchange.sendInterim(status: 103, fields: ["Link": "</late>"])
      #expect(exchange.retract())
      exchange.sendInterim(status: 199, fields: [:])
      exchange.respond(status: 200, fields: ["Date": "d"], body: Array("ok".utf8))
      exchange.sendInterim(status: 103, fields: ["Link": "</late>"])
    }
    let client = try rig.client()
    let final = "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 2\r\n\r\nok"
    let answer =
      "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 199 \r\n\r\n" + final
    client.send(Self.get + Self.get)
    #expect(client.read(until: final + answer) == answer + answer)
    let old = try rig.client()
    old.send("GET / HTTP/1.0\r\n\r\n")
    #expect(old.readToEnd().text.hasPrefix("HTTP/1.1 200 OK\r\n"))
  }

  /// What waits for a client that reads nothing stays bounded, and the response is whole.
  @Test func interimResponsesAreLeftOutForABlockedClient() throws {
    let large = String(repeating: "x", count: 64 * 1024)
    let gate = Gate()
    let client = try ServerRig { exchange in
      for _ in 0..<600 { exchange.sendInterim(status: 103, fields: ["X": large]) }
      #expect(exchange.bufferedBytes < 128 * 1024)
      exchange.respond(status: 200, body: Array("ok".utf8))
      gate.open()
    }.client()
    client.send(Self.get)
    gate.wait()
    let text = client.read(until: "\r\n\r\nok")
    #expect(text.hasSuffix("Content-Length: 2\r\n\r\nok") && text.utf8.count < 300 * large.utf8.count)
  }

  /// Such a field goes on, and what some clients refuse does not (RFC 9110 §5.5).
  @Test func controlCharactersBecomeBlanks() throws {
    let client = try ServerRig { exchange in
      var fields: ResponseFields = ["Date": "d", "X-Tab": "a\tb"]
      #expect(!fields.isRepaired)
      fields.add("X-All", "a\u{1}b\u{8}\u{b}\u{c}\u{e}\u{1f}c\u{7f}d\r\ne\0f\t\u{e9}")
      #expect(fields.isRepaired)
      exchange.respond(status: 200, fields: fields)
    }.client()
    client.send(Self.get)
    let expected =
      "HTTP/1.1 200 OK\r\nDate: d\r\nX-Tab: a\tb\r\nX-All: a b     c d  e f\t\u{e9}\r\nContent-Length: 0\r\n\r\n"
    #expect(client.read(until: "\r\n\r\n") == expected)
  }

  /// An Upgrade field needs an option in Connection (RFC 9110 §7.8).
  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "upgrade"),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close, upgrade"),
    ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive, upgrade"),
  ])
  func upgradeIsAnOptionOfTheConnection(request: String, connection: String) throws {
    let client = try ServerRig { $0.respond(status: 426, fields: ["Date": "d", "Upgrade": "x/1"]) }.client()
    client.send(request)
    #expect(
      client.read(until: "\r\n\r\n")
        == "HTTP/1.1 426 Upgrade Required\r\nDate: d\r\nUpgrade: x/1\r\nContent-Length: 0\r\nConnection: \(connection)\r\n\r\n"
    )
  }

  @Test func oldClientGetsItUntilTheEnd() throws {
    let client = try ServerRig { exchange in
      exchange.begin(status: 200, length: .chunked)
      exchange.write(Array("hello".utf8))
      exchange.end()
    }.client()
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    let answer = client.readToEnd()
    #expect(answer.text.hasSuffix("Connection: close\r\n\r\nhello"))
    #expect(answer.ending == .end)
  }

  @Test func piecesOfLaterTurnsAreSent() async throws {
    let pending = Pending()
    let rig = try ServerRig { exchange in
      exchange.begin(status: 200, length: .length(10))
      pending.append(exchange.bound)
    }
    let client = try rig.client()
    client.send(Self.get)
    #expect(try await pending.wait())
    let exchange = try #require(pending.take())
    rig.server.loop.run { exchange.value.write(Array("hello".utf8)) }
    rig.server.loop.run {
      exchange.value.write(Array("world and more".utf8))
      exchange.value.end()
    }
    #expect(client.response()?.body == "helloworld")
  }

  @Test func shortResponseIsCut() throws {
    let client = try ServerRig { exchange in
      exchange.begin(status: 200, length: .length(10))
      exchange.write(Array("hello".utf8))
      exchange.end()
    }.client()
    client.send(Self.get)
    let (text, ending) = client.readToEnd()
    #expect(text.hasSuffix("\r\n\r\nhello") && text.contains("Content-Length: 10\r\n"))
    #expect(ending == .end)
  }

  /// Where the connection's end would end the body, only a reset tells the client.
  @Test func cutResponseWithoutFramingIsReset() throws {
    let client = try ServerRig { exchange in
      exchange.begin(status: 200, length: .chunked)
      exchange.write(Array("hello".utf8))
      exchange.abort()
    }.client()
    client.send("GET / HTTP/1.0\r\n\r\n")
    let (text, ending) = client.readToEnd()
    #expect(text.hasSuffix("\r\n\r\nhello"))
    #expect(ending == .reset)
  }

  @Test func responseCanBeTakenBackUntilItLeaves() throws {
    let client = try ServerRig { exchange in
      exchange.begin(status: 200, fields: ["X-First": "1"], length: .chunked)
      exchange.write(Array("hello".utf8))
      let isBack = exchange.retract()
      exchange.respond(status: 502, text: "\(isBack) \(exchange.retract())")
    }.client()
    client.send(Self.get + Self.get)
    for _ in 0..<2 {
      let response = try #require(client.response())
      #expect(response.status == 502 && response.body == "true false")
      #expect(response.fields["x-first"] == nil)
    }
    let large = try ServerRig { exchange in
      exchange.begin(status: 200, length: .chunked)
      exchange.write([UInt8](repeating: 0x61, count: 20_000))
      if !exchange.retract() { exchange.end() }
    }
    let other = try large.client()
    other.send(Self.get)
    #expect(other.response()?.body.utf8.count == 20_000)
  }

  @Test func abortedResponseIsReset() async throws {
    let log = Events()
    let client = try ServerRig { exchange in
      exchange.onAbort = { log.append("aborted") }
      exchange.abort()
      exchange.respond(status: 200)
      log.append("ended \(exchange.isEnded)")
    }.client()
    client.send(Self.get)
    #expect(client.readToEnd() == ("", .reset))
    #expect(try await log.wait(for: "ended true"))
    #expect(log.all == ["ended true"])
  }

  @Test func onlyTheFirstResponseCounts() throws {
    let client = try ServerRig { exchange in
      exchange.respond(status: 200, text: "one")
      exchange.respond(status: 500, text: "two")
      exchange.begin(status: 500, length: .chunked)
      exchange.write([1])
      exchange.end()
      exchange.abort()
    }.client()
    for _ in 0..<2 {
      client.send(Self.get)
      #expect(client.response()?.body == "one")
    }
  }

  @Test func largeBodyReachesASlowReader() throws {
    let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) % 64 + 32 }
    let client = try ServerRig { $0.respond(status: 200, body: body) }.client(receiveBuffer: 4096)
    client.send(Self.get + Self.get)
    for _ in 0..<2 {
      let response = try #require(client.response())
      #expect(response.body.utf8.elementsEqual(body))
    }
  }

  @Test func writerIsToldToWaitAndToGoOn() throws {
    let total = 20_000_000  // more than the sockets buffer
    let client = try ServerRig { exchange in
      let writer = Writer(exchange, total: total)
      exchange.onWritable = { writer.write() }
      exchange.begin(status: 200, length: .length(Int64(total)))
      writer.write()
    }.client(receiveBuffer: 4096)
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let answer = client.readToEnd()
    #expect(answer.ending == .end)
    #expect(answer.text.utf8.count > total)
  }

  @Test(
    arguments: [
      (ResponseFields(), ""),
      (["A": "b", "c": ""], "A: b\r\nc: \r\n"),
      (["Content-Length": "1", "transfer-encoding": "x", "Connection": "x", "Keep-Alive": "x"], ""),
      (["A": "b\r\nEvil: c\0"], "A: b  Evil: c \r\n"),
      (["": "a", "a b": "c", "a:": "b", "ü": "x"], ""),
    ] as [(ResponseFields, String)])
  func fieldsCannotBreakOut(fields: ResponseFields, text: String) {
    #expect(String(decoding: fields.bytes, as: UTF8.self) == text)
  }

  @Test func ownDateIsKept() throws {
    let client = try ServerRig { $0.respond(status: 200, fields: ["Date": "mine"]) }.client()
    client.send(Self.get)
    #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 200 OK\r\nDate: mine\r\nContent-Length: 0\r\n\r\n")
  }

  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
  ])
  func date(seconds: Int, text: String) {
    #expect(HTTPDate.text(secondsSince1970: seconds) == text)
  }

  @Test(arguments: [0, 1, 9, 10, 255, 65_536, Int64.max])
  func numbers(number: Int64) {
    var bytes: [UInt8] = []
    bytes.append(decimal: number)
    #expect(String(decoding: bytes, as: UTF8.self) == String(number))
    bytes = []
    bytes.append(hexadecimal: Int(number))
    #expect(String(decoding: bytes, as: UTF8.self) == String(number, radix: 16))
  }

  @Test(arguments: [-1, 0, 100, 101, 199, 1000, Int.max])
  func impossibleStatusIs500(status: Int) {
    #expect(OutgoingHead(status: status, length: .none, isHead: false, version: .http11).status == 500)
  }
}

/// Writes as long as it may, and checks that it is held back at all.
private final class Writer {
  private let exchange: Exchange
  private var remaining: Int
  private var waits = 0

  init(_ exchange: Exchange, total: Int) {
    self.exchange = exchange
    remaining = total
  }

  func write() {
    let piece = [UInt8](repeating: 0x61, count: 10_000)
    while remaining > 0 {
      remaining -= piece.count
      guard exchange.write(piece) else {
        waits += 1
        return
      }
    }
    #expect(waits > 0)
    exchange.end()
  }
}
