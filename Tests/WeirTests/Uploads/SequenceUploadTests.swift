import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir

@Suite("Uploads of asynchronous sequences", .timeLimit(.minutes(5)))
struct SequenceUploadTests {
  private static let chunked: Script = Script(.head, .chunkedBody, .send(okResponse("taken")), .awaitClose)

  private let session = KeptSessions()

  /// Gives these chunks, notes how many were asked for, and throws an error in place of the end if there is one.
  private struct Chunks: AsyncSequence, Sendable {
    let chunks: [[UInt8]]
    var error: TestError?
    let asked = Journal<Int>()

    struct AsyncIterator: AsyncIteratorProtocol {
      let chunks: Chunks
      var count = 0

      mutating func next() async throws -> ArraySlice<UInt8>? {
        chunks.asked.append(count)
        defer { count += 1 }
        if count < chunks.chunks.count { return chunks.chunks[count][...] }
        if let error = chunks.error { throw error }
        return nil
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self) }
  }

  @Test("In chunks without a length, as they are with one", arguments: [HTTP1EngineChoice.own, .libcurl])
  func framing(_ engine: HTTP1EngineChoice) async throws {
    let bytes = pattern(200_000)
    let chunks = Chunks(chunks: [Array(bytes[..<70_000]), [], Array(bytes[70_000...])])
    let server = try ScriptedServer(Self.chunked)
    let session = self.session(engine)
    #expect(await session.upload(stream: chunks, to: server.url).serializingString().response.value == "taken")
    #expect(server.headLines().contains("Transfer-Encoding: chunked"))
    let sized = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let request = session.upload(stream: chunks, length: 200_000, to: sized.url, method: .put)
    #expect(await request.serializingString().response.value == "taken")
    #expect(sized.headLines().contains("Content-Length: 200000"))
    #expect(sized.body() == bytes)
    let empty = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let nothing = session.upload(stream: Chunks(chunks: []), length: 0, to: empty.url)
    #expect(await nothing.serializingString().response.value == "taken")
  }

  @Test("Elements are any collection of bytes, and a URL request may have the stream as its body")
  func kinds() async throws {
    let data = AsyncStream<Data> { continuation in
      continuation.yield(Data("some".utf8))
      continuation.finish()
    }
    let server = try ScriptedServer(Self.chunked)
    let urlRequest = try URLRequest(url: server.url, method: .post)
    let session = self.session()
    #expect(await session.upload(stream: data, with: urlRequest).serializingString().response.value == "taken")
    #expect(server.receivedText().contains("some"))
    let other = try ScriptedServer(Self.chunked)
    var streaming = try URLRequest(url: other.url, method: .post)
    streaming.httpBodyStream = SequenceInputStream(Chunks(chunks: [[65, 66]]))
    let response = try await session.streamRequest(streaming).streaming()
    var body = Data()
    for try await chunk in response.body { body += chunk }
    #expect(String(decoding: body, as: UTF8.self) == "taken")
    #expect(other.receivedText().contains("AB"))
  }

