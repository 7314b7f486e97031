import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir

@Suite("Streams: the head of a response first", .timeLimit(.minutes(5)))
struct StreamedResponseTests {
  private let session = KeptSessions()

  private static func text(_ body: StreamedResponse.Body) async throws -> String {
    var data = Data()
    for try await chunk in body { data += chunk }
    return String(decoding: data, as: UTF8.self)
  }

  /// The error that `work` throws.
  private static func failure(_ work: () async throws -> Void) async -> WeirError? {
    do {
      try await work()
      return nil
    } catch {
      #expect(error is RequestFailure)
      return error as? WeirError
    }
  }

  @Test("The head is there before the body comes", arguments: [HTTP1EngineChoice.own, .libcurl])
  func headFirst(_ engine: HTTP1EngineChoice) async throws {
    let gate = Gate()
    let server = try ScriptedServer(pieces(("one ", gate), ("two", nil)))
    let response = try await self.session(engine).streamRequest(server.url).streaming()
    #expect(response.head.statusCode == 200)
    #expect(response.head.value(forHTTPHeaderField: "Content-Type") == "text/plain")
    gate.open()
    #expect(try await Self.text(response.body) == "one two")
  }

  @Test("A response without a body ends at once", arguments: [HTTP1EngineChoice.own, .libcurl], [true, false])
  func noBody(_ engine: HTTP1EngineChoice, validates: Bool) async throws {
    let server = try answering(response("204 No Content"))
    let queues = [nil, DispatchQueue(label: "root")]
    for queue in queues {
      let session = self.session(engine, rootQueue: queue)
      let request = session.streamRequest(server.url)
      let response = try await (validates ? request.validate() : request).streaming()
      #expect(response.head.statusCode == 204)
      #expect(try await Self.text(response.body) == "")
      #expect(request.outcome == .success)
    }
  }

  @Test("What fails before the head is thrown at once")
  func failsBefore() async throws {
    let server = try ScriptedServer(Script(.request, .close))
    let broken = await Self.failure { _ = try await self.session().streamRequest(server.url).streaming() }
    #expect(broken?.urlErrorCode == .networkConnectionLost)
    let wrong = await Self.failure { _ = try await self.session().streamRequest("no URL").streaming() }
    #expect(wrong != nil)
  }

  @Test("What fails after the head is thrown by the iteration, and no retrier is asked")
  func failsAfter() async throws {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
    let server = try ScriptedServer(Script(.request, .send(head), .close))
    let session = self.session(
      .standard,
      Retrier { _, _, error, completion in
        Issue.record("asked about \(error)")
        completion(.retry)
      })
    let request = session.streamRequest(server.url)
    let response = try await request.streaming()
    var data = Data()
    let error = await Self.failure { for try await chunk in response.body { data += chunk } }
    #expect(error?.urlErrorCode == .networkConnectionLost)
    #expect(String(decoding: data, as: UTF8.self) == "half")
    #expect(request.attemptCount == 1)
  }

