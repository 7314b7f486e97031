import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// One deadline covers everything that a request does.
@Suite("Deadline", .slow, .timeLimit(.minutes(5)))
struct DeadlineTests {
  /// Fails with a timeout, once, whatever the request was doing, and is not retried.
  private func check(
    _ request: DataRequest, in session: Session, attempts: ClosedRange<Int> = 1...1,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let calls = Journal<String>()
    request.response { calls.append($0.error?.label ?? "success") }
    let response = await request.serializingData().response
    #expect(response.error?.isSessionTaskError == true, sourceLocation: sourceLocation)
    #expect(response.error?.urlErrorCode == .timedOut, sourceLocation: sourceLocation)
    await calls.wait { !$0.isEmpty }
    await session.loopTurn()
    #expect(calls.entries == ["timed_out"], sourceLocation: sourceLocation)
    #expect(request.outcome == .timeout, sourceLocation: sourceLocation)
    #expect(request.isFinished, sourceLocation: sourceLocation)
    #expect(attempts.contains(request.tasks.count), "\(request.tasks.count) tasks", sourceLocation: sourceLocation)
    #expect(request.allMetrics.count == request.tasks.count, sourceLocation: sourceLocation)
    #expect(request.tasks.allSatisfy { $0.state == .completed }, sourceLocation: sourceLocation)
    #expect(await session.activeRequests.isEmpty, sourceLocation: sourceLocation)
  }