  @Test(
    "Five bytes in two chunks are not as many as a length says",
    arguments: [HTTP1EngineChoice.own, .libcurl], [(2, 3), (4, 4), (6, 3)] as [(length: Int64, first: Int)])
  func wrongLength(_ engine: HTTP1EngineChoice, _ row: (length: Int64, first: Int)) async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let chunks = Chunks(chunks: [row.first, 5 - row.first].map { [UInt8](repeating: 65, count: $0) })
    let request = self.session(engine).upload(stream: chunks, length: row.length, to: server.url)
    let error = await request.serializingData().response.error
    #expect(error?.urlErrorCode == .requestBodyStreamExhausted)
    let text = row.length == 6 ? "ended after 5 of 6 bytes" : "more than \(row.length) bytes"
    #expect(error.map { "\($0)" }?.contains(text) == true, "\(error.map { "\($0)" } ?? "-")")
    // The last byte is not sent, so that the server can't take the body for complete.
    await server.closed()
    #expect(server.body().count < Int(row.length))
  }

  @Test("An error of the sequence is the request's", arguments: [HTTP1EngineChoice.own, .libcurl])
  func failing(_ engine: HTTP1EngineChoice) async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let chunks = Chunks(chunks: [[65]], error: TestError(number: 7))
    let error = await self.session(engine).upload(stream: chunks, to: server.url).serializingData().response.error
    #expect(error?.isCreateUploadableError == true)
    #expect(error?.underlyingError as? TestError == TestError(number: 7))
    await server.closed()
  }

  @Test("A sequence that was read is not sent again; one that is made for each attempt is")
  func retries() async throws {
    let policy = RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let once = try ScriptedServer(Script(.head, .chunkedBody, .send(response("503 Busy")), .awaitClose))
    let session = self.session(.standard, policy)
    let first = session.upload(stream: Chunks(chunks: [[65]]), to: once.url).validate()
    #expect(await first.serializingData().response.error?.responseCode == 503)
    #expect(first.retryCount == 0)
    let server = try ScriptedServer(
      Script(
        .head, .chunkedBody, .send(response("503 Busy")), .head, .chunkedBody, .send(okResponse("taken")), .awaitClose))
    let made = Journal<Int>()
    let second = session.upload(to: server.url) {
      made.append(1)
      return Chunks(chunks: [[65, 66, 67]])
    }
    #expect(await second.validate().serializingString().response.value == "taken")
    #expect(made.entries.count == 2 && second.retryCount == 1)
    #expect(server.receivedText().components(separatedBy: "ABC").count == 3)
  }

  @Test("One that no attempt has read serves the next", arguments: [HTTP1EngineChoice.own, .libcurl])
  func unread(_ engine: HTTP1EngineChoice) async throws {
    let server = try ScriptedServer(Script(.request, .send(okResponse("taken")), .awaitClose))
    let targets = Turn(["http://127.0.0.1:1/", server.url])
    let adapter = Adapter { urlRequest, _, completion in
      var urlRequest = urlRequest
      urlRequest.url = targets.next().flatMap(URL.init(string:))
      completion(.success(urlRequest))
    }
    let policy = RetryPolicy(
      exponentialBackoffScale: 0, retryableHTTPMethods: [.post], retryableHTTPStatusCodes: [],
      retryableURLErrorCodes: [.cannotConnectToHost, .cannotFindHost])
    let chunks = Chunks(chunks: [[65, 66]])
    var streaming = try URLRequest(url: server.url, method: .post)
    streaming.httpBodyStream = SequenceInputStream(chunks, length: 2)
    let request = session(engine, Interceptor(adapters: [adapter], retriers: [policy])).streamRequest(streaming)
    let response = try await request.streaming()
    for try await _ in response.body {}
    #expect(response.head.statusCode == 200)
    #expect(request.retryCount == 1)
    #expect(server.headLines().contains("Content-Length: 2"))
    #expect(server.body() == [65, 66])
    #expect(chunks.asked.entries == [0, 1])
  }

  @Test("Chunks are asked for as the connection takes them", arguments: [HTTP1EngineChoice.own, .libcurl])
  func pace(_ engine: HTTP1EngineChoice) async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.head, .wait(gate), .chunkedBody, .send(okResponse("taken")), .awaitClose))
    let chunks = Chunks(chunks: [[UInt8]](repeating: [UInt8](repeating: 65, count: 1 << 20), count: 64))
    let session = self.session(engine)
    let request = session.upload(stream: chunks, to: server.url)
    let task = request.serializingString()
    try await eventually("the server takes no more") {
      let before = chunks.asked.entries.count
      for _ in 0..<200 { await session.loopTurn() }
      return before > 1 && chunks.asked.entries.count == before
    }
    // What the sockets hold, and the chunk that is being sent.
    #expect(chunks.asked.entries.count < 32)
    gate.open()
    #expect(await task.response.value == "taken")
    #expect(chunks.asked.entries.count == 65)
  }

  @Test("A cancelled request cancels the sequence and lets go of it", arguments: [HTTP1EngineChoice.own, .libcurl])
  func cancelled(_ engine: HTTP1EngineChoice) async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose))
    let ended = Latch()
    let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    continuation.onTermination = { _ in ended.open() }
    continuation.yield([65])
    let request = self.session(engine).upload(stream: stream, to: server.url)
    let task = request.serializingData()
    try await eventually("the first chunk is there") { server.receivedText().hasSuffix("1\r\nA\r\n") }
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    await ended.wait()
  }

  @Test("A compressed upload reads it too")
  func compressed() async throws {
    let server = try ScriptedServer(Self.chunked)
    let session = self.session(.standard, .gzipCompressor(compressesUploads: true))
    let chunks = Chunks(chunks: [[UInt8](repeating: 65, count: 100_000)])
    #expect(await session.upload(stream: chunks, to: server.url).serializingString().response.value == "taken")
    #expect(server.headLines().contains("Content-Encoding: gzip"))
    let failing = Chunks(chunks: [[65]], error: TestError(number: 7))
    let error = await session.upload(stream: failing, to: server.url).serializingData().response.error
    #expect(error?.isCreateUploadableError == true)
    #expect(error?.underlyingError as? TestError == TestError(number: 7))
  }
}

extension ScriptedServer {
  /// Returns when the client has closed a connection.
  fileprivate func closed() async { #expect(await soon { closedByClientCount > 0 }) }
}
