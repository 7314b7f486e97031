import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import Weir

/// Refreshes that make requests of their own.
@Suite("§18 Refresh requests", .timeLimit(.minutes(5)))
struct RefreshRequestTests {
  enum Way: CaseIterable {
    /// A handler's closure; a Swift task; through another session with the same interceptor.
    case closure, task, otherSession
  }

  private static func fetch(
    _ url: String, _ session: Session, _ way: Way, _ completion: @escaping TokenAuthenticator.Completion
  ) {
    switch way {
    case .closure, .otherSession:
      session.request("\(url)token").responseString { completion($0.result.map { Token(text: $0) }.mapError { $0 }) }
    case .task:
      Task {
        await Task.yield()
        completion(await session.answer("\(url)token").result.map { Token(text: $0) }.mapError { $0 })
      }
    }
  }

  @Test("They may go through the session that waits for them, and carry no credential", arguments: Way.allCases)
  func throughTheSameSession(way: Way) async throws {
    let server = try TokenServer()
    let url = server.url
    let others = Log<Session>()
    let authenticator = TokenAuthenticator { _, session, completion in
      Self.fetch(url, way == .otherSession ? others.values.last ?? session : session, way, completion)
    }
    for isStale in [false, true] {
      let interceptor = TokenInterceptor(
        authenticator: authenticator, credential: Token(text: "a", requiresRefresh: isStale))
      let tenant = Adapter(name: "tenant") { urlRequest, _ in
        var urlRequest = urlRequest
        urlRequest.setValue("north", forHTTPHeaderField: "X-Tenant")
        return urlRequest
      }
      let both = Interceptor(adapters: [tenant], interceptors: [interceptor])
      let session = Session(interceptor: both)
      others.append(Session(interceptor: both))
      #expect(await session.answer(server.url).value == "fine")
    }
    #expect(authenticator.count == 2)
    let tokens = server.server.allRequests.filter { $0.target == "/token" }
    #expect(tokens.map { $0.value(of: "Authorization") } == [nil, nil])
    #expect(tokens.map { $0.value(of: "X-Tenant") } == ["north", "north"], "other interceptors apply")
  }

  @Test("A refresh request that is refused is not retried by the interceptor, nor does it wait for itself")
  func refused() async throws {
    let server = try TokenServer()
    let authenticator = TokenAuthenticator { _, session, completion in
      let url = server.url
      Task { completion(await session.answer(url).result.map { Token(text: $0) }.mapError { $0 }) }
    }
    let session = Session(
      interceptor: TokenInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    let error = await session.answer(server.url).error
    #expect((error?.retryCause?.cause as? WeirError)?.responseCode == 401)
    #expect(server.received == ["Bearer a", "-"])
  }

  @Test("A request that the authenticator knows for one is left alone, wherever it was made")
  func marked() async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let authenticator = TokenAuthenticator { held.keep($2) }
    let session = Session(
      interceptor: TokenInterceptor(
        authenticator: authenticator, credential: Token(text: "a", requiresRefresh: true)))
    async let deferred = session.answer(server.url)
    await held.wait()
    #expect(await session.answer("\(server.url)marked").error?.responseCode == 401)
    #expect(server.received == ["-"])
    server.accept(["b"])
    held.answer(.success(Token(text: "b")))
    #expect(await deferred.value == "fine")
  }

  @Test("Two interceptors whose refreshes need each other's session don't wait for each other")
  func mutual() async throws {
    let server = try TokenServer()
    let sessions = Log<Session>()
    let url = server.url
    let interceptors = (0..<2).map { index in
      TokenInterceptor(
        name: "\(index)",
        authenticator: TokenAuthenticator { _, _, completion in
          Task {
            completion(
              await sessions.values[1 - index].answer("\(url)token").result.map { Token(text: $0) }.mapError { $0 })
          }
        }, credential: Token(text: "old\(index)", requiresRefresh: true))
    }
    for interceptor in interceptors { sessions.append(Session(interceptor: interceptor)) }
    #expect(await sessions.values[0].answer(url, deadline: 20).value == "fine")
    // The inner refresh's request carried nothing, the outer's the credential that the inner one brought.
    #expect(Set(server.received) == ["-", "Bearer issued1", "Bearer issued2"])
  }

  @Test("Requests that go on after a refresh are not part of it")
  func afterwards() async throws {
    let server = try TokenServer(valid: ["b"])
    let scopes = Log<Bool>()
    let later = Adapter(name: "later") { urlRequest, _ in
      scopes.append(RefreshScope.current != nil)
      return urlRequest
    }
    let interceptor = TokenInterceptor(
      authenticator: TokenAuthenticator { $2(.success(Token(text: "b"))) },
      credential: Token(text: "a", requiresRefresh: true))
    let session = Session(interceptor: Interceptor(adapters: [interceptor, later]))
    #expect(await session.answer(server.url).value == "fine")
    #expect(scopes.values == [false])
  }
}

/// Authenticators that do what nobody should.
@Suite("§18 Answers of authenticators", .timeLimit(.minutes(5)))
struct AuthenticatorAnswerTests {
  @Test("The first of several answers counts, from whatever threads they come")
  func severalAnswers() async throws {
    let server = try TokenServer(valid: ["b"])
    let authenticator = TokenAuthenticator { _, _, completion in
      completion(.success(Token(text: "b")))
      completion(.failure(SampleError()))
      DispatchQueue.concurrentPerform(iterations: 8) { completion(.success(Token(text: "c\($0)"))) }
    }
    let interceptor = TokenInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let session = Session(interceptor: interceptor)
    #expect(await session.answer(server.url).value == "fine")
    await session.loopTurn()
    #expect(interceptor.credential == Token(text: "b"))
    #expect(authenticator.count == 1)
  }

