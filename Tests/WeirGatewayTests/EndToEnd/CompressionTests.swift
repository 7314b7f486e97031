import Foundation
import Testing
import Weir
import WeirCompression
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Responses that the gateway compresses, seen by the client.
@Suite(.serialized) struct CompressionTests {
  static let get = "GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n"

  static func route(to port: Int, _ change: (inout CompressionRules) -> Void = { _ in }) throws -> Route {
    var rules = CompressionRules()
    rules.compressesResponses = true
    change(&rules)
    var route = try Route(to: port)
    route.compression = rules
    return route
  }

  /// JSON of about this size, which compresses like JSON.
  static func json(_ size: Int) -> String {
    var random = SeededRandom(seed: UInt64(size))
    var text = "["
    while text.utf8.count < size {
      text += "{\"id\":\(UInt32.random(in: 0...9_999_999, using: &random)),\"name\":\"steer\",\"open\":true},"
    }
    return text + "0]"
  }

  static func unzipped(_ bytes: [UInt8]) throws -> String {
    String(decoding: try Compression.inflate(bytes, .gzip, limits: .unlimited), as: UTF8.self)
  }

  static func bytes(_ rig: GatewayRig, _ direction: String, _ stage: String) -> Double? {
    rig.sample("weir_gateway_coded_bytes_total{route=\"r\",direction=\"\(direction)\",stage=\"\(stage)\"}")
  }

  @Test(arguments: [1024, 20_000, 64 << 10, 1 << 20], ["Content-Length", "Transfer-Encoding"])
  func whatTheUpstreamSentArrives(size: Int, framing: String) throws {
    let text = Self.json(size)
    let count = text.utf8.count
    let head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\nVary: Origin\r\n"
    let response =
      framing == "Content-Length"
      ? head + "Content-Length: \(count)\r\n\r\n\(text)"
      : head + "Transfer-Encoding: chunked\r\n\r\n\(String(count, radix: 16))\r\n\(text)\r\n0\r\n\r\n"
    let upstream = try ScriptedServer(.answering(response))
    let rig = try GatewayRig(try Self.route(to: upstream.port))
    let client = try rig.client()
    var sent = 0
    for _ in 0..<2 {
      client.send(Self.get)
      let response = try #require(client.response())
      #expect(response.isComplete)
      #expect(response.values("Content-Encoding") == ["gzip"])
      #expect(response.values("Content-Length") == [])
      #expect(response.values("Accept-Ranges") == [])
      #expect(response.values("Transfer-Encoding") == ["chunked"])
      #expect(response.values("ETag") == ["W/\"a\""])
      #expect(response.values("Vary") == ["Origin", "Accept-Encoding"])
      #expect(response.body.count < count / 2)
      #expect(try Self.unzipped(response.body) == text)
      sent += response.body.count
    }
    #expect(upstream.receivedText().contains("Accept-Encoding: gzip\r\n"))
    #expect(eventually { Self.bytes(rig, "response", "after") == Double(sent) })
    #expect(Self.bytes(rig, "response", "before") == Double(2 * count))
    #expect(Self.bytes(rig, "response", "uncoded") == 0)
    #expect(Self.bytes(rig, "request", "before") == nil)
  }

