import Foundation
import FoundationNetworking
import Glibc
import Testing
import Weir
import WeirTestSupport

/// `URLRequest.httpBodyStream` is sent as an upload's stream would be.
@Suite("Body streams", .timeLimit(.minutes(5)))
struct BodyStreamTests {
  private static func streaming(
    _ url: String, _ bytes: [UInt8], method: HTTPMethod = .post, headers: HTTPHeaders? = nil
  ) throws -> URLRequest {
    var urlRequest = try URLRequest(url: url, method: method, headers: headers)
    urlRequest.httpBodyStream = InputStream(data: Data(bytes))
    return urlRequest
  }

  private static let chunked: Script = Script(.head, .chunkedBody, .send(okResponse("ok")), .awaitClose)

  @Test("Of unknown length it goes out in chunks", arguments: [0, 1, 65_536, 65_537, 1_000_000])
  func chunks(_ size: Int) async throws {
    let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let server = try ScriptedServer(Self.chunked)
    let session = Session()
    let response = await session.request(try Self.streaming(server.url, body)).serializingString().response
    #expect(response.value == "ok")
    let received = server.received()
    let head = String(decoding: received.prefix(2000), as: UTF8.self).components(separatedBy: "\r\n\r\n")[0]
    #expect(head.contains("\r\nTransfer-Encoding: chunked"))
    #expect(!head.contains("Content-Length"))
    let isWhole = Self.unchunked(Array(received.dropFirst(head.utf8.count + 4))) == body
    #expect(isWhole)
  }

  private static func unchunked(_ bytes: [UInt8]) -> [UInt8] {
    var rest = bytes[...]
    var body: [UInt8] = []
    while let end = rest.firstIndex(of: 13) {
      guard let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), size > 0 else { break }
      rest = rest.dropFirst(end + 2 - rest.startIndex)
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return body
  }

  @Test("A Content-Length says how much of it is sent", arguments: [200_000, 100_000])
  func length(_ length: Int) async throws {
    let body = [UInt8](repeating: 65, count: 200_000)
    let server = try ScriptedServer(Script(.head, .bytes(length), .send(okResponse("ok")), .awaitClose))
    let urlRequest = try Self.streaming(server.url, body, headers: ["Content-Length": "\(length)"])
    let session = Session()
    #expect(await session.request(urlRequest).serializingString().response.value == "ok")
    let received = server.receivedText()
    #expect(received.contains("\r\nContent-Length: \(length)\r\n"))
    #expect(!received.contains("Transfer-Encoding"))
    let isWhole = received.hasSuffix("\r\n\r\n" + String(repeating: "A", count: length))
    #expect(isWhole)
  }

  @Test("One that ends before its Content-Length, or can't be read, fails")
  func broken() async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let short = try Self.streaming(server.url, [65], headers: ["Content-Length": "2"])
    let session = Session()
    #expect(await session.request(short).plainResponse().error?.urlErrorCode == .requestBodyStreamExhausted)
    var missing = try URLRequest(url: server.url, method: .put)
    missing.httpBodyStream = InputStream(fileAtPath: "/nowhere/at/all")
    #expect(await session.request(missing).plainResponse().error?.urlErrorCode == .requestBodyStreamExhausted)
  }

  @Test("What was read once is not sent again: not by a retry, a redirect, or another request")
  func once() async throws {
    let failing = Script(.head, .chunkedBody, .send(response("503 Busy")), .awaitClose)
    let server = try ScriptedServer(failing)
    let denials = Journal<RetryDenial.Reason>()
    let monitor = ClosureDenials { denials.append($0) }
    let session = Session(
      interceptor: RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post]), eventMonitors: [monitor])
    let urlRequest = try Self.streaming(server.url, [65, 66])
    let first = await session.request(urlRequest).validate().serializingString().response
    #expect(first.error?.responseCode == 503)
    #expect(denials.entries == [.body])
    let second = await session.request(urlRequest).serializingString().response
    #expect(second.error?.urlErrorCode == .requestBodyStreamExhausted)
    #expect(server.connectionCount == 1)
  }

  @Test("A redirect that keeps the body fails, one that drops it is followed", arguments: [307, 303])
  func redirects(_ status: Int) async throws {
    let moved: Script.Step = .send(response("\(status) Moved", ["Location: /next"]))
    let server = try ScriptedServer(Script(.head, .chunkedBody, moved, .head, .send(okResponse("there")), .awaitClose))
    let session = Session()
    let response = await session.request(try Self.streaming(server.url, [65])).serializingString().response
    if status == 307 {
      #expect(response.error?.urlErrorCode == .requestBodyStreamExhausted)
    } else {
      #expect(response.value == "there")
      #expect(server.receivedText().contains("\r\n\r\nGET /next HTTP/1.1\r\n"))
      #expect(server.receivedText().components(separatedBy: "Transfer-Encoding").count == 2)
    }
  }

  @Test("An attempt that never read it is tried again")
  func unread() async throws {
    let server = try ScriptedServer(Self.chunked)
    let targets = Turn(["http://127.0.0.1:1/", server.url])
    let adapter = Adapter { urlRequest, _, completion in
      var urlRequest = urlRequest
      urlRequest.url = targets.next().flatMap(URL.init(string:))
      completion(.success(urlRequest))
    }
    let policy = RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let session = Session(interceptor: Interceptor(adapters: [adapter], retriers: [policy]))
    let request = session.request(try Self.streaming(server.url, [65]))
    #expect(await request.serializingString().response.value == "ok")
    #expect(request.retryCount == 1)
  }

  @Test("A stream that makes its reader wait holds up no other request, and a cancel lets go of it")
  func slow() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).fifo").path
    #expect(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let server = try ScriptedServer(Self.chunked, .answering(okResponse("quick")))
    let session = Session()
    var urlRequest = try URLRequest(url: server.url, method: .post)
    urlRequest.httpBodyStream = InputStream(fileAtPath: path)
    let slow = session.request(urlRequest)
    let waiting = slow.serializingString()
    try await eventually("the head is there") { server.receivedText().contains("\r\n\r\n") }
    #expect(await session.request(server.url).serializingString().response.value == "quick")
    slow.cancel()
    #expect(await waiting.response.error?.isExplicitlyCancelledError == true)
    // Lets the reader, which waits for a writer, go.
    close(open(path, O_WRONLY))
  }

  private final class ClosureDenials: InlineEventMonitor {
    let tell: @Sendable (RetryDenial.Reason) -> Void

    init(_ tell: @escaping @Sendable (RetryDenial.Reason) -> Void) {
      self.tell = tell
    }

    func request(_ request: Request, didDenyRetry denial: RetryDenial) { tell(denial.reason) }
  }
}
