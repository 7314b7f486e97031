import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

@Suite("§8.4 Streams: errors, validation, retries", .timeLimit(.minutes(5)))
struct StreamErrorTests {
  private static func failing(at number: Int) -> ClosureSerializer<String> {
    let count = Mutex(0)
    return ClosureSerializer { data in
      if count.withLock({
        $0 += 1; return $0
      }) == number {
        throw TestError(number: number)
      }
      return String(decoding: data, as: UTF8.self)
    }
  }

  // MARK: Serializers

  @Test("A chunk that can't be serialized is a failure of its own, and the stream goes on")
  func serializerError() async throws {
    let gates = (Gate(), Gate())
    let server = try ScriptedServer(pieces(("a", nil), ("b", gates.0), ("c", gates.1)))
    let request = streamSession.streamRequest(server.url)
    let notes = Journal<String>()
    let errors = Journal<WeirError>()
    request.responseStream(using: Self.failing(at: 2)) { stream in
      if let error = stream.error { errors.append(error) }
      notes.append(stream.note)
    }
    await notes.wait { $0.count == 1 }
    gates.0.open()
    await notes.wait { $0.count == 2 }
    gates.1.open()
    #expect(await notes.all() == ["a", "failure(custom_serialization_failed)", "c", "complete(success)"])
    #expect((errors.entries.first?.underlyingError as? TestError) == TestError(number: 2))
    #expect(request.error == nil)
  }

  @Test("A WeirError of a serializer stays itself; what can't be decoded is a decodingFailed")
  func wrapping() async throws {
    let server = try answering(okResponse("x"))
    let errors = Journal<String>()
    let request = manualSession.streamRequest(server.url)
    request.responseStream(using: ClosureSerializer<Int> { _ in throw WeirError.sessionDeinitialized }) {
      if let error = $0.error { errors.append(error.label) }
    }
    .responseStreamDecodable(of: Int.self) { stream in
      if case .responseSerializationFailed(reason: .decodingFailed)? = stream.error { errors.append("decoding") }
    }
    .resume()
    await errors.wait { $0.count == 2 }
    #expect(errors.entries.sorted() == ["decoding", "session_deinitialized"])
  }

  @Test("Where asked, a chunk that can't be serialized cancels the request, once its handler was told")
  func cancelOnStreamError() async throws {
    let server = try ScriptedServer(pieces(("a", nil), then: [.awaitClose]))
    let request = streamSession.streamRequest(server.url, automaticallyCancelOnStreamError: true)
    let notes = Journal<String>()
    request.responseStream(using: Self.failing(at: 1)) { notes.append($0.note) }
    #expect(await notes.all() == ["failure(custom_serialization_failed)", "complete(explicitly_cancelled)"])
    #expect(request.isCancelled)
    try await eventually("the connection is closed") { server.closedByClientCount == 1 }
  }

  // MARK: Handlers

  @Test("An error thrown for a chunk is the request's, wrapped, and ends the transfer", arguments: [false, true])
  func handlerError(asWeirError: Bool) async throws {
    let server = try ScriptedServer(pieces(("a", nil), then: [.awaitClose]))
    let request = streamSession.streamRequest(server.url)
    let completion = await withCheckedContinuation { continuation in
      request.responseStream { stream in
        if let completion = stream.completion { return continuation.resume(returning: completion) }
        if asWeirError { throw WeirError.sessionInvalidated(error: nil) }
        throw TestError(number: 3)
      }
    }
    #expect(request.error?.label == completion.error?.label)
    if asWeirError {
      #expect(completion.error?.isSessionInvalidatedError == true)
    } else {
      guard case .responseSerializationFailed(reason: .customSerializationFailed(let error))? = completion.error else {
        Issue.record("\(String(describing: completion.error))")
        return
      }
      #expect(error as? TestError == TestError(number: 3))
    }
    #expect(request.isFinished)
    #expect(!request.isCancelled)
    try await eventually("the connection is closed") { server.closedByClientCount == 1 }
  }

  @Test("An error thrown for the last chunk counts as well, after the transfer's end")
  func handlerErrorAfterTheTransfer() async throws {
    let server = try answering(okResponse("x"))
    let gate = Gate()
    let request = manualSession.streamRequest(server.url)
    let validations = Journal<Int>()
    request.validate { _, response in
      validations.append(response.statusCode)
      return .success(())
    }
    request.responseStream { stream in
      if stream.value == nil { return }
      gate.wait()
      throw TestError(number: 4)
    }
    let notes = request.noting(on: DispatchQueue(label: "own"))
    request.resume()
    await notes.wait { $0 == ["x"] }
    gate.open()
    #expect(await notes.all() == ["x", "complete(custom_serialization_failed)"])
    // Like any other whose attempt has failed already.
    #expect(validations.entries.isEmpty)
  }

  @Test("An error thrown for the end is ignored")
  func errorAtTheEnd() async throws {
    let server = try answering(okResponse("x"))
    let request = streamSession.streamRequest(server.url)
    let ended = Journal<Bool>()
    request.responseStream { stream in
      guard stream.completion != nil else { return }
      ended.append(true)
      throw TestError(number: 5)
    }
    await ended.wait { !$0.isEmpty }
    #expect(await request.noting().all() == ["complete(success)"])
    #expect(request.error == nil)
    #expect(request.outcome == .success)
  }

