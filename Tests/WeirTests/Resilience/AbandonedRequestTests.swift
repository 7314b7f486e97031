import Dispatch
import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir
@testable import WeirTransport

/// Callers that give up. Monitors hear of them with and without load control.
@Suite("Abandoned requests", .timeLimit(.minutes(5)))
struct AbandonedRequestTests {
  private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

  private static func session(
    _ recorder: OverloadRecorder, isControlled: Bool = true, slots: Int = 64,
    _ interceptor: (any RequestInterceptor)? = nil
  ) -> Session {
    Session(
      configuration: .limited(to: slots) { $0.overload = isControlled ? .default : nil }, interceptor: interceptor,
      eventMonitors: [recorder])
  }

  @Test("A caller may give up while its request waits for a slot", arguments: [true, false])
  func queue(isControlled: Bool) async throws {
    let server = try BlackHole()
    let recorder = OverloadRecorder()
    let session = Self.session(recorder, isControlled: isControlled, slots: 1)
    let first = session.request(server.url).resume()
    let second = session.request(server.url).resume()
    try await eventually("the first is sent") { server.connectionCount == 1 && !server.received().isEmpty }
    try await eventually("the second has its task") { second.task?.state == .running }
    await session.loopTurn()
    second.cancel()
    await second.settled()
    #expect(recorder.abandoned.entries == [.queue])
    first.cancel()
    await first.settled()
    first.cancel()
    await session.loopTurn()
    #expect(recorder.abandoned.entries == [.queue, .upstream])
    #expect(recorder.settled.entries == [.cancelled, .cancelled])
  }

  @Test("A give-up between two attempts is reported as one in the queue")
  func betweenAttempts() async throws {
    let server = try answering(response("503 Busy"))
    let recorder = OverloadRecorder()
    let retries = RetryRecorder()
    let session = Self.session(recorder, Retrier { $3(.retryWithDelay(600)) })
    let request = session.request(server.url).validate().eventMonitor(retries).resume()
    await retries.retries.wait { !$0.isEmpty }
    request.cancel()
    await request.settled()
    #expect(recorder.abandoned.entries == [.queue])
  }

  @Test("A give-up after a delayed retry was sent is one before the head")
  func afterADelayedRetry() async throws {
    let server = try ScriptedServer(Script(.request, .send(response("503 Busy"))), Script(.request, .awaitClose))
    let recorder = OverloadRecorder()
    let session = Self.session(recorder, Retrier { $3(.retryWithDelay(0.01)) })
    let request = session.request(server.url).validate().resume()
    try await eventually("the retry is sent") { server.allRequests.count == 2 }
    request.cancel()
    await request.settled()
    #expect(recorder.abandoned.entries == [.upstream])
  }

  @Test("A give-up while the next attempt is adapted is one in the queue")
  func whileTheNextAttemptIsAdapted() async throws {
    let server = try answering(response("503 Busy"))
    let recorder = OverloadRecorder()
    let held = Held<Result<URLRequest, any Error>>()
    let adapter = Adapter { urlRequest, _, completion in
      held.count == 0 ? completion(.success(urlRequest)) : ()
      held.keep(completion)
    }
    let session = Self.session(recorder, Interceptor(adapter: adapter, retrier: Retrier { $3(.retry) }))
    let request = session.request(server.url).validate().resume()
    await held.wait(for: 2)
    request.cancel()
    await request.settled()
    #expect(recorder.abandoned.entries == [.queue])
  }

  @Test("A caller may give up before the head, and while the body comes", arguments: [AbandonedPhase.upstream, .body])
  func onTheWire(phase: AbandonedPhase) async throws {
    let server = try ScriptedServer(
      phase == .body ? Script(.request, .send(Self.head + "o"), .awaitClose) : Script(.request, .awaitClose))
    let recorder = OverloadRecorder()
    let session = Self.session(recorder)
    let request = session.request(server.url).resume()
    try await eventually("it has come so far") {
      phase == .body ? request.response != nil : !server.received().isEmpty
    }
    request.cancel()
    await request.settled()
    #expect(recorder.abandoned.entries == [phase])
  }

