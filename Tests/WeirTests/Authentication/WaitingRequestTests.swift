import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// Who stops waiting, and what is left of them.
@Suite("§18 Ends of waiting requests", .slow, .timeLimit(.minutes(5)))
struct WaitingRequestTests {
  @Test(
    "A request that is cancelled while it waits ends at once and leaves the refresh alone", arguments: [true, false])
  func cancelled(isDeferred: Bool) async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let authenticator = TokenAuthenticator { held.keep($2) }
    let recorder = RefreshRecorder()
    let session = Session(
      interceptor: TokenInterceptor(
        authenticator: authenticator, credential: Token(text: "a", requiresRefresh: isDeferred)),
      eventMonitors: [recorder])
    let requests = (0..<3).map { _ in session.request(server.url).validate() }
    for request in requests { request.resume() }
    try await eventually("all wait") { recorder.waiting == 3 }
    await held.wait()
    for request in requests[..<2] {
      request.cancel()
      #expect(await request.serializingString().response.error?.isExplicitlyCancelledError == true)
    }
    try await eventually("two have left") { recorder.waiting == 1 }
    server.accept(["b"])
    held.answer(.success(Token(text: "b")))
    #expect(await requests[2].serializingString().response.value == "fine")
    #expect(await session.answer(server.url).value == "fine")
    #expect(authenticator.count == 1)
    #expect(recorder.waiting == 0)
  }

  @Test("A refresh goes on when all who waited for it have gone; its credential is kept")
  func allCancelled() async throws {
    let server = try TokenServer(valid: ["b"])
    let held = Held<Result<Token, any Error>>()
    let interceptor = TokenInterceptor(
      authenticator: TokenAuthenticator { held.keep($2) }, credential: Token(text: "a"))
    let session = Session(interceptor: interceptor)
    let request = session.request(server.url).validate().resume()
    await held.wait()
    request.cancel()
    held.answer(.success(Token(text: "b")))
    #expect(await request.serializingString().response.error?.isExplicitlyCancelledError == true)
    #expect(interceptor.credential == Token(text: "b"))
    #expect(await session.answer(server.url).value == "fine")
  }

  @Test("A session that is gone before its refresh begins takes nobody else along", arguments: [true, false])
  func sessionIsGone(isDeferred: Bool) async throws {
    let server = try TokenServer(valid: ["b"])
    let authenticator = TokenAuthenticator { $2(.success(Token(text: "b"))) }
    let interceptor = TokenInterceptor(
      authenticator: authenticator, credential: Token(text: "a", requiresRefresh: isDeferred))
    let recorders = (0..<2).map { _ in RefreshRecorder() }
    interceptor.queue.suspend()
    var lost: Session? = Session(interceptor: interceptor, eventMonitors: [recorders[0]])
    let request = try #require(lost).request(server.url).validate().resume()
    try await eventually("it waits") { recorders[0].waiting == 1 }
    let session = Session(interceptor: interceptor, eventMonitors: [recorders[1]])
    async let answer = session.answer(server.url)
    try await eventually("another waits") { recorders[1].waiting == 1 }
    lost = nil
    #expect(await request.serializingString().response.error?.isSessionDeinitializedError == true)
    interceptor.queue.resume()
    #expect(await answer.value == "fine")
    #expect(authenticator.count == 1)
    try await eventually("nobody waits") { recorders.allSatisfy { $0.waiting == 0 } }
  }

  /// Without a request there is nobody to end it, and without a window nothing to bound it.
  @Test("A session that is gone does not ask for refreshes without end")
  func sessionIsGoneWithoutRequest() async throws {
    let authenticator = TokenAuthenticator { $2(.success(Token(text: "b"))) }
    let interceptor = TokenInterceptor(
      authenticator: authenticator, credential: Token(text: "a", requiresRefresh: true), refreshWindow: nil)
    let loop = try EventLoop(name: "shared")
    interceptor.queue.suspend()
    var session: Session? = Session(loop: loop, shared: DestinationTable())
    let errors = Journal<String>()
    interceptor.adapt(try URLRequest(url: "http://h/", method: .get), for: try #require(session)) { result in
      if case .failure(let error) = result { errors.append(error.asWeirError?.label ?? "\(error)") }
    }
    let context = try #require(session).context
    session = nil
    #expect(context.isGone)
    interceptor.queue.resume()
    await errors.wait { !$0.isEmpty }
    #expect(errors.entries == ["session_deinitialized"])
    #expect(authenticator.count == 0)
    #expect(interceptor.machine.withLock { $0.waiterCount } == 0)
    interceptor.queue.sync {}
  }

  enum End: CaseIterable {
    case cancel, deadline, invalidation, loss
  }

  /// Nothing of a request may be kept by a refresh that never answers.
  @Test(
    "Nothing is kept of a request that waited for a refresh without an end", arguments: End.allCases, [true, false])
  func nothingIsKept(_ end: End, isDeferred: Bool) async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let recorder = RefreshRecorder()
    weak var weakRequest: DataRequest?
    weak var weakSession: Session?
    weak var weakInterceptor: TokenInterceptor?
    func wait() async throws {
      let interceptor = TokenInterceptor(
        authenticator: TokenAuthenticator { held.keep($2) }, credential: Token(text: "a", requiresRefresh: isDeferred))
      weakInterceptor = interceptor
      var session: Session? = Session(interceptor: interceptor, eventMonitors: [recorder])
      weakSession = session
      let request = try #require(session).request(server.url).validate()
      if end == .deadline { request.deadline(2) }
      weakRequest = request
      request.resume()
      try await eventually("it waits") { recorder.waiting == 1 }
      await held.wait()
      switch end {
      case .cancel: request.cancel()
      case .deadline: break
      case .invalidation: session?.invalidateAndCancel()
      case .loss: session = nil
      }
      let error = await request.serializingString().response.error
      switch end {
      case .cancel: #expect(error?.isExplicitlyCancelledError == true)
      case .deadline: #expect(error?.urlErrorCode == .timedOut)
      case .invalidation: #expect(error?.isSessionInvalidatedError == true)
      case .loss: #expect(error?.isSessionDeinitializedError == true)
      }
    }
    try await wait()
    // The authenticator keeps the completion, and will never call it.
    #expect(held.count == 1)
    try await eventually("all are gone") {
      weakRequest == nil && weakSession == nil && weakInterceptor == nil
    }
    #expect(recorder.waiting == 0)
  }
}
