import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

@Suite("§18 Adapting on the wire", .timeLimit(.minutes(5)))
struct AuthenticationAdaptTests {
  @Test("The credential is applied; one that is set later too")
  func applied() async throws {
    let server = try TokenServer(valid: ["a", "b"])
    let authenticator = TokenAuthenticator { _, _, _ in }
    let interceptor = TokenInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let session = Session(interceptor: interceptor)
    #expect(await session.answer(server.url).value == "fine")
    interceptor.credential = Token(text: "b")
    #expect(interceptor.credential == Token(text: "b"))
    #expect(await session.answer(server.url).value == "fine")
    #expect(server.received == ["Bearer a", "Bearer b"])
    #expect(authenticator.count == 0)
  }

  @Test("Without a credential nothing is sent, until one is set")
  func missing() async throws {
    let server = try TokenServer(valid: ["a"])
    let interceptor = TokenInterceptor(authenticator: TokenAuthenticator { _, _, _ in })
    let session = Session(interceptor: interceptor)
    let error = await session.answer(server.url).error
    #expect(error?.adaptationCause as? AuthenticationError == .missingCredential)
    #expect(error?.localizedDescription.contains("set the interceptor's credential") == true)
    #expect(server.received.isEmpty)
    interceptor.credential = Token(text: "a")
    #expect(await session.answer(server.url).value == "fine")
  }

  @Test("Requests wait for a credential that requires a refresh, and go out with the new one in their order")
  func deferred() async throws {
    let server = try TokenServer(valid: ["b"])
    let held = Held<Result<Token, any Error>>()
    let authenticator = TokenAuthenticator { held.keep($2) }
    let interceptor = TokenInterceptor(
      authenticator: authenticator, credential: Token(text: "a", requiresRefresh: true))
    var configuration = SessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = 1
    let session = Session(configuration: configuration, interceptor: interceptor)
    let requests = (0..<10).map { session.request("\(server.url)\($0)").validate() }
    for request in requests { request.resume() }
    await held.wait()
    await session.loopTurn()
    #expect(server.received.isEmpty)
    held.answer(.success(Token(text: "b")))
    for request in requests { #expect(await request.serializingString().response.value == "fine") }
    #expect(server.server.allRequests.map(\.target) == (0..<10).map { "/\($0)" })
    #expect(server.received.allSatisfy { $0 == "Bearer b" })
    #expect(authenticator.refreshed.entries == ["a"])
  }

  @Test("A refresh that a refusal started holds up no request whose credential looks valid")
  func notHeldUp() async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let session = Session(
      interceptor: TokenInterceptor(
        authenticator: TokenAuthenticator { held.keep($2) }, credential: Token(text: "a")))
    async let refused = session.answer(server.url)
    await held.wait()
    server.accept(["a", "b"])
    #expect(await session.answer(server.url).value == "fine", "the refresh is under way still")
    held.answer(.success(Token(text: "b")))
    #expect(await refused.value == "fine")
  }

  @Test("A new credential that requires a refresh too is refreshed again, as often as the window allows")
  func neverGood() async throws {
    let server = try TokenServer()
    let authenticator = TokenAuthenticator { $2(.success(Token(text: $0.text + "+", requiresRefresh: true))) }
    let interceptor = TokenInterceptor(
      authenticator: authenticator, credential: Token(text: "a", requiresRefresh: true),
      refreshWindow: .init(interval: 60, maximumAttempts: 3))
    let error = await Session(interceptor: interceptor).answer(server.url).error
    #expect(error?.adaptationCause as? AuthenticationError == .excessiveRefresh)
    #expect(authenticator.refreshed.entries == ["a", "a+", "a++"])
    #expect(server.received.isEmpty)
  }
}

@Suite("§18 Refusals on the wire", .timeLimit(.minutes(5)))
struct AuthenticationRetryTests {
  /// Gives a token that the server then accepts.
  static func renewing(_ server: TokenServer, _ text: String = "b") -> TokenAuthenticator {
    TokenAuthenticator { _, _, completion in
      server.accept([text])
      completion(.success(Token(text: text)))
    }
  }