  @Test("It may set the credential within its refresh, ask the interceptor to adapt, and answer as well")
  func reentrant() async throws {
    let server = try TokenServer(valid: ["set"])
    let slot = Mutex<TokenInterceptor?>(nil)
    let adapted = Log<String?>()
    let authenticator = TokenAuthenticator { _, session, completion in
      let interceptor = slot.withLock { $0 }
      guard let interceptor, let url = URL(string: "http://h/") else { return }
      interceptor.adapt(URLRequest(url: url), for: session) {
        adapted.append(try? $0.get().value(forHTTPHeaderField: "Authorization"))
      }
      interceptor.credential = Token(text: "set")
      completion(.success(Token(text: "answered")))
    }
    let interceptor = TokenInterceptor(
      authenticator: authenticator, credential: Token(text: "a", requiresRefresh: true))
    slot.withLock { $0 = interceptor }
    let session = Session(interceptor: interceptor)
    #expect(await session.answer(server.url).value == "fine")
    #expect(interceptor.credential == Token(text: "set"))
    #expect(adapted.values == [nil], "a request of the refresh passes unchanged")
    slot.withLock { $0 = nil }
  }

  @Test(
    "A credential that is set during a refresh is used at once, and the next refresh waits for the end of the first")
  func setDuringRefresh() async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let authenticator = TokenAuthenticator { held.keep($2) }
    let interceptor = TokenInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let recorder = RefreshRecorder()
    let session = Session(interceptor: interceptor, eventMonitors: [recorder])
    async let refused = session.answer(server.url)
    await held.wait()
    server.accept(["mine"])
    interceptor.credential = Token(text: "mine")
    #expect(await refused.value == "fine", "the refresh is under way still")
    server.accept(["b"])
    async let again = session.answer(server.url)
    try await eventually("it waits") { recorder.waiting == 1 }
    #expect(authenticator.count == 1)
    held.answer(.success(Token(text: "late")))
    await held.wait(for: 2)
    #expect(authenticator.refreshed.entries == ["a", "mine"])
    held.answer(.success(Token(text: "b")))
    #expect(await again.value == "fine")
  }

  private final class AsyncTokens: AsyncAuthenticator {
    let server: TokenServer
    let fails: Bool
    init(_ server: TokenServer, fails: Bool) { (self.server, self.fails) = (server, fails) }
    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
      urlRequest.setValue(credential.field, forHTTPHeaderField: "Authorization")
    }
    func refresh(_ credential: Token, for session: Session) async throws -> Token {
      if fails { throw SampleError() }
      return Token(text: try await session.request("\(server.url)token").validate().serializingString().value)
    }
    func didRequest(
      _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
      urlRequest.value(forHTTPHeaderField: "Authorization") == credential.field
    }
  }

  @Test("An AsyncAuthenticator awaits its new credential, through the same session")
  func async() async throws {
    let server = try TokenServer()
    let session = Session(
      interceptor: AuthenticationInterceptor(
        authenticator: AsyncTokens(server, fails: false), credential: Token(text: "a", requiresRefresh: true)))
    #expect(await session.answer(server.url).value == "fine")
    #expect(server.received == ["-", "Bearer issued1"])
    let failing = Session(
      interceptor: AuthenticationInterceptor(
        authenticator: AsyncTokens(server, fails: true), credential: Token(text: "a")))
    #expect(await failing.answer(server.url).error?.retryCause?.cause is SampleError)
  }

  @Test("§25 Events say who waits, when a refresh began and how it ended, under the interceptor's name")
  func events() async throws {
    let server = try TokenServer(valid: ["b"])
    let results = Turn<Result<Token, any Error>>([.failure(SampleError()), .success(Token(text: "b"))])
    let recorder = RefreshRecorder()
    let lines = Journal<String>()
    let session = Session(
      interceptor: TokenInterceptor(
        name: "tokens", authenticator: TokenAuthenticator { _, _, completion in results.next().map(completion) },
        credential: Token(text: "a"), refreshWindow: .init(maximumAttempts: 2)),
      eventMonitors: [recorder, LoggingEventMonitor { lines.append($0) }])
    #expect(await session.answer(server.url).error != nil)
    #expect(await session.answer(server.url).value == "fine")
    server.accept([])
    #expect(await session.answer(server.url).error?.retryCause?.cause as? AuthenticationError == .excessiveRefresh)
    await session.loopTurn()
    let kinds = recorder.events.entries.map { event -> String in
      #expect(event.interceptor == "tokens")
      return switch event.kind {
      case .began: "began \(event.waiters)"
      case .waiting(let change): "waiting \(change) \(event.waiters)"
      case .ended(let duration, let outcome): "\(outcome) \(duration >= 0) \(event.waiters)"
      }
    }
    let round = ["waiting 1 1", "began 1"]
    #expect(
      kinds == round + ["failure true 0", "waiting -1 0"] + round + ["success true 0", "waiting -1 0"]
        + ["excessive true 0"])
    await lines.wait { $0.contains { $0.hasPrefix("session.refresh excessive tokens") } }
    #expect(lines.entries.contains("session.refresh began tokens"))
    let unnamed = TokenInterceptor(authenticator: TokenAuthenticator { _, _, _ in })
    #expect(unnamed.name == nil)
  }
}
