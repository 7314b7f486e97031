import Dispatch
import Foundation
import FoundationNetworking
import Testing
import WeirTestSupport

@testable import Weir

@Suite struct InterceptorTests {
  let session = Session()

  func adapted(_ adapter: any RequestAdapter, byID: Bool = true) throws -> [Result<URLRequest, any Error>] {
    let results = Log<Result<URLRequest, any Error>>()
    let request = try URLRequest(url: "http://h/", method: .get)
    if byID {
      let state = RequestAdapterState(requestID: UUID(), session: session)
      adapter.adapt(request, using: state) { results.append($0) }
    } else {
      adapter.adapt(request, for: session) { results.append($0) }
    }
    return results.values
  }

  struct ForSessionOnly: RequestAdapter {
    func adapt(
      _ urlRequest: URLRequest, for session: Session,
      completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
      Interception.setting("A", "1").adapt(urlRequest, for: session, completion: completion)
    }
  }

  struct UsingStateOnly: RequestAdapter {
    func adapt(
      _ urlRequest: URLRequest, using state: RequestAdapterState,
      completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
      Interception.setting("A", state.requestID.uuidString).adapt(
        urlRequest, for: state.session, completion: completion)
    }
  }

  struct Nothing: RequestInterceptor {}

  @Test func oneOfTheTwoFormsIsEnough() throws {
    #expect(try adapted(ForSessionOnly()).first?.get().headers["A"] == "1")
    #expect(try adapted(UsingStateOnly()).first?.get().headers["A"]?.count == 36)
  }

  @Test func interceptorsDoNothingByDefault() throws {
    let results = try adapted(Nothing())
    #expect(results.count == 1)
    #expect(try results.first?.get() == URLRequest(url: "http://h/", method: .get))
    let request = try Interception.request(in: session)
    let answers = Interception.answer(of: Nothing(), about: request, error: SampleError(), in: session)
    #expect(answers.map(\.text) == ["no"])
  }