  @Test("A retry that another adapter fails is not taken for the refusal before it")
  func retryThatIsNotSent() async throws {
    let server = try TokenServer()
    let authenticator = Self.renewing(server)
    let session = Session(
      interceptor: TokenInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    let adapted = Journal<Bool>()
    let failing = Adapter { urlRequest, _, completion in
      adapted.append(true)
      completion(adapted.entries.count == 1 ? .success(urlRequest) : .failure(SampleError()))
    }
    let request = session.request(server.url, interceptor: failing).validate()
    #expect(await request.plainResponse().error?.adaptationCause is SampleError)
    #expect(request.retryCount == 1)
    #expect(authenticator.count == 1)
  }

  @Test("A token is revoked under 200 concurrent requests: one refresh, and all succeed, by the default retry budget")
  func revokedUnderLoad() async throws {
    let server = try TokenServer()
    let authenticator = Self.renewing(server)
    let recorder = RetryRecorder()
    let session = Session(
      interceptor: TokenInterceptor(authenticator: authenticator, credential: Token(text: "a")),
      eventMonitors: [recorder])
    let answers = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<200 { group.addTask { await session.answer(server.url).value } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.count { $0 == "fine" } == 200)
    #expect(authenticator.count == 1)
    #expect(recorder.denials.entries == [])
    #expect(server.received.count { $0 == "Bearer a" } == recorder.retries.entries.count)
  }

  @Test("A token expires under 200 requests that have not been sent: one refresh before them, none is refused")
  func expiredUnderLoad() async throws {
    let server = try TokenServer()
    let authenticator = Self.renewing(server)
    let session = Session(
      interceptor: TokenInterceptor(
        authenticator: authenticator, credential: Token(text: "a", requiresRefresh: true)))
    let answers = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<200 { group.addTask { await session.answer(server.url).value } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.count { $0 == "fine" } == 200)
    #expect(authenticator.count == 1)
    #expect(server.received.allSatisfy { $0 == "Bearer b" })
  }

  @Test("A refresh fails: all of its batch fail once, with its error, and the next request can refresh again")
  func failedBatch() async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let authenticator = TokenAuthenticator { held.keep($2) }
    let recorder = RefreshRecorder()
    let session = Session(
      interceptor: TokenInterceptor(authenticator: authenticator, credential: Token(text: "a")),
      eventMonitors: [recorder])
    let requests = (0..<20).map { _ in session.request(server.url).validate() }
    for request in requests { request.resume() }
    try await eventually("all wait") { recorder.waiting == 20 }
    await held.wait()
    held.answer(.failure(SampleError()))
    for request in requests {
      let error = await request.serializingString().response.error
      #expect(error?.retryCause?.cause is SampleError)
      #expect(error?.retryCause?.original.asWeirError?.responseCode == 401)
      #expect(request.tasks.count == 1)
    }
    #expect(server.received.count == 20)
    #expect(authenticator.count == 1, "handlers that ask about the failure again begin none")
    async let next = session.answer(server.url)
    await held.wait(for: 2)
    #expect(authenticator.refreshed.entries == ["a", "a"])
    server.accept(["b"])
    held.answer(.success(Token(text: "b")))
    #expect(await next.value == "fine")
    #expect(recorder.waiting == 0)
  }

  @Test("A refresh that fails before requests are sent fails their adaptation")
  func failedDeferred() async throws {
    let server = try TokenServer()
    let session = Session(
      interceptor: TokenInterceptor(
        authenticator: TokenAuthenticator { $2(.failure(SampleError())) },
        credential: Token(text: "a", requiresRefresh: true)))
    #expect(await session.answer(server.url).error?.adaptationCause is SampleError)
    #expect(server.received.isEmpty)
  }

  @Test("A credential that is discarded after the failure is missing from then on")
  func discarded() async throws {
    let server = try TokenServer()
    let authenticator = TokenAuthenticator(discards: true) { $2(.failure(SampleError())) }
    let interceptor = TokenInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let session = Session(interceptor: interceptor)
    #expect(await session.answer(server.url).error?.retryCause?.cause is SampleError)
    #expect(interceptor.credential == nil)
    let error = await session.answer(server.url).error
    #expect(error?.adaptationCause as? AuthenticationError == .missingCredential)
    #expect(authenticator.count == 1)
  }

