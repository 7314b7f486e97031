import Foundation
import HTTPTypes
import OpenAPIRuntime
import Synchronization
import Testing
import Weir
import WeirOpenAPI

@Suite("swift-openapi-runtime") struct OpenAPITests {
  /// Lives as long as the bodies that are read.
  private let session = Session()

  private func request(
    _ method: HTTPTypes.HTTPRequest.Method = .get, _ path: String = "/v1/users?limit=2"
  ) throws -> HTTPRequest {
    let name = try #require(HTTPField.Name("x-caller"))
    return HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: [name: "test"])
  }

  private func text(_ body: HTTPBody?) async throws -> String {
    String(decoding: try await Data(collecting: try #require(body), upTo: 1 << 20), as: UTF8.self)
  }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test("The response's status, fields and body are the client's; the operation is the request's")
  func response() async throws {
    let server = try AnsweringServer(answer("404 Not Found", "X-Kind: user\r\n", "no such user"))
    let operation = Mutex<String?>(nil)
    let transport = WeirClientTransport(
      Session(), prepare: { request in operation.withLock { $0 = request.operation } })
    let (head, body) = try await transport.send(
      request(), body: nil, baseURL: url("\(server.url)/api/"), operationID: "listUsers")
    #expect(head.status.code == 404)
    #expect(head.headerFields[try #require(HTTPField.Name("x-kind"))] == "user")
    #expect(try await text(body) == "no such user")
    #expect(operation.withLock { $0 } == "listUsers")
    let sent = try #require(server.requests.first)
    #expect(sent.hasPrefix("GET /api/v1/users?limit=2 HTTP/1.1\r\n") && sent.lowercased().contains("x-caller: test"))
  }

  @Test("The head is there before the body has ended, whose chunks are given as they come")
  func streams() async throws {
    let server = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\none\0two")
    let (head, body) = try await WeirClientTransport(session).send(
      request(), body: nil, baseURL: url(server.url), operationID: "a")
    #expect(head.status.code == 200)
    var chunks = try #require(body).makeAsyncIterator()
    #expect(try await chunks.next() == ArraySlice("one".utf8))
    server.goOn()
    #expect(try await chunks.next() == ArraySlice("two".utf8))
    #expect(try await chunks.next() == nil)
  }

  @Test("A stream is sent as its chunks come, a body in memory as a whole")
  func uploads() async throws {
    let server = try AnsweringServer(answer(), answer())
    let transport = WeirClientTransport(session)
    let chunks = AsyncStream<ArraySlice<UInt8>> { continuation in
      for chunk in ["one ", "two"] { continuation.yield(ArraySlice(chunk.utf8)) }
      continuation.finish()
    }
    let streamed = HTTPBody(chunks, length: .unknown, iterationBehavior: .single)
    for body in [streamed, HTTPBody("three")] {
      let (head, answer) = try await transport.send(
        request(.post), body: body, baseURL: url(server.url), operationID: "add")
      #expect(head.status.code == 200)
      #expect(try await text(answer).isEmpty)
    }
    #expect(server.requests.first?.hasSuffix("4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n") == true)
    #expect(server.requests.last?.lowercased().contains("content-length: 5\r\n") == true)
    #expect(server.requests.last?.hasSuffix("three") == true)
  }

  @Test("A failed request throws weir's error; a status among the failures is retried, and then is the error's")
  func failures() async throws {
    let server = try AnsweringServer(answer("503 Service Unavailable"), answer("503 Service Unavailable"))
    let retrying = Session(interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0))
    let transport = WeirClientTransport(retrying, failures: [502, 503])
    let error = await #expect(throws: (any Error).self) {
      try await transport.send(request(), body: nil, baseURL: url(server.url), operationID: "a")
    }
    #expect((error as? WeirError)?.responseCode == 503)
    #expect(server.requests.count == 2)

    let refused = await #expect(throws: (any Error).self) {
      try await WeirClientTransport(session).send(
        request(), body: nil, baseURL: url("http://127.0.0.1:1"), operationID: "a")
    }
    let text = "\(try #require(refused))"
    #expect(text.hasPrefix("cannot_connect_to_host: "), "\(text)")
  }

  @Test("A body for one iteration is retried as long as no attempt has taken a byte of it")
  func retries() async throws {
    let server = try AnsweringServer(answer())
    let attempts = Mutex(0)
    // The first attempt goes nowhere.
    let adapter = Adapter { request, _, completion in
      var request = request
      let number = attempts.withLock { count in
        count += 1
        return count
      }
      if number == 1 { request.url = URL(string: "http://127.0.0.1:1/") }
      completion(.success(request))
    }
    let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0, retryableHTTPMethods: [.post])
    let session = Session(interceptor: Interceptor(adapters: [adapter], retriers: [policy]))
    let chunks = AsyncStream<ArraySlice<UInt8>> { continuation in
      continuation.yield(ArraySlice("once".utf8))
      continuation.finish()
    }
    let body = HTTPBody(chunks, length: .known(4), iterationBehavior: .single)
    let (head, _) = try await WeirClientTransport(session).send(
      request(.post), body: body, baseURL: url(server.url), operationID: "add")
    #expect(head.status.code == 200 && attempts.withLock { $0 } == 2)
    #expect(server.requests.first?.hasSuffix("once") == true)
  }

  @Test("A response without a body has none")
  func noBody() async throws {
    let server = try AnsweringServer("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    let (head, body) = try await WeirClientTransport(session).send(
      request(.head), body: nil, baseURL: url(server.url), operationID: "a")
    #expect(head.status.code == 204 && body == nil)
  }
}