  @Test("Retriers are asked about a handler's error; another attempt goes on with the same handlers")
  func retryAfterHandlerError() async throws {
    let server = try answering(okResponse("x"))
    let asked = Journal<String>()
    let session = Session(
      interceptor: Retrier { request, _, error, completion in
        asked.append((error as? WeirError)?.label ?? "?")
        completion(request.retryCount == 0 ? .retry : .doNotRetry)
      })
    let request = session.streamRequest(server.url)
    let notes = Journal<String>()
    let isFirst = Mutex(true)
    request.responseStreamString { stream in
      notes.append(stream.note)
      if isFirst.withLock({ first in
        defer { first = false }; return first
      }) {
        throw TestError(number: 6)
      }
    }
    #expect(await notes.all() == ["x", "x", "complete(success)"])
    #expect(asked.entries == ["custom_serialization_failed"])
    #expect(request.retryCount == 1)
  }

  // MARK: Validation

  @Test("Validators run when the body has ended, with all chunks delivered")
  func validation() async throws {
    let server = try answering(response("404 Not Found", body: "nothing here"))
    let notes = Journal<String>()
    let request = streamSession.streamRequest(server.url).validate { _, response in
      notes.append("validate \(response.statusCode)")
      return .success(())
    }
    .validate(statusCode: 200..<300).validate { _, _ in
      notes.append("never")
      return .success(())
    }
    request.responseStreamString { notes.append($0.note) }
    #expect(await notes.all() == ["nothing here", "validate 404", "complete(unacceptable_status_code)"])
    #expect(request.error?.responseCode == 404)
  }

  @Test("§11 A stream's content type is always checked, also that of an empty body")
  func contentType() async throws {
    let server = try answering(response("200 OK", ["Content-Type: text/html"]))
    let session = Session()
    let plain = session.streamRequest(server.url).validate(contentType: ["application/json"])
    #expect(await plain.completion().error?.responseContentType == "text/html")
    let accept = session.streamRequest(server.url, headers: ["Accept": "text/event-stream"]).validate()
    #expect(await accept.completion().error?.acceptableContentTypes == ["text/event-stream"])
    #expect(await session.streamRequest(server.url).validate().completion().error == nil)
    // A data request's is not.
    #expect(
      await session.request(server.url).validate(contentType: ["application/json"]).plainResponse().error == nil)
    let custom = session.streamRequest(server.url).validate { _, _ in .failure(TestError(number: 1)) }
    guard case .responseValidationFailed(reason: .customValidationFailed)? = await custom.completion().error else {
      Issue.record("not wrapped")
      return
    }
  }

  // MARK: Retries

  @Test("A retry goes on with the same handlers; what was delivered is not taken back")
  func retry() async throws {
    let server = try answeringInTurn(response("503 Busy", body: "busy"), okResponse("fine"))
    let session = Session(interceptor: RetryPolicy(exponentialBackoffScale: 0))
    let request = session.streamRequest(server.url).validate()
    #expect(await request.noting().all() == ["busy", "fine", "complete(success)"])
    #expect(request.retryCount == 1)
    #expect(request.allMetrics.count == 2)
  }

  @Test("All chunks of an attempt are serialized and delivered before its retriers are asked")
  func chunksBeforeRetriers() async throws {
    let body = String(repeating: "0123456789", count: 20_000)
    let gate = Gate()
    let server = try ScriptedServer(
      Script(.request, .send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + body), .close))
    let notes = Journal<String>()
    let session = Session(
      interceptor: Retrier { _, _, error, completion in
        notes.append("retrier \((error as? WeirError)?.label ?? "?")")
        completion(.doNotRetry)
      })
    session.streamRequest(server.url).responseStreamString(on: DispatchQueue(label: "slow")) { stream in
      gate.wait()
      notes.append(stream.note)
    }
    try await eventually("the transfer is over") { server.finishedCount == 1 }
    await session.loopTurn()
    gate.open()
    let all = await notes.all()
    #expect(all.suffix(2) == ["retrier network_connection_lost", "complete(network_connection_lost)"])
    #expect(all.dropLast(2).joined() == body)
    #expect(all.count > 5)
  }

  @Test("A transfer that fails after chunks gives them, then its error")
  func cutBody() async throws {
    let server = try ScriptedServer(
      Script(.request, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .close))
    let request = streamSession.streamRequest(server.url)
    #expect(await request.noting().all() == ["half", "complete(network_connection_lost)"])
    #expect(request.error?.urlErrorCode == .networkConnectionLost)
  }

  // MARK: Events

  @Test("§25 The order of a stream's events")
  func events() async throws {
    let recorder = EventRecorder()
    let server = try answering(okResponse("x"))
    let session = Session(startRequestsImmediately: false, eventMonitors: [recorder])
    let request = session.streamRequest(server.url).validate()
    let notes = request.noting()
    request.responseStream { _ in }
    request.resume()
    _ = await notes.all()
    #expect(
      recorder.names == [
        "resume", "createInitial", "create", "createTask", "resumeTask", "·response", "·data", "parseStream",
        "·metrics", "gatherMetrics", "·complete", "validateStream(success)", "validateStream(success)",
        "completeTask", "finish",
      ])
    #expect(recorder.violations.entries.isEmpty)
  }

  @Test("§25 Closures hear of a stream's validation; a chunk's failure is told too")
  func closureEvents() async throws {
    let server = try answering(okResponse("x"))
    let monitor = ClosureEventMonitor()
    let notes = Journal<String>()
    monitor.requestDidValidateRequestResponseWithResult = { _, _, response, _ in
      notes.append("validate \(response.statusCode)")
    }
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [monitor, recorder])
    let request = session.streamRequest(server.url).validate(statusCode: [200])
    request.responseStream(using: Self.failing(at: 1)) { _ in }
    #expect(await request.completion().error == nil)
    await notes.wait { !$0.isEmpty }
    #expect(notes.entries == ["validate 200"])
    #expect(recorder.names.contains("parseStream(custom_serialization_failed)"))
  }
}
