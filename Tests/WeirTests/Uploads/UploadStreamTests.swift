import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

@Suite("§8.2 Uploads: streams", .timeLimit(.minutes(1)))
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

  @Test("Who makes a stream for each attempt is retried; the same one again is exhausted", arguments: [true, false])
  func streamPerAttempt(isFresh: Bool) async throws {
    let server = try ScriptedServer(
      Script(
        .head, .chunkedBody, .send(response("503 Busy")), .head, .chunkedBody, .send(okResponse("taken")), .awaitClose))
    let policy = RetryPolicy(exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let session = Session(interceptor: policy)
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
}