  @Test("Validators judge the head, and a retry gives another one", arguments: [true, false])
  func validation(hasRootQueue: Bool) async throws {
    let server = try answeringInTurn(response("503 Busy", body: "no"), response("503 Busy"), okResponse("fine"))
    let session = self.session(
      .standard, RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0),
      rootQueue: hasRootQueue ? DispatchQueue(label: "root") : nil)
    let checked = Journal<Int>()
    let request = session.streamRequest(server.url).validate().validate { _, response in
      checked.append(response.statusCode)
      return .success(())
    }
    let response = try await request.streaming()
    #expect(response.head.statusCode == 200)
    #expect(try await Self.text(response.body) == "fine")
    #expect(checked.entries == [200])
    #expect(request.attemptCount == 3 && request.outcome == .success)
  }

  @Test("A head that is not accepted is thrown, and its body is not awaited")
  func refused() async throws {
    let server = try ScriptedServer(
      Script(.request, .send("HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n"), .awaitClose))
    let request = self.session().streamRequest(server.url).validate()
    let error = await Self.failure { _ = try await request.streaming() }
    #expect(error?.responseCode == 404)
    try await eventually("the connection is closed") { server.closedByClientCount == 1 }
  }

  @Test("Without validators every status is a head")
  func anyStatus() async throws {
    let server = try answering(response("503 Busy", body: "later"))
    let response = try await self.session(.standard, RetryPolicy()).streamRequest(server.url).streaming()
    #expect(response.head.statusCode == 503)
    #expect(try await Self.text(response.body) == "later")
  }

  // MARK: The reader's end

  /// Ways to lose interest in a body.
  enum Leaving: CaseIterable {
    case loop, body, iterator, task
  }

  @Test("Whoever stops reading cancels the request", arguments: Leaving.allCases)
  func leaves(_ how: Leaving) async throws {
    let server = try ScriptedServer(pieces(("x", nil), then: [.awaitClose]))
    let request = self.session().streamRequest(server.url)
    switch how {
    case .loop:
      for try await _ in try await request.streaming().body { break }
    case .body:
      _ = try await request.streaming()
    case .iterator:
      let body = try await request.streaming().body
      var iterator: StreamedResponse.Iterator? = body.makeAsyncIterator()
      _ = try await iterator?.next()
      iterator = nil
      await request.settled()
      withExtendedLifetime(body) {}
    case .task:
      let begun = Latch()
      let task = Task {
        for try await _ in try await request.streaming().body { begun.open() }
      }
      await begun.wait()
      task.cancel()
      let error = await Self.failure { try await task.value }
      #expect(error?.isExplicitlyCancelledError == true)
    }
    await request.settled()
    #expect(request.outcome == .cancelled)
    try await eventually("the connection is closed") { server.closedByClientCount == 1 }
  }

  @Test("Cancelling the task that waits for the head cancels the request")
  func cancelledBefore() async throws {
    let hole = try BlackHole()
    let request = self.session().streamRequest(hole.url)
    let task = Task { _ = try await request.streaming() }
    try await eventually("it is on the wire") { !hole.received().isEmpty }
    task.cancel()
    #expect(await Self.failure { try await task.value }?.isExplicitlyCancelledError == true)
    #expect(request.outcome == .cancelled)
  }

  @Test("Cancelling the request ends the iteration with its error")
  func cancelledRequest() async throws {
    let server = try ScriptedServer(pieces(("x", nil), then: [.awaitClose]))
    let request = self.session().streamRequest(server.url)
    let error = await Self.failure {
      for try await _ in try await request.streaming().body { request.cancel() }
    }
    #expect(error?.isExplicitlyCancelledError == true)
  }

  @Test("A body that is read to its end does not cancel")
  func readToItsEnd() async throws {
    let server = try answering(okResponse("fine"))
    let session = self.session()
    for _ in 0..<20 {
      let request = session.streamRequest(server.url)
      #expect(try await Self.text(request.streaming().body) == "fine")
      #expect(request.outcome == .success && !request.isCancelled)
    }
  }

  @Test("Asked for twice, or too late, it is an error")
  func tooLate() async throws {
    let server = try answering(okResponse("fine"))
    let request = self.session().streamRequest(server.url)
    _ = await request.completion()
    #expect(await Self.failure { _ = try await request.streaming() }?.urlErrorCode == .badServerResponse)
    let gate = Gate()
    let slow = try ScriptedServer(pieces(("x", gate)))
    let twice = self.session().streamRequest(slow.url)
    let response = try await twice.streaming()
    #expect(await Self.failure { _ = try await twice.streaming() }?.urlErrorCode == .badServerResponse)
    gate.open()
    #expect(try await Self.text(response.body) == "x")
  }

  @Test("A slow reader holds the server up", arguments: [HTTP1EngineChoice.own, .libcurl])
  func backPressure(_ engine: HTTP1EngineChoice) async throws {
    let count = 6 << 20
    let server = try answering(okResponse(String(repeating: "x", count: count)))
    let session = self.session(engine)
    let request = session.streamRequest(server.url)
    let response = try await request.streaming()
    try await eventually("reading waits") {
      request.streaming.withLock { $0.delivery.undelivered >= StreamDelivery<Data, StreamValue>.mark }
    }
    for _ in 0..<100 { await session.loopTurn() }
    #expect(try #require(request.task).countOfBytesReceived <= 1 << 20)
    var total = 0
    for try await chunk in response.body {
      total += chunk.count
      #expect(request.streaming.withLock { $0.delivery.undelivered } <= 1 << 20)
    }
    #expect(total == count)
  }
}
