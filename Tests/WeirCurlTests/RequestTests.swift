import Foundation
import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// What goes out on the wire.
@Suite(.slow, .timeLimit(.minutes(5)))
struct RequestTests {
  private static let accepted = "HTTP/1.1 204 No Content\r\n\r\n"

  /// Sends one request whose body is `size` bytes long on the wire, and returns what the server saw.
  private func send(
    _ method: String, _ body: TransferBody, wire: Script.Step, headers: [String] = [],
    _ configure: @escaping @Sendable (Recorder) -> Void = { _ in }
  ) async throws -> (request: String, outcome: Outcome) {
    let server = try ScriptedServer(Script(.head, wire, .send(Self.accepted), .awaitClose))
    let rig = try await EngineRig()
    let spec = TransferSpec(url: server.url, method: method, body: body)
    let outcome = await rig.transfer(spec, headers: headers, configure)
    await rig.close()
    return (server.receivedText().replacing("127.0.0.1:\(server.port)", with: "HOST"), outcome)
  }

  @Test(arguments: ["GET", "DELETE", "OPTIONS", "PURGE", "M-SEARCH"])
  func sendsNothingUnasked(method: String) async throws {
    let (request, outcome) = try await send(method, .none, wire: .bytes(0))
    #expect(request == "\(method) / HTTP/1.1\r\nHost: HOST\r\n\r\n")
    #expect(outcome.error == nil)
    #expect(outcome.report?.bytesSent == 0)
    #expect(outcome.report?.headerBytesSent == Int64(request.utf8.count + 11))
  }