  @Test func adaptersNeverRetryAndRetriersNeverAdapt() throws {
    let request = try Interception.request(in: session)
    let adapter: any RequestInterceptor = .adapter { request, _, completion in completion(.success(request)) }
    #expect(
      Interception.answer(of: adapter, about: request, error: SampleError(), in: session).map(\.text) == ["no"])
    let retrier: any RequestInterceptor = .retrier { _, _, _, completion in completion(.retry) }
    #expect(try adapted(retrier).first?.get() == URLRequest(url: "http://h/", method: .get))
    #expect(
      Interception.answer(of: retrier, about: request, error: SampleError(), in: session).map(\.text) == ["retry"])
  }

  @Test(arguments: [true, false])
  func adaptersRunInOrderEachOnItsPredecessorsResult(byID: Bool) throws {
    func appending(_ text: String) -> Adapter {
      Adapter { request, _, completion in
        var request = request
        request.headers["Order"] = (request.headers["Order"] ?? "") + text
        completion(.success(request))
      }
    }
    let nested = Interceptor(adapters: [appending("c")], interceptors: [appending("d")])
    let interceptor = Interceptor(adapters: [appending("a"), appending("b")], interceptors: [nested, appending("e")])
    #expect(interceptor.adapters.count == 4)
    #expect(interceptor.retriers.count == 2)
    let results = try adapted(interceptor, byID: byID)
    #expect(results.count == 1)
    #expect(try results.first?.get().headers["Order"] == "abcde")
  }

  @Test func theFirstFailureEndsTheChain() throws {
    let log = Log<String>()
    let failing = Adapter { _, _, completion in completion(.failure(SampleError())) }
    let unreached = Adapter { request, _, completion in
      log.append("reached")
      completion(.success(request))
    }
    let results = try adapted(Interceptor(adapters: [Interception.setting("A", "1"), failing, unreached]))
    #expect(results.count == 1)
    #expect(throws: SampleError()) { try results.first?.get() }
    #expect(log.values.isEmpty)
  }

  @Test func secondAnswersOfAdaptersAreIgnored() throws {
    let log = Log<String>()
    let twice = Adapter { request, _, completion in
      completion(.success(request))
      completion(.failure(SampleError()))
      completion(.success(request))
    }
    let counting = Adapter { request, _, completion in
      log.append("asked")
      completion(.success(request))
    }
    let results = try adapted(Interceptor(adapters: [twice, counting, twice]))
    #expect(results.count == 1)
    #expect(log.values == ["asked"])
  }

  @Test func answersMayComeLaterAndFromAnyThread() async throws {
    let late = Adapter { request, _, completion in
      DispatchQueue.global().async { completion(.success(request)) }
    }
    let adapters: [any RequestAdapter] = [late, Interception.setting("A", "1"), late]
    let request = try URLRequest(url: "http://h/", method: .get)
    let result = await withCheckedContinuation { continuation in
      Interceptor(adapters: adapters).adapt(request, for: session) { continuation.resume(returning: $0) }
    }
    #expect(try result.get().headers["A"] == "1")
  }

  @Test func aLongChainOfSynchronousAdaptersIsFine() throws {
    let adapters = (0..<1000).map { _ in Interception.setting("A", "1") }
    #expect(try adapted(Interceptor(adapters: adapters)).first?.get().headers["A"] == "1")
  }

  @Test func emptyInterceptor() throws {
    #expect(try adapted(Interceptor()).first?.get() == URLRequest(url: "http://h/", method: .get))
    let request = try Interception.request(in: session)
    #expect(
      Interception.answer(of: Interceptor(), about: request, error: SampleError(), in: session).map(\.text) == ["no"])
  }

  static func retrier(_ result: RetryResult, _ name: String, _ log: Log<String>) -> Retrier {
    Retrier { _, _, _, completion in
      log.append(name)
      completion(result)
    }
  }

  @Test(
    arguments: [
      ([.doNotRetry, .doNotRetry], "no", 2), ([.doNotRetry, .retry, .doNotRetryWithError(SampleError())], "retry", 2),
      ([.retryWithDelay(2), .retry], "retry after 2.0", 1),
      ([.doNotRetryWithError(SampleError()), .retry], "no: SampleError()", 1),
    ] as [([RetryResult], String, Int)])
  func retriersAreAskedUntilOneDecides(results: [RetryResult], answer: String, asked: Int) throws {
    let log = Log<String>()
    let retriers = results.enumerated().map { Self.retrier($1, "\($0)", log) }
    let request = try Interception.request(in: session)
    let answers = Interception.answer(
      of: Interceptor(retriers: retriers), about: request, error: SampleError(), in: session)
    #expect(answers.map(\.text) == [answer])
    #expect(log.values == (0..<asked).map { "\($0)" })
  }

  @Test func secondAnswersOfRetriersAreIgnored() throws {
    let log = Log<String>()
    let twice = Retrier { _, _, _, completion in
      completion(.doNotRetry)
      completion(.retry)
    }
    let request = try Interception.request(in: session)
    let answers = Interception.answer(
      of: Interceptor(retriers: [twice, Self.retrier(.retryWithDelay(1), "second", log)]), about: request,
      error: SampleError(), in: session)
    #expect(answers.map(\.text) == ["retry after 1.0"])
    #expect(log.values == ["second"])
  }

  @Test func closuresAndPairs() throws {
    let adapt: AdaptHandler = Interception.setting("A", "1").adapt(_:for:completion:)
    let interceptors: [Interceptor] = [
      .interceptor(adapter: adapt) { _, _, _, completion in completion(.retry) },
      .interceptor(adapter: Interception.setting("A", "1"), retrier: Retrier { $3(.retry) }),
      .interceptor(adapters: [Interception.setting("A", "1")], retriers: [Retrier { $3(.retry) }]),
    ]
    let request = try Interception.request(in: session)
    for interceptor in interceptors {
      #expect(try adapted(interceptor).first?.get().headers["A"] == "1")
      #expect(
        Interception.answer(of: interceptor, about: request, error: SampleError(), in: session).map(\.text)
          == ["retry"])
    }
  }

  @Test("Each adapter has its given name, else its type's; those that only retry adapt nothing")
  func names() {
    var types = InterceptorTypes()
    func names(of adapter: any RequestAdapter) -> [String] {
      types.adapters(of: adapter).map(\.name)
    }
    #expect(names(of: Nothing()) == ["Nothing"])
    #expect(names(of: Adapter { $2(.success($0)) }) == ["Adapter"])
    #expect(names(of: Adapter({ $2(.success($0)) }, name: "token")) == ["token"])
    #expect(names(of: Retrier({ $3(.retry) }, name: "again")) == [])
    #expect(names(of: RetryPolicy(name: "policy")) == [])
    #expect(names(of: ConnectionLostRetryPolicy()) == [])
    let pair = Interceptor(adaptHandler: { $2(.success($0)) }, retryHandler: { $3(.retry) }, name: "pair")
    #expect(names(of: pair) == ["pair"])
    let nested = Interceptor(adapters: [Adapter({ $2(.success($0)) }, name: "a")], interceptors: [RetryPolicy(), pair])
    #expect(names(of: Interceptor(interceptors: [nested, Nothing()])) == ["a", "pair", "Nothing"])
    #expect(types.retriers(of: Interceptor(interceptors: [nested, Nothing()])).count == 3)
    #expect(types.retriers(of: Adapter { $2(.success($0)) }).isEmpty)
  }

  @Test func retryResults() {
    let results: [RetryResult] = [.retry, .retryWithDelay(3), .doNotRetry, .doNotRetryWithError(SampleError())]
    #expect(results.map(\.retryRequired) == [true, true, false, false])
    #expect(results.map(\.delay) == [nil, 3, nil, nil])
    #expect(results.map { $0.error is SampleError } == [false, false, false, true])
  }
}