  @Test(
    arguments: [
      ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "", true), ("GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n", "", true),
      ("HEAD / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n", "", true),
      ("GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip;q=0\r\n\r\n", "", true),
      (get, "Cache-Control: no-transform\r\n", true), (get, "Content-Encoding: br\r\n", true),
      (get, "Content-Encoding: gzip\r\n", true), (get, "Content-Range: bytes 0-1999/5000\r\n", true),
      (get, "Content-Type: text/event-stream\r\n", false), (get, "Content-Type: image/png\r\n", false),
    ])
  func theRestIsLeftAlone(request: String, fields: String, varies: Bool) throws {
    let text = Self.json(2000)
    let type = fields.contains("Content-Type") ? "" : "Content-Type: text/plain\r\n"
    let isHead = request.hasPrefix("HEAD")
    let upstream = try ScriptedServer(
      .once(
        "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\n"
          + "\(type)\(fields)\r\n\(isHead ? "" : text)"))
    let rig = try GatewayRig(try Self.route(to: upstream.port))
    let client = try rig.client()
    client.send(request)
    let response = try #require(client.response(toHead: isHead))
    #expect(response.text == (isHead ? "" : text))
    #expect(response.values("ETag") == ["\"a\""])
    #expect(response.values("Accept-Ranges") == ["bytes"])
    #expect(response.values("Content-Length") == ["\(text.utf8.count)"])
    #expect(response.values("Vary") == (varies ? ["Accept-Encoding"] : []))
    let coding = fields.split(separator: " ").last.map(String.init)?.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(response.values("Content-Encoding") == (fields.hasPrefix("Content-Encoding") ? [coding ?? ""] : []))
  }

  @Test(arguments: [
    "HTTP/1.1 204 No Content\r\n", "HTTP/1.1 304 Not Modified\r\n",
    "HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\n",
  ])
  func statusesWithoutAWholeBody(head: String) throws {
    let upstream = try ScriptedServer(.once("\(head)Content-Type: text/plain\r\nETag: \"a\"\r\n\r\n"))
    let rig = try GatewayRig(try Self.route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let response = try #require(client.response())
    #expect(response.values("ETag") == ["\"a\""])
    #expect(response.values("Vary") == ["Accept-Encoding"])
    #expect(response.values("Content-Encoding") == [])
  }

  @Test(arguments: [(1023, false), (1024, true)])
  func smallBodiesAreLeftAlone(size: Int, isCoded: Bool) throws {
    let text = String(repeating: "a", count: size)
    let upstream = try ScriptedServer(.answering(okResponse(text, "Content-Type: text/plain\r\n")))
    let rig = try GatewayRig(try Self.route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let response = try #require(client.response())
    #expect(response.values("Content-Encoding") == (isCoded ? ["gzip"] : []))
    #expect(response.values("Vary") == ["Accept-Encoding"])
    #expect(try isCoded ? Self.unzipped(response.body) == text : response.text == text)
  }

  /// A route's own rules about fields come last.
  @Test func rulesAboutFieldsWin() throws {
    let upstream = try ScriptedServer(
      .answering(okResponse(Self.json(2000), "Content-Type: text/plain\r\nETag: \"a\"\r\n")))
    var route = try Self.route(to: upstream.port)
    route.responseHeaders.remove = ["ETag", "Vary"]
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send(Self.get)
    let response = try #require(client.response())
    #expect(response.values("ETag") + response.values("Vary") == [])
    #expect(response.values("Content-Encoding") == ["gzip"])
  }

  @Test func withoutTheKeyNothingChanges() throws {
    let text = Self.json(2000)
    let upstream = try ScriptedServer(.answering(okResponse(text, "Content-Type: text/plain\r\n")))
    let rig = try GatewayRig(try Route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let response = try #require(client.response())
    #expect(response.text == text)
    #expect(response.values("Vary") + response.values("Content-Encoding") == [])
    #expect(!rig.registry.text().contains("weir_gateway_coded_bytes_total{"))
  }

  /// The client can decode what has come while the upstream pauses, and gets the rest later.
  @Test func aPauseIsNoReasonToWait() throws {
    let gates = [Gate(), Gate()]
    let parts = ["first \(Self.json(100))", "second \(Self.json(3000))", "third"]
    func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }
    let upstream = try ScriptedServer(
      Script(
        .head,
        .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(parts[0])),
        .wait(gates[0]), .send(chunk(parts[1])), .wait(gates[1]), .send(chunk(parts[2]) + "0\r\n\r\n"), .awaitClose))
    let rig = try GatewayRig(try Self.route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    let reader = try ChunkReader(client)
    let decoder = try Inflater(.gzip, limits: .unlimited)
    var text = ""
    for (index, part) in parts.enumerated() {
      let expected = parts[...index].joined()
      while text != expected, let chunk = reader.next() {
        try decoder.feed(chunk) { text += String(decoding: $0, as: UTF8.self) }
      }
      #expect(text == expected, "\(part.prefix(10))")
      if index < gates.count { gates[index].open() }
    }
    while let chunk = reader.next() { try decoder.feed(chunk) { text += String(decoding: $0, as: UTF8.self) } }
    try decoder.finish()
    #expect(text == parts.joined())
  }

  /// A client that reads nothing stops the upstream, and gets all of it in the end.
  @Test func aClientThatReadsNothingStopsTheUpstream() throws {
    let size = 256 << 20
    let upstream = try StreamPeer.sendingNoise(size, "Content-Type: text/plain\r\n")
    let rig = try GatewayRig(try Self.route(to: upstream.port) { $0.level = 1 })
    let client = try rig.client()
    client.send(Self.get)
    try #require(client.awaitBytes())
    #expect(upstream.waitUntilStalled() < 32 << 20)
  }

  /// A cut response stays cut, and a client that leaves frees its coder.
  @Test func aCutResponseIsCut() throws {
    let text = Self.json(3000)
    let gate = Gate()
    let upstream = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9000\r\n\r\n\(text)"), .wait(gate),
        .close))
    let rig = try GatewayRig(try Self.route(to: upstream.port))
    let client = try rig.client()
    client.send(Self.get)
    try #require(client.awaitBytes())
    gate.open()
    let response = try #require(client.response())
    #expect(!response.isComplete)
    #expect(eventually { rig.count("transport_error") == 1 })
    #expect(eventually { Self.bytes(rig, "response", "before") == Double(text.utf8.count) })
  }

  /// The head has not left yet, so another attempt may answer.
  @Test func anotherAttemptBeginsAnew() throws {
    let text = Self.json(3000)
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9000\r\n\r\nshort"), .close),
      .answering(okResponse(text, "Content-Type: text/plain\r\n")))
    var route = try Self.route(to: upstream.port)
    route.retry.limit = 1
    let rig = try GatewayRig(route)
    let client = try rig.client()
    client.send(Self.get)
    let response = try #require(client.response())
    // The upstream's end may come in a turn of its own, when the head is already on its way.
    if response.isComplete { #expect(try Self.unzipped(response.body) == text) }
  }

  /// Bodies for which there is no coder pass as they are, and are counted. A client that leaves frees its coder.
  @Test func oneMoreThanThereCanBePassesUncoded() throws {
    let text = Self.json(2000)
    let length = "Content-Type: text/plain\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
    let upstream = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\n\(length)begun"), .awaitClose),
      .answering("HTTP/1.1 200 OK\r\n\(length)\(text)"), .answering("HTTP/1.1 200 OK\r\n\(length)\(text)"))
    let rig = try GatewayRig(Configuration(routes: [try Self.route(to: upstream.port)]), coders: 1)
    let first = try rig.client(), second = try rig.client()
    first.send(Self.get)
    try #require(first.awaitBytes())
    second.send(Self.get)
    var response = try #require(second.response())
    #expect(response.text == text)
    #expect(response.values("Content-Length") == ["\(text.utf8.count)"])
    #expect(response.values("Vary") == ["Accept-Encoding"])
    #expect(eventually { Self.bytes(rig, "response", "uncoded") == Double(text.utf8.count) })
    #expect(Self.bytes(rig, "response", "after") == 0)
    first.reset()
    #expect(eventually { rig.count("cancelled") == 1 })
    #expect(Self.bytes(rig, "response", "before") == 5)
    second.send(Self.get)
    response = try #require(second.response())
    #expect(try Self.unzipped(response.body) == text)
  }

  /// curl decodes what the upstream has sent.
  @Test(arguments: [0, 1, 1024, 70_000, 3 << 20])
  func curlAgrees(size: Int) async throws {
    let text = size < 2 ? String(repeating: "a", count: size) : Self.json(size)
    let upstream = try ScriptedServer(
      .answering(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
          + (size == 0 ? "" : "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n") + "0\r\n\r\n"))
    let rig = try GatewayRig(try Self.route(to: upstream.port))
    let url = "http://127.0.0.1:\(rig.gateway.address.port ?? 0)/"
    #expect(try await Tool.curl.run(["-sS", "--compressed", url]) == text)
    #expect(eventually { Self.bytes(rig, "response", "before") == Double(text.utf8.count) })
  }
}

/// Reads the chunks of a response one by one.
private final class ChunkReader {
  private let client: RawClient

  init(_ client: RawClient) throws {
    self.client = client
    _ = try #require(line(endingWith: "\r\n\r\n"))
  }

  /// The next chunk; nil at the end.
  func next() -> [UInt8]? {
    guard let line = line(endingWith: "\r\n"), let size = Int(line.dropLast(), radix: 16), size > 0 else { return nil }
    var bytes: [UInt8] = []
    guard client.read(size, into: &bytes), self.line(endingWith: "\r\n") != nil else { return nil }
    return bytes
  }

  private func line(endingWith mark: String) -> String? {
    var bytes: [UInt8] = []
    while !bytes.suffix(mark.utf8.count).elementsEqual(mark.utf8) {
      guard client.read(1, into: &bytes) else { return nil }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Inflater {
  fileprivate func feed(_ bytes: [UInt8], into sink: (UnsafeRawBufferPointer) -> Void) throws {
    try bytes.withUnsafeBytes { _ = try feed($0, into: sink) }
  }
}
