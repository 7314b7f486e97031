import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// A credential whose age is a test's.
private struct AgeingToken: AgeingCredential {
  let text: String
  var isAgeing = false
  var requiresRefresh = false
}

private final class AgeingAuthenticator: Authenticator {
  typealias Completion = @Sendable (Result<AgeingToken, any Error>) -> Void

  let refreshed = Journal<String>()
  private let action: @Sendable (@escaping Completion) -> Void

  init(_ action: @escaping @Sendable (@escaping Completion) -> Void) { self.action = action }

  func apply(_ credential: AgeingToken, to urlRequest: inout URLRequest) {
    urlRequest.headers.update(.authorization(bearerToken: credential.text))
  }

  func refresh(_ credential: AgeingToken, for session: Session, completion: @escaping Completion) {
    refreshed.append(credential.text)
    action(completion)
  }

  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
  ) -> Bool { response.statusCode == 401 }

  func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: AgeingToken) -> Bool {
    urlRequest.headers["Authorization"] == "Bearer \(credential.text)"
  }
}

@Suite("Credentials that age", .timeLimit(.minutes(5))) struct AgeingCredentialTests {
  /// Long enough for any machine.
  private static let longFailure = OAuth2Error(reason: .response, text: "It is down.", retryAfter: 60)

  private func interceptor(
    _ authenticator: AgeingAuthenticator, _ credential: AgeingToken
  ) -> AuthenticationInterceptor<AgeingAuthenticator> {
    AuthenticationInterceptor(name: "ageing", authenticator: authenticator, credential: credential)
  }

  @Test("No request waits while the credential is good; one call fetches the next")
  func background() async throws {
    let server = try TokenServer(valid: ["a", "b"])
    let held = Held<Result<AgeingToken, any Error>>()
    let authenticator = AgeingAuthenticator { held.keep($0) }
    let interceptor = interceptor(authenticator, AgeingToken(text: "a", isAgeing: true))
    let recorder = RefreshRecorder()
    let session = Session(interceptor: interceptor, eventMonitors: [recorder])
    for _ in 0..<5 { #expect(await session.answer(server.url).value == "fine") }
    await held.wait()
    #expect(authenticator.refreshed.entries == ["a"])
    held.answer(.success(AgeingToken(text: "b")))
    try await eventually("it is there") { interceptor.credential?.text == "b" }
    #expect(await session.answer(server.url).value == "fine")
    #expect(server.received == Array(repeating: "Bearer a", count: 5) + ["Bearer b"])
    await session.loopTurn()
    let kinds = recorder.events.entries.map { event in
      switch event.kind {
      case .began: "began \(event.waiters)"
      case .waiting: "waiting"
      case .ended(_, let outcome): "\(outcome) \(event.waiters)"
      }
    }
    #expect(kinds == ["began 0", "success 0"], "the events of any refresh, but for those who wait")
  }

  @Test("After a failure it is used on, and nothing is fetched in the silence")
  func silence() async throws {
    let server = try TokenServer(valid: ["a"])
    let authenticator = AgeingAuthenticator { $0(.failure(Self.longFailure)) }
    let recorder = RefreshRecorder()
    let session = Session(
      interceptor: interceptor(authenticator, AgeingToken(text: "a", isAgeing: true)), eventMonitors: [recorder])
    #expect(await session.answer(server.url).value == "fine")
    try await eventually("it has failed") { recorder.outcomes == [.failure] }
    for _ in 0..<5 { #expect(await session.answer(server.url).value == "fine") }
    #expect(authenticator.refreshed.entries.count == 1)
    // A refusal in the silence fails with the error of the refresh.
    server.accept([])
    let cause = await session.answer(server.url).error?.retryCause?.cause
    #expect(cause as? OAuth2Error == Self.longFailure)
    #expect(authenticator.refreshed.entries.count == 1)
  }

  @Test("Once it is of no use, requests in the silence fail at once with the error of the refresh")
  func ofNoUse() async throws {
    let server = try TokenServer()
    let authenticator = AgeingAuthenticator { $0(.failure(Self.longFailure)) }
    let session = Session(interceptor: interceptor(authenticator, AgeingToken(text: "a", requiresRefresh: true)))
    for _ in 0..<3 {
      let error = await session.answer(server.url).error
      #expect(error?.adaptationCause as? OAuth2Error == Self.longFailure)
      #expect(error?.localizedDescription.contains("It is down.") == true)
    }
    #expect(authenticator.refreshed.entries == ["a"])
    #expect(server.received == [])
  }

  @Test("A new one that is of no use itself is a failure, and not a reason for one more at once")
  func uselessSuccess() async throws {
    let server = try TokenServer()
    let authenticator = AgeingAuthenticator { $0(.success(AgeingToken(text: "b", requiresRefresh: true))) }
    let session = Session(interceptor: interceptor(authenticator, AgeingToken(text: "a", requiresRefresh: true)))
    let error = await session.answer(server.url).error
    #expect(error?.adaptationCause as? AuthenticationError == .expiredCredential)
    #expect(authenticator.refreshed.entries == ["a"])
  }

  @Test("Refusals by the dozen make one refresh, and more than the window's are refused")
  func refusals() async throws {
    let server = try TokenServer()
    let count = Mutex(0)
    let authenticator = AgeingAuthenticator { completion in
      let number = count.withLock { count in
        count += 1
        return count
      }
      server.accept(["\(number)"])
      completion(.success(AgeingToken(text: "\(number)")))
    }
    let session = Session(
      interceptor: AuthenticationInterceptor(
        authenticator: authenticator, credential: AgeingToken(text: "0"),
        refreshWindow: .init(interval: 600, maximumAttempts: 2)))
    for round in 1...2 {
      server.accept([])
      let answers = await withTaskGroup(of: String?.self) { group in
        for _ in 0..<20 { group.addTask { await session.answer(server.url).value } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers == Array(repeating: "fine", count: 20))
      #expect(authenticator.refreshed.entries.count == round)
    }
    server.accept([])
    let error = await session.answer(server.url).error
    #expect(error?.retryCause?.cause as? AuthenticationError == .excessiveRefresh)
    server.accept(["2"])
    #expect(await session.answer(server.url).value == "fine", "the credential stays in use")
  }
}

@Suite("OAuth2 behind an interceptor", .timeLimit(.minutes(5))) struct OAuth2InterceptorTests {
  private func session(_ service: TokenService, _ monitors: [any EventMonitor] = []) throws -> Session {
    Session(
      interceptor: AuthenticationInterceptor(
        name: "shop", authenticator: OAuth2Authenticator(try service.settings()), credential: OAuth2Token.absent),
      eventMonitors: monitors)
  }

  @Test("One request for a token for all who begin at once, and one more when it is revoked")
  func together() async throws {
    let service = try TokenService(.token("t1"), .token("t2"), valid: ["t1"])
    let recorder = RefreshRecorder()
    let session = try session(service, [recorder])
    for valid in ["t1", "t2"] {
      service.accept([valid])
      let answers = await withTaskGroup(of: String?.self) { group in
        for _ in 0..<50 { group.addTask { await session.answer("\(service.url)api").value } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers == Array(repeating: "fine", count: 50))
    }
    #expect(service.asked.count == 2)
    #expect(service.asked.allSatisfy { $0.value(of: "Authorization")?.hasPrefix("Basic ") == true })
    await session.loopTurn()
    #expect(recorder.outcomes == [.success, .success] && recorder.waiting == 0)
    #expect(recorder.events.entries.allSatisfy { $0.interceptor == "shop" })
  }

  @Test(
    "A refusal by the service reaches the request in words, without what was sent, and is not asked for again at once")
  func refusal() async throws {
    let said = #"{"error": "invalid_client", "error_description": "no client-secret like this"}"#
    let service = try TokenService(.send(response("401 Unauthorized", ["Retry-After: 60"], body: said)))
    let session = try session(service)
    for _ in 0..<3 {
      let error = try #require(await session.answer("\(service.url)api").error)
      let refusal = error.adaptationCause as? OAuth2Error
      #expect(refusal?.reason == .invalidClient && refusal?.retryAfter == 60)
      #expect(refusal?.text == "The token service answered 401: invalid_client: no <redacted> like this.")
      #expect(AdaptationFailure(error) == .invalidClient)
      #expect(!"\(error)".contains("client-secret") && error.localizedDescription.contains("invalid_client"))
    }
    #expect(service.server.allRequests.map(\.target) == ["/token"])
  }

  @Test("What is sent for a token is in no description")
  func descriptions() async throws {
    let service = try TokenService(.token("the-token"), valid: ["the-token"])
    let texts = Journal<String>()
    let watcher = ClosureEventMonitor()
    watcher.requestDidFinish = { texts.append($0.cURLDescription()) }
    let session = Session(
      interceptor: AuthenticationInterceptor(
        authenticator: OAuth2Authenticator(try service.settings(.post("client-secret"))),
        credential: OAuth2Token.absent),
      eventMonitors: [watcher, LoggingEventMonitor { texts.append($0) }])
    #expect(await session.answer("\(service.url)api").value == "fine")
    await texts.wait { $0.count { $0.hasPrefix("$ ") } == 2 }
    #expect(texts.entries.contains { $0.contains("# The body is a secret: give it to curl's standard input.") })
    for text in texts.entries { #expect(!text.contains("client-secret") && !text.contains("the-token"), "\(text)") }
  }
}