  @Test("While a retrier is asked, a request waits for its next attempt")
  func whileARetrierIsAsked() async throws {
    let server = try answering(response("404 Not Found"))
    let recorder = OverloadRecorder()
    let held = Held<RetryResult>()
    let session = Self.session(recorder, Retrier { held.keep($3) })
    let request = session.request(server.url).validate().resume()
    await held.wait()
    request.cancel()
    await request.settled()
    held.answer(.retry)
    await session.loopTurn()
    #expect(recorder.abandoned.entries == [.queue])
    #expect(recorder.settled.entries == [.cancelled])
  }

  @Test("A cancelled task of Swift concurrency is a caller that gives up")
  func cancelledTask() async throws {
    let server = try BlackHole()
    let recorder = OverloadRecorder()
    let session = Self.session(recorder)
    let task = Task {
      try await session.request(server.url).serializingData(automaticallyCancelling: true).value
    }
    try await eventually("it is sent") { !server.received().isEmpty }
    task.cancel()
    await #expect(throws: (any Error).self) { try await task.value }
    await recorder.settled.wait { !$0.isEmpty }
    #expect(recorder.abandoned.entries == [.upstream])
  }

  // MARK: No give-ups

  @Test("Deadlines and time limits are not give-ups")
  func limitsOfTime() async throws {
    let server = try BlackHole()
    let recorder = OverloadRecorder()
    let session = Self.session(recorder)
    let late = session.request(server.url).deadline(0.05)
    #expect(await late.serializingData().response.error?.urlErrorCode == .timedOut)
    await recorder.settled.wait { !$0.isEmpty }
    #expect(recorder.abandoned.entries.isEmpty)
  }

  @Test("A hedge that loses is not a give-up, and a request with a hedge is given up once")
  func hedges() async throws {
    let server = try ScriptedServer(
      Script(.request, .awaitClose), Script(.request, .send(okResponse("second"))), Script(.request, .awaitClose))
    let recorder = OverloadRecorder()
    let session = Self.session(recorder)
    #expect(
      await session.request(server.url).hedge(after: .seconds(0.01)).serializingString().response.value == "second")
    await recorder.settled.wait { !$0.isEmpty }
    #expect(recorder.abandoned.entries.isEmpty)
    let request = session.request(server.url).hedge(after: .seconds(0.01)).resume()
    await recorder.hedges.wait { $0.count { $0 == .started } == 2 }
    request.cancel()
    await request.settled()
    #expect(recorder.abandoned.entries == [.upstream])
  }

  @Test("The end of a session is not a give-up")
  func sessionEnds() async throws {
    let server = try BlackHole()
    let recorder = OverloadRecorder()
    let session = Self.session(recorder, slots: 1)
    let requests = (0..<3).map { _ in session.request(server.url).resume() }
    try await eventually("one is sent") { !server.received().isEmpty }
    session.invalidateAndCancel()
    await recorder.settled.wait { $0.count == 3 }
    #expect(requests.allSatisfy { $0.error?.isSessionInvalidatedError == true })
    #expect(recorder.abandoned.entries.isEmpty)
  }

  @Test("Cancels before the first attempt and after the request has settled are not give-ups")
  func beforeAndAfter() async throws {
    let server = try answering(okResponse("x"))
    let recorder = OverloadRecorder()
    let held = Held<Result<URLRequest, any Error>>()
    let session = Self.session(
      recorder,
      Adapter { urlRequest, _, completion in
        urlRequest.url?.path == "/held" ? held.keep(completion) : completion(.success(urlRequest))
      })
    let unstarted = session.request(server.url)
    unstarted.cancel()
    await unstarted.settled()
    let adapted = session.request(server.url + "held").resume()
    await held.wait()
    adapted.cancel()
    await adapted.settled()
    let done = session.request(server.url)
    #expect(await done.serializingString().response.value == "x")
    await done.settled()
    done.cancel()
    await session.loopTurn()
    #expect(recorder.abandoned.entries.isEmpty)
    #expect(server.allRequests.count == 1)
  }
}
