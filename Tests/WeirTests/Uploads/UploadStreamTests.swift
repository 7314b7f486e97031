import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

@Suite("§8.2 Uploads: streams", .slow, .timeLimit(.minutes(5)))
struct UploadStreamTests {
  private static let chunked: Script = Script(.head, .chunkedBody, .send(okResponse("taken")), .awaitClose)

  @Test("A stream of unknown length goes out in chunks, one with a Content-Length with that")
  func framing() async throws {
    let bytes = pattern(200_000)
    let server = try ScriptedServer(Self.chunked)
    let session = Session()
    let request = session.upload(InputStream(data: Data(bytes)), to: server.url)
    #expect(await request.serializingString().response.value == "taken")
    #expect(server.headLines().contains("Transfer-Encoding: chunked"))
    #expect(!server.receivedText().contains("Content-Length") && !server.receivedText().contains("Expect"))
    let sized = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let urlRequest = try URLRequest(url: sized.url, method: .put, headers: ["Content-Length": "200000"])
    #expect(
      await session.upload(InputStream(data: Data(bytes)), with: urlRequest).serializingString().response.value
        == "taken")
    #expect(sized.body() == bytes)
    #expect(!sized.receivedText().contains("Transfer-Encoding"))
  }

  @Test("What was read is not sent again: the retry is denied, with the error that it was about")
  func retryDenied() async throws {
    let server = try ScriptedServer(Script(.head, .chunkedBody, .send(response("503 Busy")), .awaitClose))
    let denials = Denials()
    let policy = RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let session = Session(interceptor: policy, eventMonitors: [denials])
    let request = session.upload(InputStream(data: Data([1])), to: server.url).validate()
    #expect(await request.plainResponse().error?.responseCode == 503)
    #expect(denials.reasons.entries == [.body])
    #expect(request.retryCount == 0 && server.connectionCount == 1)
  }

  @Test("What a reader has is not looked at on the loop")
  func touchedByOneThread() async throws {
    let server = try ScriptedServer(
      Script(.head, .chunkedBody, .send(response("307 Moved", ["Location: /next"])), .awaitClose))
    let session = Session()
    let touches = Journal<Bool>()
    let stream = WatchedStream(loop: session.context.loop, touches)
    let error = await session.upload(stream, to: server.url).plainResponse().error
    #expect(error?.urlErrorCode == .requestBodyStreamExhausted)
    #expect(touches.entries.contains(false) && !touches.entries.contains(true))
  }

  /// Notes who asks for its status once it is open: whether that is the loop.
  private final class WatchedStream: InputStream {
    private let loop: EventLoop
    private let touches: Journal<Bool>
    private var left = 2
    private var isOpen = false

    init(loop: EventLoop, _ touches: Journal<Bool>) {
      self.loop = loop
      self.touches = touches
      super.init(data: Data())
    }

    override var streamStatus: Status {
      if isOpen { touches.append(loop.isCurrent) }
      return isOpen ? .open : .notOpen
    }
    override var streamError: (any Error)? { nil }
    override func open() { isOpen = true }
    override func close() {}

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
      left -= 1
      buffer.pointee = 65
      return max(0, left)
    }
  }

  @Test("Also when a redirect has dropped it meanwhile")
  func retryAfterRedirectDenied() async throws {
    let server = try ScriptedServer(
      Script(
        .head, .chunkedBody, .send(response("303 See", ["Location: /next"])), .head, .send(response("503 Busy")),
        .awaitClose))
    let denials = Denials()
    let policy = RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let session = Session(interceptor: policy, eventMonitors: [denials])
    let request = session.upload(InputStream(data: Data([1])), to: server.url).validate()
    #expect(await request.plainResponse().error?.responseCode == 503)
    #expect(denials.reasons.entries == [.body])
  }

  @Test("One that nobody has read is tried again")
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
    let request = session.upload(InputStream(data: Data([1])), to: server.url)
    #expect(await request.serializingString().response.value == "taken")
    #expect(request.retryCount == 1)
  }

  @Test(
    "Who makes a stream for each attempt is retried; the same one again is exhausted, compressed or not",
    arguments: [true, false], [true, false])
  func streamPerAttempt(isFresh: Bool, isCompressed: Bool) async throws {
    let server = try ScriptedServer(
      Script(
        .head, .chunkedBody, .send(response("503 Busy")), .head, .chunkedBody, .send(okResponse("taken")), .awaitClose))
    let policy = RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let session = Session(
      interceptor: Interceptor(
        adapters: [GzipRequestCompressor(compressesUploads: isCompressed)], retriers: [policy]))
    let same = UploadRequest.Uploadable.stream(InputStream(data: Data([7])))
    let upload = MadeUpload(url: server.url) { isFresh ? .stream(InputStream(data: Data([7]))) : same }
    let response = await session.upload(upload).validate().serializingString().response
    if isFresh {
      #expect(response.value == "taken")
    } else {
      #expect(response.error?.urlErrorCode == .requestBodyStreamExhausted)
    }
  }

  @Test("307 and 308 need it again and fail; 301, 302 and 303 go on without it", arguments: [301, 302, 303, 307, 308])
  func redirects(status: Int) async throws {
    let moved: Script.Step = .send(response("\(status) Moved", ["Location: /next"]))
    let server = try ScriptedServer(Script(.head, .chunkedBody, moved, .head, .send(okResponse("there")), .awaitClose))
    let session = Session()
    let response = await session.upload(InputStream(data: Data([1])), to: server.url).serializingString().response
    if status >= 307 {
      #expect(response.error?.isSessionTaskError == true)
      #expect(response.error?.urlErrorCode == .requestBodyStreamExhausted)
    } else {
      #expect(response.value == "there")
      let second = server.receivedText().components(separatedBy: "\r\n\r\n").first { $0.contains("GET /next HTTP/1.1") }
      #expect(second != nil && second?.contains("Transfer-Encoding") == false)
    }
  }

  @Test("One that can't be read, or ends before its Content-Length, fails")
  func broken() async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let session = Session()
    let missing = try #require(InputStream(fileAtPath: "/nowhere/at/all"))
    #expect(
      await session.upload(missing, to: server.url).plainResponse().error?.urlErrorCode == .requestBodyStreamExhausted)
    let short = session.upload(InputStream(data: Data([1])), to: server.url, headers: ["Content-Length": "2"])
    #expect(await short.plainResponse().error?.urlErrorCode == .requestBodyStreamExhausted)
  }

  @Test("One that claims to have read more than was asked for fails")
  func lying() async throws {
    final class Liar: InputStream {
      override var streamStatus: Status { .open }
      override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int { length + 1 }
      override func close() {}
    }
    guard case .failed(let text, .requestBodyStreamExhausted) = BodyStream.read(from: Liar(data: Data())) else {
      Issue.record("it was believed")
      return
    }
    #expect(text.contains("more than was asked for"))
  }

  @Test("Those that wait for somebody hold up no other body")
  func waiting() async throws {
    final class Patient: InputStream {
      let gate: Gate
      private var status = Status.notOpen

      init(_ gate: Gate) {
        self.gate = gate
        super.init(data: Data())
      }

      override var streamStatus: Status { status }
      override func open() { status = .open }
      override func close() { status = .closed }
      override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        gate.wait()
        return 0
      }
    }
    let gate = Gate()
    let scratch = try Scratch()
    let file = try scratch.file(pattern(100_000))
    let waiting = try ScriptedServer(Self.chunked)
    let server = try ScriptedServer(.answering(with: { okResponse("taken") }))
    let session = Session()
    let patient = (0..<4).map { _ in session.upload(Patient(gate), to: waiting.url).serializingString() }
    #expect(await session.upload(file, to: server.url).serializingString().response.value == "taken")
    gate.open()
    for upload in patient { #expect(await upload.response.value == "taken") }
  }

  @Test("One that is not read to its end is closed when the request has ended")
  func closed() async throws {
    let server = try ScriptedServer(Script(.head, .bytes(1), .awaitClose))
    let session = Session()
    let stream = InputStream(data: Data(count: 50_000_000))
    let request = session.upload(stream, to: server.url)
    request.uploadProgress { [weak request] _ in request?.cancel() }
    #expect(await request.plainResponse().error?.isExplicitlyCancelledError == true)
    try await eventually("it is closed") { stream.streamStatus == .closed }
  }

  @Test("One that can't be read is its caller's: it counts for no circuit")
  func circuits() async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose), .answering(okResponse("fine")))
    var configuration = SessionConfiguration.default
    configuration.circuitBreaker = CircuitBreaker(minimumRequests: 1)
    let session = Session(configuration: configuration)
    let missing = try #require(InputStream(fileAtPath: "/nowhere/at/all"))
    let request = session.upload(missing, to: server.url)
    #expect(await request.plainResponse().error?.urlErrorCode == .requestBodyStreamExhausted)
    #expect(request.outcome == .creationFailed)
    #expect(await session.request(server.url).serializingString().response.value == "fine")
  }
}