  @Test
  func headHasNoBody() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"))
    let rig = try await EngineRig()
    for _ in 0..<2 {
      let outcome = await rig.transfer(TransferSpec(url: server.url, method: "HEAD"))
      #expect(outcome.error == nil)
      #expect(outcome.body.isEmpty)
      #expect(outcome.head?.text.contains("Content-Length: 5\r\n") == true)
    }
    #expect(server.receivedText().hasPrefix("HEAD / HTTP/1.1\r\n"))
    #expect(server.connectionCount == 1)
    await rig.close()
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "GET"], [0, 1, 1000, 65_536, 65_537, 3_000_000])
  func bytes(method: String, size: Int) async throws {
    let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let server = try ScriptedServer(Script(.head, .bytes(size), .send(Self.accepted), .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(TransferSpec(url: server.url, method: method, body: .bytes(body)))
    #expect(outcome.error == nil)
    #expect(outcome.sent.last ?? 0 == Int64(size))
    #expect(outcome.sent == outcome.sent.sorted())
    #expect(outcome.report?.bytesSent == Int64(size))
    let head = "\(method) / HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nContent-Length: \(size)\r\n\r\n"
    #expect(server.received().elementsEqual(Array(head.utf8) + body))
    await rig.close()
  }

  @Test(arguments: [0, 10, 200_000, 1_000_000])
  func file(size: Int) async throws {
    let path = NSTemporaryDirectory() + "weir-\(UUID().uuidString)"
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (request, outcome) = try await send("PUT", .file(path: path, size: Int64(size)), wire: .bytes(size))
    #expect(outcome.error == nil)
    #expect(request.hasPrefix("PUT / HTTP/1.1\r\nHost: HOST\r\nContent-Length: \(size)\r\n\r\n"))
    #expect(outcome.report?.bytesSent == Int64(size))
  }

  @Test
  func fileThatIsNotThereOrTooShort() async throws {
    let (_, missing) = try await send("PUT", .file(path: "/nonexistent/weir", size: 10), wire: .bytes(10))
    #expect(missing.error?.kind == .fileUnavailable)
    let path = NSTemporaryDirectory() + "weir-\(UUID().uuidString)"
    #expect(FileManager.default.createFile(atPath: path, contents: Data("short".utf8)))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (_, short) = try await send("PUT", .file(path: path, size: 10), wire: .bytes(10))
    #expect(short.error?.kind == .fileUnavailable)
  }

  @Test(arguments: [nil, 300_000] as [Int64?])
  func pulled(length: Int64?) async throws {
    let source = [UInt8](repeating: UInt8(ascii: "x"), count: 300_000)
    let wire: Script.Step = length == nil ? .chunkedBody : .bytes(300_000)
    let (request, outcome) = try await send("POST", .pulled(length: length), wire: wire) { $0.source = source }
    #expect(outcome.error == nil)
    #expect(outcome.report?.bytesSent == 300_000)
    let framing = length == nil ? "Transfer-Encoding: chunked" : "Content-Length: 300000"
    #expect(request.hasPrefix("POST / HTTP/1.1\r\nHost: HOST\r\n\(framing)\r\n\r\n"))
    #expect(request.count { $0 == "x" } == 300_000)
  }

  @Test(arguments: [nil, 3_000_000] as [Int64?], [204, 200, 404])
  func answeredBeforeTheBodyIsSent(length: Int64?, status: Int) async throws {
    let body = status == 204 ? "" : "early"
    let response = "HTTP/1.1 \(status) Early\r\n\(status == 204 ? "" : "Content-Length: 5\r\n")\r\n\(body)"
    for _ in 0..<5 {
      let server = try ScriptedServer(Script(.head, .bytes(1), .send(response), .awaitClose))
      let rig = try await EngineRig()
      let spec = TransferSpec(url: server.url, method: "POST", body: .pulled(length: length))
      let outcome = await rig.transfer(spec) { $0.source = [UInt8](repeating: 1, count: 3_000_000) }
      #expect(outcome.error == nil)
      #expect(outcome.head?.status == status)
      #expect(outcome.text == body)
      await rig.close()
    }
  }

  @Test
  func pulledBodyThatFails() async throws {
    let (_, outcome) = try await send("POST", .pulled(length: 10), wire: .bytes(10)) { recorder in
      recorder.onProvide = { _, _ in .failed }
    }
    #expect(outcome.error?.kind == .bodyUnavailable)
    #expect(outcome.finishes == 1)
  }

  @Test
  func pulledBodyThatEndsEarly() async throws {
    let (_, outcome) = try await send("POST", .pulled(length: 10), wire: .bytes(10)) { $0.source = [1, 2, 3] }
    #expect(outcome.error?.kind == .bodyUnavailable)
    #expect(outcome.finishes == 1)
  }

  @Test
  func callersHeadersStand() async throws {
    let headers = [
      "accept: text/plain", "Content-Type: a/b", "User-Agent: weir", "Host: elsewhere", "Empty:", "Blank: ",
    ]
    let (request, outcome) = try await send("POST", .bytes([1]), wire: .bytes(1), headers: headers)
    #expect(outcome.error == nil)
    let lines = request.split(separator: "\r\n")
    for line in headers.prefix(4) { #expect(lines.contains(Substring(line))) }
    #expect(lines.contains("Empty:"))
    #expect(lines.contains("Blank:"))
    #expect(!request.contains("Host: HOST"))
  }

  @Test
  func expectIsHonouredWhenAsked() async throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 100 Continue\r\n\r\n"), .bytes(4), .send(okResponse("done")), .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(
      TransferSpec(url: server.url, method: "PUT", body: .bytes(Array("body".utf8))), headers: ["Expect: 100-continue"])
    #expect(outcome.error == nil)
    #expect(outcome.heads.map(\.status) == [200])
    #expect(server.receivedText().contains("\r\nExpect: 100-continue\r\n"))
    await rig.close()
  }

  @Test(arguments: [true, false])
  func refusedExpectation(isRetried: Bool) async throws {
    let refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno"
    let server = try ScriptedServer(
      Script(.head, .send(refusal), .head, .bytes(4), .send(isRetried ? okResponse("done") : refusal), .awaitClose),
      Script(.head, .bytes(4), .send(isRetried ? okResponse("done") : refusal), .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(
      TransferSpec(url: server.url, method: "PUT", body: .bytes(Array("body".utf8))), headers: ["Expect: 100-continue"])
    #expect(outcome.error == nil)
    #expect(outcome.heads.map(\.status) == [isRetried ? 200 : 417])
    #expect(outcome.text == (isRetried ? "done" : "no"))
    await rig.close()
  }

  @Test(arguments: [
    "no colon", "A: b\r\nC: d", "A: b\nC: d", "A: b\0c", ": nameless", "A b: c", "", "A;: b", "A: b\r",
  ])
  func headerLinesThatCannotBeSent(line: String) async throws {
    let server = try ScriptedServer(.answering(Self.accepted))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(TransferSpec(url: server.url), headers: ["Good: 1", line])
    #expect(outcome.error?.kind == .invalidRequest)
    #expect(server.connectionCount == 0)
    await rig.close()
  }

  @Test(arguments: ["", "GE T", "GET\r\n", "GET /x HTTP/1.1\r\nA:", "GÉT", "A\0"])
  func methodsThatCannotBeSent(method: String) async throws {
    let rig = try await EngineRig()
    let outcome = await rig.transfer(TransferSpec(url: "http://127.0.0.1:1/", method: method))
    #expect(outcome.error?.kind == .invalidRequest)
    await rig.close()
  }

  @Test(arguments: [
    "", "http", "http://", "ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1", "http://127.0.0.1/a b",
    "http://127.0.0.1/\r\nX: y", "http://127.0.0.1/\0", "gopher://127.0.0.1:1/", "https://", "http://:80/",
    "http://127.0.0.1:99999/",
  ])
  func urlsThatCannotBeSent(url: String) async throws {
    let rig = try await EngineRig()
    let outcome = await rig.get(url)
    #expect(outcome.error?.kind == .curl)
    #expect([.unsupportedProtocol, .malformedURL].contains(outcome.error?.code))
    #expect(rig.counts.value.opened == 0)
    await rig.close()
  }
}