@Suite struct SingleCallTests {
  @Test func onlyTheFirstCallCounts() {
    let log = Log<Int>()
    let call = SingleCall<Int> { log.append($0) }
    DispatchQueue.concurrentPerform(iterations: 100) { call($0) }
    #expect(log.values.count == 1)
    call(-1)
    #expect(!log.values.contains(-1))
  }
}

/// Who is added to a request's interceptors keeps what its type overrides.
@Suite(.timeLimit(.minutes(5))) struct CombinedInterceptorTests {
  /// Overrides both of what it inherits.
  private final class Custom: Interceptor, @unchecked Sendable {
    override func adapt(
      _ urlRequest: URLRequest, using state: RequestAdapterState,
      completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
      super.adapt(urlRequest, using: state) { result in
        completion(
          result.map { urlRequest in
            var urlRequest = urlRequest
            urlRequest.addValue("custom", forHTTPHeaderField: "Trace")
            return urlRequest
          })
      }
    }

    override func retry(
      _ request: Request, for session: Session, dueTo error: any Error,
      completion: @escaping @Sendable (RetryResult) -> Void
    ) {
      completion(request.retryCount == 0 ? .retry : .doNotRetry)
    }
  }

  private static func tracing(_ text: String) -> Adapter {
    Adapter { urlRequest, _, completion in
      var urlRequest = urlRequest
      urlRequest.addValue(text, forHTTPHeaderField: "Trace")
      completion(.success(urlRequest))
    }
  }

  enum Addition: String, CaseIterable {
    case none, interceptor, adapter, retrier, all
  }

  @Test(arguments: Addition.allCases, [true, false])
  func overridesStay(_ addition: Addition, _ isOfTheSession: Bool) async throws {
    let server = try answering("HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n")
    let asked = Log<Int>()
    let custom = Custom(adapters: [Self.tracing("inner")])
    let session = Session(interceptor: isOfTheSession ? custom : nil)
    let request = session.request(server.url, interceptor: isOfTheSession ? nil : custom).validate()
    let counting = Retrier { request, _, _, completion in
      asked.append(request.retryCount)
      completion(.doNotRetry)
    }
    if addition == .interceptor || addition == .all { request.interceptor(Self.tracing("added")) }
    if addition == .adapter || addition == .all { request.adapt(using: Self.tracing("adapter")) }
    if addition == .retrier || addition == .all { request.retry(using: counting) }
    _ = await request.plainResponse()
    #expect(request.retryCount == 1)
    let traces = request.request?.value(forHTTPHeaderField: "Trace")?.split(separator: ",").map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    let isFirst = isOfTheSession || addition == .none || addition == .interceptor || addition == .retrier
    let expected: [String] =
      switch addition {
      case .none, .retrier: ["inner", "custom"]
      case .interceptor: ["inner", "custom", "added"]
      case .adapter: isFirst ? ["inner", "custom", "adapter"] : ["adapter", "inner", "custom"]
      case .all: isOfTheSession ? ["inner", "custom", "adapter", "added"] : ["inner", "custom", "added", "adapter"]
      }
    #expect(traces == expected)
    if addition == .retrier || addition == .all { #expect(asked.values.last == 1) }
  }

  @Test func aListStaysAListWithItsName() async throws {
    let session = Session()
    let request = session.request("http://h/", interceptor: Interceptor(adapters: [Self.tracing("a")], name: "chain"))
    request.adapt(using: Self.tracing("b")).retry(using: RetryPolicy()).interceptor(Self.tracing("c"))
    let list = try #require(request.interceptor as? Interceptor)
    #expect(list.adapters.count == 3)
    #expect(list.retriers.count == 2)
    #expect(list.name == "chain")
  }

  /// A composite's own methods do nothing: those it is made of have to hear.
  @Test func aSessionsMonitorsServeAnotherSession() async throws {
    let server = try answering(okResponse("1"))
    let heard = Journal<String>()
    let monitors = Session(eventMonitors: [EventRecorder(into: heard)]).eventMonitor
    let another = Session(eventMonitors: [monitors])
    #expect(await another.request(server.url).plainResponse().error == nil)
    #expect(heard.entries.contains("finish"))
    let before = heard.entries.count
    let session = Session()
    #expect(await session.request(server.url).eventMonitor(monitors).plainResponse().error == nil)
    #expect(heard.entries.dropFirst(before).contains("finish"))
  }
}