  @Test("A hanging refresh ends each request at its deadline; the next ones wait for the same refresh")
  func hanging() async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let authenticator = TokenAuthenticator { held.keep($2) }
    let interceptor = TokenInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let recorder = RefreshRecorder()
    let session = Session(interceptor: interceptor, eventMonitors: [recorder])
    let began = ContinuousClock.now
    let errors = await withTaskGroup(of: WeirError?.self) { group in
      for _ in 0..<10 { group.addTask { await session.answer(server.url, deadline: 0.3).error } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(errors.allSatisfy { $0?.urlErrorCode == .timedOut })
    #expect(ContinuousClock.now - began < .seconds(10))
    await session.loopTurn()
    #expect(recorder.waiting == 0, "nobody is kept for a refresh that does not end")
    async let next = session.answer(server.url)
    try await eventually("it waits") { recorder.waiting == 1 }
    await held.wait()
    server.accept(["b"])
    held.answer(.success(Token(text: "b")))
    #expect(await next.value == "fine")
    #expect(authenticator.count == 1)
  }

  @Test("Who asks whom: not about other failures, nor without a response; not again when the credential is another one")
  func otherFailures() async throws {
    let server = try answeringInTurn(response("500 Error"), response("401 Unauthorized"), okResponse("fine"))
    let authenticator = TokenAuthenticator { _, _, _ in }
    let interceptor = TokenInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let session = Session(interceptor: interceptor)
    #expect(await session.answer(server.url).error?.responseCode == 500)
    #expect(await session.answer("http://127.0.0.1:1/").error?.urlErrorCode == .cannotConnectToHost)
    let request = session.request(server.url).validate { _, _, _ in
      // Between its being sent and its being refused.
      interceptor.credential = Token(text: "b")
      return .success(())
    }.validate()
    #expect(await request.serializingString().response.value == "fine")
    #expect(server.allRequests.map { $0.value(of: "Authorization") } == ["Bearer a", "Bearer a", "Bearer b"])
    #expect(authenticator.count == 0)
  }

  @Test("Without a validation a 401 is an answer")
  func unvalidated() async throws {
    let server = try TokenServer()
    let authenticator = TokenAuthenticator { _, _, _ in }
    let session = Session(
      interceptor: TokenInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    let response = await session.request(server.url).serializingString().response
    #expect(response.response?.statusCode == 401 && response.value == "who?")
    #expect(authenticator.count == 0)
  }

  @Test("A credential that goes away between is missing for the retry too")
  func missingAtRetry() async throws {
    let server = try TokenServer()
    let interceptor = TokenInterceptor(
      authenticator: TokenAuthenticator { _, _, _ in }, credential: Token(text: "a"))
    let session = Session(interceptor: interceptor)
    let request = session.request(server.url).validate { _, _, _ in
      interceptor.credential = nil
      return .success(())
    }.validate()
    let error = await request.serializingString().response.error
    #expect(error?.retryCause?.cause as? AuthenticationError == .missingCredential)
  }

  @Test("New credentials that are refused too end with excessiveRefresh")
  func alwaysRefused() async throws {
    let server = try TokenServer()
    let authenticator = TokenAuthenticator { $2(.success(Token(text: $0.text + "+"))) }
    let session = Session(
      interceptor: TokenInterceptor(authenticator: authenticator, credential: Token(text: "a")))
    let error = await session.answer(server.url).error
    #expect(error?.retryCause?.cause as? AuthenticationError == .excessiveRefresh)
    #expect(authenticator.count == 5)
    #expect(server.received.count == 6)
  }

  @Test("One interceptor serves several sessions: one refresh for all")
  func sessions() async throws {
    let server = try TokenServer()
    let held = Held<Result<Token, any Error>>()
    let authenticator = TokenAuthenticator { held.keep($2) }
    let interceptor = TokenInterceptor(authenticator: authenticator, credential: Token(text: "a"))
    let recorders = (0..<3).map { _ in RefreshRecorder() }
    let sessions = recorders.map { Session(interceptor: interceptor, eventMonitors: [$0]) }
    async let first = sessions[0].answer(server.url)
    async let second = sessions[1].answer(server.url)
    async let third = sessions[2].answer(server.url)
    for recorder in recorders { try await eventually("it waits") { recorder.waiting == 1 } }
    await held.wait()
    server.accept(["b"])
    held.answer(.success(Token(text: "b")))
    #expect(await [first.value, second.value, third.value] == ["fine", "fine", "fine"])
    #expect(authenticator.count == 1)
    #expect(recorders.flatMap(\.outcomes) == [.success], "told to the session that it was made for")
    for recorder in recorders { #expect(recorder.waiting == 0) }
  }
}

/// What the retry budget has to say to retries that a new credential asks for.
@Suite("§17b, §18 Retries with a new credential", .timeLimit(.minutes(5)))
struct RefreshedRetryBudgetTests {
  private static func configuration() -> SessionConfiguration {
    var configuration = SessionConfiguration.default
    configuration.retryBudget = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 2, window: 60)
    return configuration
  }

  @Test("Once per credential a request's retry is free; what else is asked for is the budget's")
  func oncePerCredential() async throws {
    let server = try TokenServer()
    let recorder = RetryRecorder()
    // It takes every request for one with an older credential.
    let authenticator = TokenAuthenticator(recognizes: false) { _, _, _ in }
    let session = Session(
      configuration: Self.configuration(),
      interceptor: TokenInterceptor(authenticator: authenticator, credential: Token(text: "a")),
      eventMonitors: [recorder])
    let first = session.request(server.url).validate()
    #expect(await first.serializingString().response.error?.responseCode == 401)
    #expect(first.retryCount == 3, "one for free, two of the budget")
    let second = session.request(server.url).validate()
    #expect(await second.serializingString().response.error?.responseCode == 401)
    #expect(second.retryCount == 1)
    #expect(recorder.denials.entries == [.budget, .budget])
  }

  @Test("Each refreshed credential is another one, but not without a window: then nothing else bounds them")
  func perCredential() async throws {
    let server = try TokenServer()
    for (window, retries) in [(TokenInterceptor.RefreshWindow(maximumAttempts: 4), 4), (nil, 3)] {
      let authenticator = TokenAuthenticator { $2(.success(Token(text: $0.text + "+"))) }
      let session = Session(
        configuration: Self.configuration(),
        interceptor: TokenInterceptor(
          authenticator: authenticator, credential: Token(text: "a"), refreshWindow: window))
      let request = session.request(server.url).validate()
      let error = await request.serializingString().response.error
      #expect(request.retryCount == retries)
      #expect((error?.retryCause?.cause as? AuthenticationError == .excessiveRefresh) == (window != nil))
      #expect((error?.responseCode == 401) == (window == nil))
    }
  }

  @Test("Beside another retrier, in lists and behind a wrapper, the decision stays what it is")
  func amongOthers() async throws {
    final class Wrapper: RequestInterceptor {
      let inner: TokenInterceptor
      init(_ inner: TokenInterceptor) { self.inner = inner }
      func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
      ) { inner.adapt(urlRequest, using: state, completion: completion) }
      func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
      ) { inner.retry(request, for: session, dueTo: error, completion: completion) }
    }
    for wraps in [false, true] {
      let server = try TokenServer()
      let inner = TokenInterceptor(
        authenticator: AuthenticationRetryTests.renewing(server), credential: Token(text: "a"))
      let interceptor: any RequestInterceptor = wraps ? Wrapper(inner) : inner
      var configuration = Self.configuration()
      configuration.retryBudget = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 0, window: 60)
      let session = Session(
        configuration: configuration,
        interceptor: Interceptor(retriers: [RetryPolicy()], interceptors: [interceptor, RetryPolicy()]))
      #expect(await session.answer(server.url).value == "fine")
    }
  }
}
