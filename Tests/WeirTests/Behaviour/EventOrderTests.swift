import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// The order of events along every path that a data request can take.
@Suite("Order of events", .timeLimit(.minutes(5)))
struct EventOrderTests {
  private static let sent = ["createTask", "resumeTask"]
  private static let setup = ["createInitial", "create"] + sent
  private static let received = ["·response", "·data"]
  private static let ended = ["·metrics", "gatherMetrics", "·complete"]

  private func failedTransfer(_ code: URLError.Code, _ label: String) -> [String] {
    ["·metrics", "gatherMetrics", "·complete(\(code.rawValue))", "completeTask(\(label))"]
  }

  private func events(
    of recorder: EventRecorder, sourceLocation: SourceLocation = #_sourceLocation
  ) -> [String] {
    #expect(recorder.violations.entries == [], sourceLocation: sourceLocation)
    return recorder.names
  }

  @Test func success() async throws {
    let server = try answering(okResponse("body", "Content-Type: text/plain\r\n"))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    _ = await session.request(server.url).validate().serializingString().response
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + Self.received + Self.ended
        + ["validate(success)", "validate(success)", "completeTask", "finish", "parse"])
  }

  @Test func successWithAdapters() async throws {
    let server = try answering(okResponse("body"))
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(
      interceptor: Interceptor(interceptors: [Adapter({ $2(.success($0)) }, name: "one"), RetryPolicy()]),
      eventMonitors: [recorder])
    let own = Adapter({ $2(.success($0)) }, name: "two")
    _ = await session.request(server.url, interceptor: own).plainResponse()
    #expect(
      events(of: recorder)
        == ["resume", "createInitial", "adaptUsing(one)", "adaptUsing(two)", "adapt", "create"] + Self.sent
        + ["startAttempt(1)"] + Self.received + Self.ended
        + ["completeTask", "endAttempt(1)", "finish", "parse", "settle(success)"])
  }

  @Test func eager() async throws {
    let server = try answering(okResponse("body"))
    let recorder = EventRecorder()
    let session = Session(startRequestsImmediately: false, requestSetup: .eager, eventMonitors: [recorder])
    let request = session.request(server.url)
    await recorder.events.wait(for: "createTask")
    #expect(request.state == .initialized)
    #expect(events(of: recorder) == ["createInitial", "create", "createTask"])
    let task = request.serializingData()
    await session.loopTurn()
    #expect(server.connectionCount == 0, "a handler alone starts nothing here")
    request.resume()
    _ = await task.response
    #expect(
      events(of: recorder)
        == ["createInitial", "create", "createTask", "resume", "resumeTask"] + Self.received + Self.ended
        + ["completeTask", "finish", "parse"])
  }

  @Test("Eager setup comes before the events of a resume that follows at once")
  func eagerAndResumed() async throws {
    let server = try answering(okResponse("body"))
    let recorder = EventRecorder()
    let session = Session(requestSetup: .eager, eventMonitors: [recorder])
    _ = await session.request(server.url).resume().plainResponse()
    #expect(events(of: recorder).prefix(5) == ["createInitial", "create", "createTask", "resume", "resumeTask"])
  }

  @Test func requestCannotBeCreated() async {
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(eventMonitors: [recorder])
    let response = await session.request("").serializingData().response
    #expect(response.error?.isInvalidURLError == true)
    #expect(
      events(of: recorder)
        == ["resume", "failToCreate", "finish", "parse(invalid_url)", "settle(creation_failed)"])
  }

  @Test func adaptationFails() async {
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(
      interceptor: Adapter({ $2(.failure(SampleError())) }, name: "token"), eventMonitors: [recorder])
    let request = session.request("http://127.0.0.1:1/")
    let response = await request.plainResponse()
    #expect(response.error?.isRequestAdaptationError == true)
    #expect(request.tasks.isEmpty)
    #expect(
      events(of: recorder)
        == [
          "resume", "createInitial", "adaptUsing(token)", "failToAdapt", "finish",
          "parse(request_adaptation_failed)", "settle(adaptation_failed)",
        ])
  }

  @Test func transferFails() async throws {
    let server = try ScriptedServer(Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let response = await session.request(server.url).validate().serializingData().response
    #expect(response.error?.urlErrorCode == .networkConnectionLost)
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + Self.received + failedTransfer(.networkConnectionLost, "network_connection_lost")
        + ["finish", "parse(network_connection_lost)"])
  }

  @Test func validationFails() async throws {
    let server = try answering(response("404 Not Found", body: "none"))
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(eventMonitors: [recorder])
    let response = await session.request(server.url).validate().serializingData().response
    #expect(response.error?.responseCode == 404)
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + ["startAttempt(1)"] + Self.received + Self.ended
        + ["validate(failure)", "completeTask", "endAttempt(1, unacceptable_status_code)", "finish"]
        + ["parse(unacceptable_status_code)", "settle(http_error)"])
  }

  @Test func retry() async throws {
    let server = try ScriptedServer(.answering(response("503 Busy", body: "x")))
    let recorder = EventRecorder(notingAttempts: true)
    let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0)
    let session = Session(interceptor: policy, eventMonitors: [recorder])
    let response = await session.request(server.url).validate().plainResponse()
    #expect(response.error?.responseCode == 503)
    let attempt = Self.received + Self.ended + ["validate(failure)", "completeTask"]
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + ["startAttempt(1)"] + attempt
        + ["endAttempt(1, unacceptable_status_code)", "willRetry(backoff, 503)", "isRetrying"]
        + Self.setup + ["startAttempt(2)"] + attempt
        + ["endAttempt(2, unacceptable_status_code)", "deny(limit)", "finish", "parse(unacceptable_status_code)"]
        + ["settle(http_error)"])
  }

  @Test func retryByASerializer() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(okResponse("no number")), .head, .send(okResponse("7")), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(
      interceptor: Retrier { $3($0.retryCount == 0 ? .retry : .doNotRetry) }, eventMonitors: [recorder])
    let response = await session.request(server.url).serializingDecodable(Int.self).response
    #expect(response.value == 7)
    let attempt = Self.setup + Self.received + Self.ended + ["completeTask", "finish"]
    #expect(
      events(of: recorder) == ["resume"] + attempt + ["parse(decoding_failed)", "isRetrying"] + attempt + ["parse"])
  }

  @Test func cancelWithATask() async throws {
    let server = try BlackHole()
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let request = session.request(server.url)
    let task = request.serializingData()
    await recorder.events.wait(for: "resumeTask")
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + ["cancel", "cancelTask"] + failedTransfer(.cancelled, "cancelled")
        + ["finish", "parse(explicitly_cancelled)"])
  }

  @Test("Cancelled between its creation and its start, a task is resumed first where the request was")
  func cancelBeforeTheTaskStarts() async throws {
    let server = try BlackHole()
    let slot = RequestSlot()
    let recorder = EventRecorder { if $0 == "createTask" { slot.request?.cancel() } }
    let session = Session(startRequestsImmediately: false, eventMonitors: [recorder])
    let request = session.request(server.url)
    slot.request = request
    let task = request.serializingData()
    request.resume()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(
      events(of: recorder)
        == ["resume", "createInitial", "create", "createTask", "cancel", "resumeTask", "cancelTask"]
        + failedTransfer(.cancelled, "cancelled") + ["finish", "parse(explicitly_cancelled)"])
    slot.request = nil
  }

  @Test(
    "What was done to a request while its task waited decides whether the task is resumed before it is cancelled",
    arguments: [
      ([], []), ([.resume], ["resume"]), ([.suspend], ["suspend", "suspendTask"]),
      ([.resume, .suspend], ["resume", "suspend", "suspendTask"]),
      ([.suspend, .resume], ["suspend", "suspendTask", "resume"]),
    ] as [([RequestMachine.Verb], [String])])
  func cancelOfAnEagerRequest(verbs: [RequestMachine.Verb], told: [String]) async throws {
    let server = try BlackHole()
    let recorder = EventRecorder()
    let session = Session(startRequestsImmediately: false, requestSetup: .eager, eventMonitors: [recorder])
    let request = session.request(server.url)
    let task = request.serializingData()
    await recorder.events.wait(for: "createTask")
    let gate = Gate()
    session.withAllRequests { _ in gate.wait() }
    for verb in verbs { if verb == .resume { request.resume() } else { request.suspend() } }
    request.cancel()
    gate.open()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(
      events(of: recorder)
        == ["createInitial", "create", "createTask"] + told + ["cancel"]
        + (verbs.last == .resume ? ["resumeTask"] : []) + ["cancelTask"]
        + failedTransfer(.cancelled, "cancelled") + ["finish", "parse(explicitly_cancelled)"])
  }

  @Test func cancelWithoutATask() async {
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(startRequestsImmediately: false, eventMonitors: [recorder])
    let request = session.request("http://127.0.0.1:1/")
    let task = request.serializingData()
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(events(of: recorder) == ["cancel", "finish", "parse(explicitly_cancelled)", "settle(cancelled)"])
  }

  @Test("A request that a monitor cancels during its setup gets no further", arguments: ["createInitial", "adapt"])
  func cancelDuringSetup(_ name: String) async {
    let slot = RequestSlot()
    let recorder = EventRecorder { if $0 == name { slot.request?.cancel() } }
    let session = Session(
      startRequestsImmediately: false, interceptor: Adapter { $2(.success($0)) }, eventMonitors: [recorder])
    let request = session.request("http://127.0.0.1:1/")
    slot.request = request
    let task = request.serializingData()
    request.resume()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(
      events(of: recorder)
        == ["resume", "createInitial"] + (name == "adapt" ? ["adapt"] : [])
        + ["cancel", "finish", "parse(explicitly_cancelled)"])
    #expect(request.tasks == [])
    slot.request = nil
  }

  @Test func cancelDuringARetryDelay() async throws {
    let server = try answering(response("503 Busy"))
    let recorder = EventRecorder()
    let session = Session(interceptor: Retrier { $3(.retryWithDelay(60)) }, eventMonitors: [recorder])
    let request = session.request(server.url).validate()
    let task = request.serializingData()
    await recorder.events.wait(for: "completeTask")
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + ["·response"] + Self.ended
        + ["validate(failure)", "completeTask", "cancel", "finish", "parse(explicitly_cancelled)"])
  }

  @Test func suspendAndResume() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.head, .wait(gate), .send(okResponse("body")), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let request = session.request(server.url)
    let task = request.serializingData()
    await recorder.events.wait(for: "resumeTask")
    request.suspend()
    await recorder.events.wait(for: "suspendTask")
    #expect(request.task?.state == .suspended)
    request.resume()
    request.resume()
    await recorder.events.wait { $0.count { $0 == "resumeTask" } == 2 }
    #expect(request.task?.state == .running)
    gate.open()
    #expect(await task.response.value == Data("body".utf8))
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + ["suspend", "suspendTask", "resume", "resumeTask"] + Self.received + Self.ended
        + ["completeTask", "finish", "parse"])
  }

  @Test func suspendedBeforeItsTaskExists() async throws {
    let server = try answering(okResponse("body"))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let held = Held<Result<URLRequest, any Error>>()
    let request = session.request(server.url, interceptor: Adapter { _, _, completion in held.keep(completion) })
    let task = request.serializingData()
    await held.wait()
    request.suspend()
    held.answer(.success(try URLRequest(url: server.url, method: .get)))
    await recorder.events.wait(for: "suspendTask")
    #expect(request.isSuspended)
    request.resume()
    #expect(await task.response.value == Data("body".utf8))
    #expect(
      events(of: recorder)
        == [
          "resume", "createInitial", "suspend", "adapt", "create", "createTask", "suspendTask", "resume", "resumeTask",
        ]
        + Self.received + Self.ended + ["completeTask", "finish", "parse"])
  }

  @Test func redirect() async throws {
    let server = try ScriptedServer(
      Script(
        .head, .send(response("302 Found", ["Location: /next"], body: "moved")), .head, .send(okResponse("there")),
        .awaitClose))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let response = await session.request(server.url).serializingString().response
    #expect(response.value == "there")
    #expect(
      events(of: recorder)
        == ["resume"] + Self.setup + ["·redirect"] + Self.received + Self.ended + ["completeTask", "finish", "parse"])
  }

  @Test("A handler added to a finished request causes one more parse event, and nothing else")
  func lateHandler() async throws {
    let server = try answering(okResponse("body"))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let request = session.request(server.url)
    _ = await request.serializingData().response
    let before = events(of: recorder)
    #expect(await request.serializingString().response.value == "body")
    #expect(events(of: recorder) == before + ["parse"])
    await session.loopTurn()
    #expect(request.isFinished)
    // The loop serves the next one after the verbs.
    let gate = Gate()
    session.withAllRequests { _ in gate.wait() }
    let late = request.serializingString()
    #expect(request.isResumed)
    request.suspend().resume().cancel()
    #expect(request.isResumed)
    gate.open()
    #expect(await late.response.value == "body")
    await session.loopTurn()
    #expect(events(of: recorder) == before + ["parse", "parse"])
    #expect(request.isFinished)
  }

  @Test("Session monitors come before request monitors, which get no session-level events and none of the past")
  func monitorsInOrder() async throws {
    let server = try answering(okResponse(""))
    let journal = Journal<String>()
    let session = Session(
      startRequestsImmediately: false,
      eventMonitors: [EventRecorder("1 ", into: journal), EventRecorder("2 ", into: journal)])
    let request = session.request(server.url).eventMonitor(EventRecorder("3 ", into: journal))
    let task = request.serializingData()
    request.suspend()
    await session.loopTurn()
    request.eventMonitor(EventRecorder("4 ", into: journal))
    request.resume()
    _ = await task.response
    let expected: [(String, Int)] = [
      ("suspend", 3), ("resume", 4), ("createInitial", 4), ("create", 4), ("createTask", 4), ("resumeTask", 4),
      ("·response", 2), ("·metrics", 2), ("gatherMetrics", 4), ("·complete", 2), ("completeTask", 4), ("finish", 4),
      ("parse(input_data_nil_or_zero_length)", 4),
    ]
    #expect(journal.entries == expected.flatMap { name, count in (1...count).map { "\($0) \(name)" } })
  }

  @Test("A queued monitor gets the events in their order, and delays nothing")
  func queuedMonitor() async throws {
    let server = try answering(okResponse("body"))
    let journal = Journal<String>()
    let queue = DispatchQueue(label: "monitor")
    queue.suspend()
    let monitor = ClosureEventMonitor(queue: queue)
    monitor.requestDidResume = { _ in journal.append("resume") }
    monitor.requestDidCreateTask = { _, _ in journal.append("createTask") }
    monitor.requestDidFinish = { _ in journal.append("finish") }
    monitor.requestDidParseResponse = { _, response in journal.append("parse \(response.data?.count ?? -1)") }
    let session = Session(eventMonitors: [monitor])
    _ = await session.request(server.url).plainResponse()
    #expect(journal.entries == [])
    queue.resume()
    await journal.wait { $0.count == 4 }
    #expect(journal.entries == ["resume", "createTask", "finish", "parse 4"])
  }
}