  private func session(
    seconds: TimeInterval = 0.1, _ interceptor: (any RequestInterceptor)? = nil,
    _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> Session {
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForResource = seconds
    change(&configuration)
    return Session(configuration: configuration, interceptor: interceptor)
  }

  @Test("It ends an attempt on the wire; retriers are not asked")
  func onTheWire() async throws {
    let server = try BlackHole()
    let session = session(
      seconds: 0.1,
      Retrier { _, _, error, completion in
        Issue.record("asked about \(error)")
        completion(.retry)
      })
    await check(session.request(server.url), in: session)
  }

  @Test("One that is no number leaves the session's")
  func noNumber() async throws {
    let server = try BlackHole()
    let session = session(seconds: 0.05)
    await check(session.request(server.url).deadline(.nan), in: session)
  }

  @Test("A request's own deadline goes before the session's")
  func ofTheRequest() async throws {
    let server = try BlackHole()
    let session = session(seconds: 600)
    await check(session.request(server.url).deadline(0.05), in: session)
  }

  @Test("It ends an adapter's wait, whose late answer is ignored")
  func adapter() async throws {
    let held = Held<Result<URLRequest, any Error>>()
    let session = session(seconds: 0.05, Adapter { _, _, completion in held.keep(completion) })
    let request = session.request("http://127.0.0.1:1/")
    await check(request, in: session, attempts: 0...0)
    held.answer(.success(try URLRequest(url: "http://127.0.0.1:1/", method: .get)))
    await session.loopTurn()
    #expect(request.tasks.isEmpty)
  }

  @Test("It ends a retrier's wait")
  func retrier() async throws {
    let server = try answering(response("503 Busy"))
    let held = Held<RetryResult>()
    let session = session(seconds: 2, Retrier { _, _, _, completion in held.keep(completion) })
    await check(session.request(server.url).validate(), in: session)
    #expect(held.count == 1)
    held.answer(.retry)
    await session.loopTurn()
    #expect(await session.activeRequests.isEmpty)
  }

  @Test("It covers all attempts together: retries do not get a deadline of their own")
  func attempts() async throws {
    let server = try answering(response("503 Busy"))
    let session = session(seconds: 2, Retrier { $3(.retryWithDelay(0.2)) })
    let began = ContinuousClock.now
    let request = session.request(server.url).validate()
    let error = await request.plainResponse().error
    #expect(ContinuousClock.now - began >= .seconds(1.75))
    #expect(request.retryCount > 0)
    // Either the time was up in an attempt or a delay, or the next delay would have passed it.
    #expect(error?.urlErrorCode == .timedOut || error?.responseCode == 503, "\(error.map { "\($0)" } ?? "-")")
  }

  @Test("A retry whose delay would pass it is denied at once, and the error stands")
  func delayTooLong() async throws {
    let server = try answering(response("503 Busy"))
    let recorder = RetryRecorder()
    let session = session(seconds: 20, Retrier { $3(.retryWithDelay(21)) })
    let request = session.request(server.url).validate().eventMonitor(recorder)
    let began = ContinuousClock.now
    #expect(await request.plainResponse().error?.responseCode == 503)
    #expect(ContinuousClock.now - began < .seconds(15))
    #expect(recorder.denials.entries == [.deadline])
    #expect(request.outcome == .httpError)
  }

  @Test("It ends the wait for a slot")
  func admission() async throws {
    let server = try BlackHole()
    let session = session(seconds: 60) { $0.httpMaximumConnectionsPerHost = 1 }
    let blocker = session.request(server.url).resume()
    let request = session.request(server.url).deadline(0.05)
    let response = await request.serializingData().response
    #expect(response.error?.urlErrorCode == .timedOut)
    #expect(request.attemptCount == 0)
    blocker.cancel()
    await blocker.settled()
    #expect(await session.activeRequests.isEmpty)
  }

  @Test("It runs on while a request is suspended, in a redirect handler, in an observer of the head")
  func whileWaiting() async throws {
    let server = try answering(response("302 Found", ["Location: /next"], body: "moved"))
    let held = Held<URLRequest?>()
    let first = session(seconds: 0.1)
    await check(first.request(server.url).redirect(using: HoldingRedirector(held: held)), in: first)
    let heads = Held<Request.ResponseDisposition>()
    let plain = try answering(okResponse("x"))
    await check(
      first.request(plain.url).onHTTPResponse { _, completion in heads.keep(completion) }, in: first)
    held.answer(nil)
    heads.answer(.allow)
    await first.loopTurn()
    let hole = try BlackHole()
    let suspended = first.request(hole.url, shouldAutomaticallyResume: false).resume().suspend()
    #expect(await suspended.serializingData().response.error?.urlErrorCode == .timedOut)
  }

  @Test("It counts from resume, not from the making of the request", arguments: [Session.RequestSetup.lazy, .eager])
  func countsFromResume(_ setup: Session.RequestSetup) async throws {
    let server = try answering(okResponse("x"))
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForResource = 2
    let session = Session(configuration: configuration, startRequestsImmediately: false, requestSetup: setup)
    let request = session.request(server.url)
    let task = request.serializingString()
    // Longer than the deadline.
    try await letPass(2.1)
    #expect(request.state == .initialized)
    request.resume()
    #expect(await task.response.value == "x")
  }

  @Test("The error names the deadline and the URL, without its secrets")
  func error() async throws {
    let server = try BlackHole()
    let session = session(seconds: 0.05)
    let url = "http://user:secret@127.0.0.1:\(server.port)/path"
    let error = try #require(await session.request(url).plainResponse().error)
    #expect("\(error)".contains("timeoutIntervalForResource, 0.05 s"))
    #expect(!"\(error)".contains("secret"))
  }

  @Test("The timers of requests that have ended are gone from the loop, and so are the requests")
  func timersAreRemoved() async throws {
    let server = try ScriptedServer(.answering(okResponse("x")))
    var configuration = SessionConfiguration.default
    configuration.timeoutIntervalForResource = 100_000
    let session = Session(configuration: configuration)
    weak var observed: DataRequest?
    do {
      let request = session.request(server.url)
      observed = request
      #expect(await request.serializingString().response.value == "x")
    }
    try await eventually("the request is gone") {
      await session.loopTurn()
      return observed == nil
    }
  }
}
