import Foundation
import Testing
import Weir
import WeirCompression
import WeirIO
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Bodies that the gateway decodes: responses for clients, and requests for upstreams.
@Suite(.slow, .serialized) struct DecodingTests {
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  private func route(to port: Int) throws -> Route {
    try CompressionTests.route(to: port) {
      ($0.compressesResponses, $0.decodesResponses, $0.decodesRequests) = (false, true, true)
    }
  }

  private static func coded(_ text: String, _ codings: [PackedForm] = [.gzip]) throws -> [UInt8] {
    try codings.reduce(Array(text.utf8)) { try Compression.pack($0, $1) }
  }

  private static func response(_ body: [UInt8], _ fields: String = "Content-Encoding: gzip\r\n") -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: \(body.count)\r\n\(fields)\r\n".utf8) + body
  }

  /// 64 MiB of zeros in 64 KiB of gzip.
  private static let bomb = Result { try Compression.deflate([UInt8](repeating: 0, count: 64 << 20), .gzip) }

  // MARK: Responses

  @Test(
    arguments: [
      ("gzip", [.gzip], 100), ("x-gzip", [.gzip], 5000), ("deflate", [.zlib], 5000), ("deflate", [.raw], 1 << 20),
      ("identity, gzip", [.gzip], 1 << 20), ("deflate, gzip", [.zlib, .gzip], 1 << 20),
      ("deflate, gzip", [.zlib, .gzip], 100),
    ] as [(String, [PackedForm], Int)])
  func responses(name: String, codings: [PackedForm], size: Int) throws {
    let text = CompressionTests.json(size)
    let body = try Self.coded(text, codings)
    let upstream = try ScriptedServer(
      Script(.forever([.head, .send(Self.response(body, "Content-Encoding: \(name)\r\n"))])))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    for _ in 0..<2 {
      client.send(Self.get)
      let response = try #require(client.response())
      #expect(response.isComplete)
      #expect(response.text == text)
      #expect(response.values("Content-Encoding") + response.values("Content-Length") == [])
      #expect(response.values("ETag") == ["W/\"a\""])
      #expect(response.values("Vary") == ["Accept-Encoding"])
    }
    client.send("GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip, deflate\r\n\r\n")
    let unchanged = try #require(client.response())
    #expect(unchanged.body == body)
    #expect(unchanged.values("Content-Encoding") == [name])
    #expect(unchanged.values("ETag") == ["\"a\""])
    #expect(eventually { CompressionTests.bytes(rig, "response", "after") == Double(2 * text.utf8.count) })
    #expect(CompressionTests.bytes(rig, "response", "before") == Double(2 * body.count))
  }

  @Test func unknownCodingsPass() throws {
    let upstream = try ScriptedServer(
      Script(.forever([.head, .send(Self.response([1, 2, 3], "Content-Encoding: br\r\n"))])))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let response = try #require(client.response())
    #expect(response.body == [1, 2, 3])
    #expect(response.values("Content-Encoding") == ["br"])
  }

  @Test func membersAndWhatFollowsThem() throws {
    let body = try Self.coded("one ") + Self.coded("two") + [0, 0, 0]
    let upstream = try ScriptedServer(Script(.head, .send(Self.response(body)), .awaitClose))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    #expect(client.response()?.text == "one two")
  }

  /// Before the head was sent the answer is 502, afterwards the response is cut.
  @Test(arguments: [false, true])
  func brokenResponses(isLate: Bool) throws {
    let text = CompressionTests.json(300_000)
    var body = try Self.coded(text)
    let broken = isLate ? body.count / 2 : 0
    for index in broken..<broken + 100 { body[index] = UInt8(index % 251) }
    let response = Self.response(body)
    let gate = Gate()
    let split = response.count - body.count + broken
    let server = try ScriptedServer(
      Script(
        .head, .send(Array(response[..<split])), isLate ? .wait(gate) : .steps([]), .send(Array(response[split...])),
        .awaitClose))
    let rig = try GatewayRig(try route(to: server.port))
    let client = try rig.client()
    client.send(Self.get)
    if isLate {
      try #require(client.awaitBytes())
      gate.open()
    }
    let answer = client.response()
    if isLate {
      #expect(answer?.status == 200)
      #expect(answer?.isComplete == false)
    } else if answer?.status != 200 {
      // The head may have come in a turn of its own.
      #expect(answer?.status == 502)
      #expect(answer?.isComplete == true)
    }
    #expect(eventually { rig.count("transport_error") == 1 })
  }

  @Test func truncatedResponses() throws {
    let body = try Self.coded(CompressionTests.json(5000)).dropLast(9)
    let upstream = try ScriptedServer(Script(.head, .send(Self.response(Array(body))), .awaitClose))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let answer = client.response()
    #expect(answer == nil || answer?.status == 502 || answer?.isComplete == false)
    #expect(eventually { rig.count("transport_error") == 1 })
  }

  @Test func bombsEndTheResponse() throws {
    let bomb = try Self.bomb.get()
    let upstream = try ScriptedServer(Script(.head, .send(Self.response(bomb)), .awaitClose))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let answer = client.response()
    #expect(answer?.isComplete == false)
    #expect((answer?.body.count ?? 0) < 14 << 20)
    #expect(eventually { rig.count("limit_exceeded") == 1 })
  }

  /// What a client does not read is not decoded.
  @Test func aClientThatReadsNothingStopsTheDecoder() throws {
    let plain = CompressionTests.json(96 << 20)
    let body = try Compression.deflate(Array(plain.utf8), .gzip, level: 1)
    let upstream = try ScriptedServer(Script(.head, .send(Self.response(body)), .awaitClose))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    try #require(client.awaitBytes())
    let before = try ThisProcess.residentBytes
    letPass(0.5)
    #expect(try ThisProcess.residentBytes - before < 32 << 20 || ThisProcess.isSanitized)
    let answer = try #require(client.response())
    #expect(answer.isComplete)
    #expect(answer.body.count == plain.utf8.count)
  }

  // MARK: Requests

  private static func post(_ body: [UInt8], _ fields: String = "Content-Encoding: gzip\r\n") -> [UInt8] {
    Array("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\(fields)\r\n".utf8) + body
  }

  private static let taking = Script(.forever([.head, .chunkedBody, .send(okResponse("thanks"))]))

  /// The body that a server got in chunks.
  private func body(_ upstream: ScriptedServer, on index: Int = 0) -> String {
    let text = upstream.receivedText(on: index)
    guard let start = text.range(of: "\r\n\r\n") else { return "" }
    var rest = text[start.upperBound...]
    var body = ""
    while let end = rest.range(of: "\r\n"), let size = Int(rest[..<end.lowerBound], radix: 16), size > 0 {
      let chunk = rest[end.upperBound...].utf8.prefix(size)
      body += String(Substring(chunk))
      rest = rest[chunk.endIndex...].dropFirst(1)
    }
    return body
  }

  @Test(arguments: [5, 5000, 500_000], [[.gzip], [.zlib], [.zlib, .gzip]] as [[PackedForm]])
  func requests(size: Int, codings: [PackedForm]) throws {
    let text = CompressionTests.json(size)
    let name = codings.map { $0 == .gzip ? "gzip" : "deflate" }.joined(separator: ", ")
    let upstream = try ScriptedServer(Self.taking)
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    let coded = try Self.coded(text, codings)
    client.send(Self.post(coded, "Content-Encoding: \(name)\r\nDigest: x\r\nX-A: b\r\n"))
    #expect(client.response()?.text == "thanks")
    #expect(body(upstream) == text)
    let head = upstream.receivedText()
    #expect(head.contains("\r\nTransfer-Encoding: chunked\r\n"))
    #expect(head.contains("\r\nX-A: b\r\n"))
    for name in ["Content-Encoding", "Content-Length", "Digest"] { #expect(!head.contains("\r\n\(name):")) }
    #expect(eventually { CompressionTests.bytes(rig, "request", "after") == Double(text.utf8.count) })
    #expect(CompressionTests.bytes(rig, "request", "before") == Double(coded.count))
  }

  /// Bodies in chunks of one byte, and the next request on the connection.
  @Test func requestsInPieces() throws {
    let text = CompressionTests.json(2000)
    let upstream = try ScriptedServer(Self.taking)
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    let chunks = try Self.coded(text).flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) }
    for _ in 0..<2 {
      client.send(Array(head.utf8) + chunks + Array("0\r\n\r\n".utf8))
      #expect(client.response()?.text == "thanks")
    }
    #expect(body(upstream) == text)
  }

  @Test(
    arguments: [
      ("GET / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\n\r\n", true),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: br\r\nContent-Length: 0\r\n\r\n", true),
      (
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: br\r\nCache-Control: no-transform\r\nContent-Length: 1\r\n\r\nx",
        true
      ),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: identity\r\nContent-Length: 1\r\n\r\nx", true),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", false),
    ])
  func otherRequestsPass(request: String, isNamed: Bool) throws {
    let upstream = try ScriptedServer(Script(.forever([.request, .send(okResponse("thanks"))])))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(request)
    #expect(client.response()?.text == "thanks")
    #expect(upstream.receivedText().contains("\r\nContent-Encoding:") == isNamed)
  }

  @Test(arguments: ["br", "gzip, br", "gzip, gzip, gzip, gzip, gzip", "x"])
  func unknownCodingsOfRequests(name: String) throws {
    let upstream = try ScriptedServer(Self.taking)
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.post([1, 2, 3], "Content-Encoding: \(name)\r\n"))
    let response = try #require(client.response())
    #expect(response.status == 415)
    #expect(response.values("Accept-Encoding") == ["gzip, deflate"])
    #expect(eventually { rig.count("refused") == 1 })
  }

  /// Broken or cut bodies get 400, and the upstream no whole request.
  @Test(arguments: ["cut", "corrupt", "checksum", "trailing magic"], [2000, 400_000])
  func brokenRequests(kind: String, size: Int) throws {
    let upstream = try ScriptedServer(Self.taking)
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    var body = try Self.coded(CompressionTests.json(size))
    switch kind {
    case "cut": body.removeLast(9)
    case "corrupt": for index in body.count / 2..<body.count / 2 + 50 { body[index] = UInt8(index % 251) }
    case "checksum": body[body.count - 6] ^= 1
    default: body += [0x1F, 0x8B]
    }
    client.send(Self.post(body))
    let response = try #require(client.response())
    #expect(response.status == 400)
    #expect(eventually { rig.count("refused") == 1 })
    #expect(!upstream.receivedText().hasSuffix("\r\n0\r\n\r\n"))
  }

  @Test func membersOfRequests() throws {
    let upstream = try ScriptedServer(Self.taking)
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.post(try Self.coded("one ") + Self.coded("two") + [0, 1]))
    #expect(client.response()?.text == "thanks")
    #expect(body(upstream) == "one two")
  }

  @Test func bombsOfRequests() throws {
    let upstream = try ScriptedServer(Script(.head, .awaitClose))
    let rig = try GatewayRig(try route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.post(try Self.bomb.get()))
    let response = try #require(client.response())
    #expect(response.status == 413)
    #expect(eventually { rig.count("refused") == 1 })
    #expect((CompressionTests.bytes(rig, "request", "after") ?? 0) < Double(14 << 20))
  }

  @Test func listenersLimitDecodedBodies() throws {
    let upstream = try ScriptedServer(Self.taking)
    var listener = ListenerSettings(address: .loopback(port: 0))
    listener.limits.bodyBytes = 1000
    var configuration = Configuration(routes: [try route(to: upstream.port)])
    configuration.listeners = [listener]
    let rig = try GatewayRig(configuration)
    for (count, status) in [(1000, 200), (1001, 413)] {
      let client = try rig.client()
      client.send(Self.post(try Self.coded(String(repeating: "a", count: count))))
      #expect(client.response()?.status == status)
    }
  }

  /// Another attempt sends the decoded body again.
  @Test func retriesSendTheDecodedBody() throws {
    let upstream = try ScriptedServer(
      Script(
        .head, .chunkedBody, .send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), .head, .chunkedBody,
        .send(okResponse("thanks")), .awaitClose))
    var route = try route(to: upstream.port)
    (route.retry.limit, route.retry.methods) = (1, ["POST"])
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send(Self.post(try Self.coded("hello")))
    #expect(client.response()?.text == "thanks")
    let text = upstream.receivedText()
    #expect(text.components(separatedBy: "5\r\nhello\r\n0\r\n\r\n").count == 3)
    #expect(!text.contains("Content-Encoding"))
    #expect(eventually { CompressionTests.bytes(rig, "request", "after") == 5 })
  }

  @Test func withoutRoomForADecoder() throws {
    let upstream = try ScriptedServer(Self.taking)
    let rig = try GatewayRig(Configuration(routes: [try route(to: upstream.port)]), coders: 0)
    let client = try rig.client()
    client.send(Self.post(try Self.coded("hello")))
    let response = try #require(client.response())
    #expect(response.status == 503)
    #expect(response.values("Retry-After") == ["1"])
    #expect(eventually { rig.count("rejected") == 1 })
  }
}
