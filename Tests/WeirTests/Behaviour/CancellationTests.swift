import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirIO
import WeirTestSupport

/// Cancel wins at every point, and each handler is called once.
@Suite("Cancellation", .timeLimit(.minutes(5)))
struct CancellationTests {
  /// Cancels in the stage that `reach` waits for, and checks what follows.
  private func check(
    _ request: DataRequest, in session: Session, sourceLocation: SourceLocation = #_sourceLocation,
    reach: () async throws -> Void
  ) async rethrows {
    let calls = Journal<String>()
    request.responseData { calls.append($0.error?.label ?? "success") }
    let task = request.serializingString()
    try await reach()
    #expect(!request.isFinished, sourceLocation: sourceLocation)
    request.cancel()
    #expect(request.isCancelled, sourceLocation: sourceLocation)
    #expect(request.error?.isExplicitlyCancelledError == true, sourceLocation: sourceLocation)
    request.cancel()
    request.resume()
    #expect(await task.response.error?.isExplicitlyCancelledError == true, sourceLocation: sourceLocation)
    await calls.wait { $0.count >= 1 }
    await session.loopTurn()
    #expect(request.isCancelled, sourceLocation: sourceLocation)
    #expect(calls.entries == ["explicitly_cancelled"], sourceLocation: sourceLocation)
    #expect(await session.activeRequests.isEmpty, sourceLocation: sourceLocation)
    #expect(
      request.tasks.count == request.allMetrics.count, "one entry of metrics per task", sourceLocation: sourceLocation)
    #expect(request.tasks.allSatisfy { $0.state == .completed }, sourceLocation: sourceLocation)
    #expect(request.outcome == .cancelled, sourceLocation: sourceLocation)
    let late = await request.serializingData().response
    #expect(late.error?.isExplicitlyCancelledError == true, sourceLocation: sourceLocation)
  }

  @Test func whileTheURLRequestIsBuilt() async throws {
    let (entered, gate) = (Latch(), Gate())
    let session = Session(requestQueue: DispatchQueue(label: "requests"))
    let request = session.request("http://127.0.0.1:1/") { _ in
      entered.open()
      gate.wait()
    }
    await check(request, in: session) { await entered.wait() }
    gate.open()
    await session.loopTurn()
    #expect(request.tasks.isEmpty)
  }

  @Test func beforeTheLoopHears() async throws {
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let entered = Latch()
    let gate = Gate()
    session.withAllRequests { _ in
      entered.open()
      gate.wait()
    }
    await entered.wait()
    let request = session.request("http://127.0.0.1:1/").resume().cancel()
    gate.open()
    #expect(await request.serializingData().response.error?.isExplicitlyCancelledError == true)
    #expect(recorder.names == ["resume", "cancel", "finish", "parse(explicitly_cancelled)"])
    #expect(await session.activeRequests.isEmpty)
  }

  @Test func whileAdapting() async throws {
    let held = Held<Result<URLRequest, any Error>>()
    let session = Session(interceptor: Adapter { _, _, completion in held.keep(completion) })
    let request = session.request("http://127.0.0.1:1/")
    await check(request, in: session) { await held.wait() }
    held.answer(.failure(SampleError()))
    await session.loopTurn()
    #expect(request.tasks.isEmpty)
    #expect(request.error?.isExplicitlyCancelledError == true)
  }

  @Test func whileWaitingForAdmission() async throws {
    let server = try BlackHole()
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 1
    let session = Session(configuration: configuration)
    let first = session.request(server.url).resume()
    let recorder = EventRecorder()
    let request = session.request(server.url).eventMonitor(recorder)
    let calls = Journal<String>()
    request.responseData { calls.append($0.error?.label ?? "success") }
    await recorder.events.wait(for: "resumeTask")
    try await eventually("the first has arrived") { server.connectionCount == 1 }
    request.cancel()
    await calls.wait { !$0.isEmpty }
    #expect(calls.entries == ["explicitly_cancelled"])
    #expect(server.connectionCount == 1)
    #expect(
      recorder.names.suffix(6) == [
        "cancel", "cancelTask", "gatherMetrics", "completeTask(cancelled)", "finish", "parse(explicitly_cancelled)",
      ])
    #expect(request.attemptCount == 0)
    first.cancel()
    await first.settled()
    #expect(await session.activeRequests.isEmpty)
  }

  @Test func whileConnecting() async throws {
    // Not routed (RFC 5737), or refused at once where the network says so: both end in a cancelled request here.
    var configuration = SessionConfiguration.default
    configuration.resolveOverrides = [.init(host: "unreachable.test", port: 80, addresses: ["192.0.2.1"])]
    let recorder = EventRecorder()
    let session = Session(
      configuration: configuration, interceptor: Retrier { $3(.retryWithDelay(60)) }, eventMonitors: [recorder])
    await check(session.request("http://unreachable.test/"), in: session) {
      await recorder.events.wait(for: "resumeTask")
    }
  }

  @Test func whileWaitingForTheHead() async throws {
    let arrived = Latch()
    let server = try ScriptedServer(Script(.head, .call { arrived.open() }, .awaitClose))
    let session = Session()
    await check(session.request(server.url), in: session) { await arrived.wait() }
  }

  @Test func inTheBody() async throws {
    let server = try ScriptedServer(
      Script(.head, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome"), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    await check(session.request(server.url), in: session) { await recorder.events.wait(for: "·data") }
  }

  @Test func whileTheHeadIsLookedAt() async throws {
    let server = try answering(okResponse("body"))
    let held = Held<Request.ResponseDisposition>()
    let session = Session()
    let request = session.request(server.url).onHTTPResponse { _, completion in held.keep(completion) }
    await check(request, in: session) { await held.wait() }
    held.answer(.allow)
    await session.loopTurn()
  }

  @Test func byTheDispositionOfTheHead() async throws {
    let server = try answering(okResponse("body"))
    let session = Session()
    let request = session.request(server.url).onHTTPResponse { _, completion in completion(.cancel) }
    #expect(await request.serializingData().response.error?.isExplicitlyCancelledError == true)
    #expect(request.data == nil)
    await session.loopTurn()
  }

  @Test func whileARedirectIsDecided() async throws {
    let server = try answering(response("302 Found", ["Location: /next"], body: "moved"))
    let held = Held<URLRequest?>()
    let session = Session(redirectHandler: HoldingRedirector(held: held))
    await check(session.request(server.url), in: session) { await held.wait() }
    held.answer(try URLRequest(url: server.url, method: .get))
    await session.loopTurn()
    #expect(server.connectionCount == 1)
  }

  @Test func whileARetrierIsAsked() async throws {
    let server = try answering(response("503 Busy"))
    let held = Held<RetryResult>()
    let asked = Journal<Int>()
    let session = Session(
      interceptor: Interceptor(retriers: [
        Retrier { _, _, _, completion in held.keep(completion) },
        Retrier { _, _, _, completion in
          asked.append(2)
          completion(.retry)
        },
      ]))
    let request = session.request(server.url).validate()
    await check(request, in: session) { await held.wait() }
    held.answer(.doNotRetry)
    await session.loopTurn()
    #expect(request.tasks.count == 1)
    #expect(asked.entries.isEmpty, "a retrier is never asked once a request is cancelled")
  }

  @Test func inTheDelayOfARetry() async throws {
    let server = try answering(response("503 Busy"))
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(interceptor: Retrier { $3(.retryWithDelay(60)) }, eventMonitors: [recorder])
    let request = session.request(server.url).validate()
    await check(request, in: session) { await recorder.events.wait(for: "willRetry(backoff, 503)") }
    #expect(request.tasks.count == 1)
  }

  @Test func inASerializer() async throws {
    let server = try answering(okResponse("body"))
    let (entered, gate) = (Latch(), Gate())
    let session = Session(serializationQueue: DispatchQueue(label: "serialization", attributes: .concurrent))
    let request = session.request(server.url)
    let calls = Journal<String>()
    request.response(responseSerializer: Blocking(entered: entered, gate: gate)) {
      calls.append($0.error?.label ?? "success")
    }
    await entered.wait()
    request.cancel()
    await calls.wait { !$0.isEmpty }
    gate.open()
    await session.loopTurn()
    #expect(calls.entries == ["explicitly_cancelled"])
    #expect(await session.activeRequests.isEmpty)
  }

  @Test("A serializer of a large body runs on a worker, and is not waited for")
  func inASerializerOfALargeBody() async throws {
    let server = try answering(okResponse(String(repeating: "x", count: 100_000)))
    let (entered, gate) = (Latch(), Gate())
    let session = Session()
    let request = session.request(server.url)
    let task = request.serializingResponse(using: Blocking(entered: entered, gate: gate))
    await entered.wait()
    await session.loopTurn()
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    gate.open()
    await session.loopTurn()
    #expect(await session.activeRequests.isEmpty)
  }

  @Test func whileValidatorsRunElsewhere() async throws {
    let server = try answering(okResponse("body"))
    let (entered, gate) = (Latch(), Gate())
    let recorder = EventRecorder(notingAttempts: true)
    let session = Session(rootQueue: DispatchQueue(label: "root"), eventMonitors: [recorder])
    let request = session.request(server.url).validate { _, _, _ in
      entered.open()
      gate.wait()
      return .success(())
    }
    let task = request.serializingData()
    await entered.wait()
    request.cancel()
    #expect(await task.response.error?.isExplicitlyCancelledError == true)
    gate.open()
    await session.loopTurn()
    #expect(recorder.events.count(of: "completeTask") == 1)
    #expect(recorder.names.last == "settle(cancelled)")
  }

  @Test func whileSuspended() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.head, .wait(gate), .send(okResponse("body")), .awaitClose))
    let recorder = EventRecorder()
    let session = Session(eventMonitors: [recorder])
    let request = session.request(server.url)
    await check(request, in: session) {
      await recorder.events.wait(for: "resumeTask")
      request.suspend()
      await recorder.events.wait(for: "suspendTask")
      gate.open()
    }
  }

  @Test("Cancelling a task fails its attempt, which may be retried", arguments: [false, true])
  func taskAlone(_ isWaiting: Bool) async throws {
    let server = try ScriptedServer(Script(.head, .awaitClose), .answering(okResponse("second")))
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 1
    let recorder = EventRecorder()
    let session = Session(
      configuration: configuration,
      interceptor: Retrier { request, _, error, completion in
        #expect((error as? WeirError)?.urlErrorCode == .cancelled)
        completion(request.retryCount == 0 ? .retry : .doNotRetry)
      })
    let blocker = isWaiting ? session.request(server.url).resume() : nil
    let request = session.request(server.url).eventMonitor(recorder)
    let task = request.serializingString()
    await recorder.events.wait(for: "resumeTask")
    // Before that the server's first script might be the second attempt's.
    try await eventually("who has the slot has arrived") { !server.received().isEmpty }
    request.task?.cancel()
    await recorder.events.wait(for: "completeTask(cancelled)")
    blocker?.cancel()
    #expect(await task.response.value == "second")
    #expect(request.tasks.count == 2)
    #expect(request.allMetrics.count == 2)
    #expect(!recorder.events.entries.contains("cancel"))
  }
}

/// Blocks the thread that serializes until a gate opens.
private struct Blocking: DataResponseSerializerProtocol {
  let entered: Latch
  let gate: Gate

  func serialize(
    request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
  ) throws -> Int {
    entered.open()
    gate.wait()
    return 1
  }
}

/// Leaves the decision to a test.
struct HoldingRedirector: RedirectHandler {
  let held: Held<URLRequest?>

  func task(
    _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
    completion: @escaping @Sendable (URLRequest?) -> Void
  ) {
    held.keep(completion)
  }
}
