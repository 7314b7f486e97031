import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// What a request asks of its session, and of who takes its place.
@Suite("Request delegates", .timeLimit(.minutes(5)))
struct RequestDelegateTests {
  /// Passes everything on to a session, and notes it.
  private final class Delegate: RequestDelegate {
    let session: Session
    let calls = Journal<String>()
    let answer: (@Sendable (Request, Session) -> RetryResult)?

    init(_ session: Session, _ answer: (@Sendable (Request, Session) -> RetryResult)? = nil) {
      self.session = session
      self.answer = answer
    }

    var sessionConfiguration: SessionConfiguration { session.sessionConfiguration }
    var startImmediately: Bool {
      calls.append("start")
      return true
    }

    func readyToPerform(request: Request) { session.readyToPerform(request: request) }

    func cleanup(after request: Request) {
      calls.append("cleanup")
      session.cleanup(after: request)
    }

    func retryResult(
      for request: Request, dueTo error: WeirError, completion: @escaping @Sendable (RetryResult) -> Void
    ) {
      calls.append("retry? \(request.retryCount)")
      if let answer { return completion(answer(request, session)) }
      session.retryResult(for: request, dueTo: error, completion: completion)
    }

    func retryRequest(_ request: Request, withDelay delay: TimeInterval?) {
      session.retryRequest(request, withDelay: delay)
    }
  }

  @Test("A request's delegate is its session, held weakly, until another is set")
  func weakAndSettable() async throws {
    let session = Session()
    let request = session.request("http://h/")
    #expect(request.delegate === session)
    var delegate: Delegate? = Delegate(session)
    request.delegate = delegate
    #expect(request.delegate === delegate)
    delegate = nil
    #expect(request.delegate == nil)
    request.delegate = session
    #expect(request.delegate === session)
    let other = (0..<1).map { _ in Session().request("http://h/") }[0]
    // Its setup is a job that may still be under way.
    try await eventually("its session goes") { other.delegate == nil }
  }

  @Test("Another delegate says whether a request starts and is tried again, and hears of its end")
  func another() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
    let session = Session(
      startRequestsImmediately: false,
      interceptor: Retrier { request, _, _, completion in completion(request.retryCount < 2 ? .retry : .doNotRetry) })
    let delegate = Delegate(session)
    let request = session.request(server.url).validate()
    request.delegate = delegate
    #expect(await request.plainResponse().error?.responseCode == 503)
    #expect(request.retryCount == 2)
    await delegate.calls.wait(for: "cleanup")
    #expect(delegate.calls.entries == ["start", "retry? 0", "retry? 1", "retry? 2", "cleanup"])
    #expect(await session.activeRequests.isEmpty)
  }

  @Test("retryRequest grants the retry that is being asked about, once")
  func retryRequest() async throws {
    let server = try answeringInTurn("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", okResponse("1"))
    let session = Session()
    let delegate = Delegate(session) { request, session in
      session.retryRequest(request, withDelay: 0.01)
      session.retryRequest(request, withDelay: nil)
      return .doNotRetry
    }
    let request = session.request(server.url).validate()
    request.delegate = delegate
    let task = request.serializingString()
    #expect(await task.response.value == "1")
    #expect(request.retryCount == 1)
    session.retryRequest(request, withDelay: nil)
    await session.loopTurn()
    #expect(request.retryCount == 1, "it has settled")
  }

  @Test("A delegate's own error is the request's, wrapped once")
  func ownError() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
    let session = Session(interceptor: Retrier { _, _, _, completion in completion(.doNotRetryWithError(Own())) })
    let delegate = Delegate(session)
    let request = session.request(server.url).validate()
    request.delegate = delegate
    let error = await request.plainResponse().error
    guard case .requestRetryFailed(let cause, let original)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause is Own)
    #expect(original.asWeirError?.responseCode == 503)
  }

  private struct Own: Error {}
}
