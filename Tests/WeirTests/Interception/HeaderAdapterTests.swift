import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirTestSupport

@testable import Weir

/// Adapters that set fields without a URL request.
@Suite("§17 Header adapters", .timeLimit(.minutes(5)))
struct HeaderAdapterTests {
  /// Sets what a closure says.
  private struct Fields: HeaderAdapter {
    let make: @Sendable (RequestAdapterState) throws -> HTTPHeaders

    init(_ make: @escaping @Sendable (RequestAdapterState) throws -> HTTPHeaders) { self.make = make }

    func headers(using state: RequestAdapterState) throws -> HTTPHeaders { try make(state) }
  }

  private static func fine() throws -> ScriptedServer {
    try ScriptedServer(Script(.forever([.request, .send(okResponse("fine"))])))
  }

  private static func lines(_ server: ScriptedServer, _ index: Int = 0) -> [String] {
    server.allRequests[index].fields.map { "\($0.name): \($0.value)" }
  }

  @Test("The fields take the place of those of the request and the session, spelled as they are")
  func onTheWire() async throws {
    let server = try Self.fine()
    var configuration = SessionConfiguration()
    configuration.headers = ["User-Agent": "tests", "X-Shared": "session"]
    let session = Session(configuration: configuration)
    let adapter = Fields { _ in ["X-TENANT": "acme", "x-shared": "adapter", "x-Own": "adapter", "X-Empty": ""] }
    let request = session.request(server.url, headers: ["X-Own": "request", "X-stays": "yes"], interceptor: adapter)
    #expect(await request.plainResponse().error == nil)
    let lines = Self.lines(server).filter { !$0.hasPrefix("Host") }
    #expect(
      Set(lines) == [
        "User-Agent: tests", "x-shared: adapter", "x-Own: adapter", "X-stays: yes", "X-TENANT: acme", "X-Empty: ",
        "Accept: */*",
      ])
    #expect(lines.count == 7)
    #expect(request.request?.value(forHTTPHeaderField: "X-Tenant") == "acme")
    #expect(request.request?.value(forHTTPHeaderField: "X-Own") == "adapter")
  }

  @Test("Without an Accept field of their own requests get one, and keep their own")
  func accept() async throws {
    let server = try Self.fine()
    let session = Session()
    for value in [nil, "text/plain"] {
      let adapter = Fields { _ in value.map { ["accept": $0] } ?? [:] }
      #expect(await session.request(server.url, interceptor: adapter).plainResponse().error == nil)
    }
    #expect(server.allRequests.map { $0.values(of: "Accept") } == [["*/*"], ["text/plain"]])
  }

  @Test("Each of a chain sees to its fields, whatever the others are")
  func chain() async throws {
    struct Later: RequestAdapter {
      func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
      ) {
        var urlRequest = urlRequest
        urlRequest.headers["X-Order"] = (urlRequest.headers["X-Order"] ?? "") + "b"
        completion(.success(urlRequest))
      }
    }
    let server = try Self.fine()
    let last = Adapter { request, _, completion in
      var request = request
      request.headers["X-Order"] = (request.headers["X-Order"] ?? "") + "c"
      completion(.success(request))
    }
    let first = Fields { _ in ["X-Order": "a"] }
    let lastOfAll = Fields { _ in ["X-Last": "d"] }
    let session = Session(interceptor: Interceptor(adapters: [first, Later(), last, lastOfAll]))
    #expect(await session.request(server.url).plainResponse().error == nil)
    #expect(server.allRequests.map { $0.value(of: "X-Order") } == ["abc"])
    #expect(server.allRequests.map { $0.value(of: "X-Last") } == ["d"])
  }

  @Test("Each attempt asks anew, with its number and its place in a trace")
  func attempts() async throws {
    let answers = Journal<Int>()
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { _ in
            answers.append(1)
            return [.send(answers.entries.count == 1 ? response("503 Service Unavailable", []) : okResponse("fine"))]
          }
        ])))
    let trace = try #require(TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    var configuration = SessionConfiguration()
    configuration.traceContext = { trace }
    let session = Session(configuration: configuration)
    let adapter = Fields { state in
      [
        "X-Attempt": "\(state.attempt)", "X-Trace": state.traceContext?.traceparent ?? "",
        "X-ID": state.requestID.uuidString,
      ]
    }
    let retrier = Retrier { request, _, _, completion in completion(request.retryCount == 0 ? .retry : .doNotRetry) }
    // Another member than `traceparent` is not mixed with it.
    let request = session.request(
      server.url, headers: ["TraceState": "a=b"], interceptor: Interceptor(adapter: adapter, retrier: retrier)
    ).validate()
    #expect(await request.plainResponse().error == nil)
    #expect(server.allRequests.map { $0.value(of: "X-Attempt") } == ["1", "2"])
    #expect(server.allRequests.allSatisfy { $0.value(of: "X-ID") == request.id.uuidString })
    #expect(server.allRequests.allSatisfy { $0.value(of: "X-Trace") == $0.value(of: "traceparent") })
    #expect(server.allRequests.allSatisfy { $0.value(of: "traceparent")?.hasPrefix("00-0af7651916cd43dd") == true })
    #expect(server.allRequests.allSatisfy { !$0.has("tracestate") })
  }

  @Test(
    "An error ends the request, and so does a field that must not be sent", arguments: [nil, "a b", "X:", "", "X-Line"])
  func errors(name: String?) async throws {
    let server = try Self.fine()
    let adapter = Fields { _ in
      guard let name else { throw SampleError() }
      return [name: name == "X-Line" ? "a\r\nX-Smuggled: b" : "a"]
    }
    let session = Session()
    let error = await session.request(server.url, interceptor: adapter).plainResponse().error
    #expect(error?.isRequestAdaptationError == true)
    if let name {
      guard case .urlRequestValidationFailed(.invalidHeaderField(name)) = error?.adaptationCause as? WeirError else {
        Issue.record("\(String(describing: error))")
        return
      }
    } else {
      #expect(error?.adaptationCause is SampleError)
    }
    #expect(server.allRequests.isEmpty)
  }

  @Test("A request whose own field must not be sent fails as it is made", arguments: ["a b", "X-Line"])
  func ownFields(name: String) async throws {
    let server = try Self.fine()
    let headers: HTTPHeaders = [name: name == "X-Line" ? "a\nb" : "a"]
    let session = Session()
    let error = await session.request(server.url, headers: headers).plainResponse().error
    #expect(error?.isURLRequestValidationError == true)
    #expect(server.allRequests.isEmpty)
  }

  @Test("Requests with a body, uploads and given URL requests get the fields as well")
  func kinds() async throws {
    let server = try Self.fine()
    let session = Session(interceptor: Fields { _ in ["X-Key": "k", "Content-Type": "text/x"] })
    var given = try URLRequest(url: server.url, method: .post, headers: ["X-Key": "old", "X-Own": "o"])
    given.httpBody = Data("body".utf8)
    #expect(await session.request(given).plainResponse().error == nil)
    #expect(await session.upload(Data("body".utf8), to: server.url).plainResponse().error == nil)
    #expect(
      await session.request(server.url, method: .post, parameters: ["a": "b"]).plainResponse().error == nil)
    #expect(await session.request(server.url, method: .delete).plainResponse().error == nil)
    for request in server.allRequests {
      #expect(request.values(of: "X-Key") == ["k"] && request.values(of: "Content-Type") == ["text/x"])
    }
    #expect(server.allRequests.map(\.body.count) == [4, 4, 3, 0])
    #expect(server.allRequests.first?.value(of: "X-Own") == "o")
  }

  @Test("A request without a URL fails, and one with a relative URL goes where it leads")
  func urls() async throws {
    let server = try Self.fine()
    let session = Session(interceptor: Fields { _ in ["X-Key": "k"] })
    var nowhere = try URLRequest(url: server.url, method: .get)
    nowhere.url = nil
    #expect(await session.request(nowhere).plainResponse().error != nil)
    let relative = try #require(URL(string: "items", relativeTo: URL(string: server.url)))
    let response = await session.request(relative, headers: ["X-Own": "o"]).plainResponse()
    #expect(response.response?.url == relative.absoluteURL && response.request?.url == relative.absoluteURL)
    #expect(server.allRequests.map(\.target) == ["/items"])
  }

  @Test("Monitors see the URL requests and the adapter's name")
  func events() async throws {
    let server = try Self.fine()
    let heard = Journal<String>()
    let monitor = ClosureEventMonitor()
    monitor.requestDidAdaptInitialRequestToAdaptedRequest = { _, initial, adapted in
      heard.append("\(initial.headers["X-Key"] ?? "-") \(adapted.headers["X-Key"] ?? "-")")
    }
    monitor.requestDidAdaptUsing = { _, name, _, error in
      heard.append("\(name) \(error == nil)")
    }
    let session = Session(interceptor: Fields { _ in ["X-Key": "k"] }, eventMonitors: [monitor])
    #expect(await session.request(server.url).plainResponse().error == nil)
    await heard.wait { $0.count == 2 }
    #expect(heard.entries == ["Fields true", "- k"])
  }

  /// Says what it is asked for: the fields, or to apply a credential.
  private final class Telling: Authenticator {
    func headers(with credential: Token) -> HTTPHeaders? { ["X-Key": credential.text, "X-Way": "headers"] }

    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
      urlRequest.headers.update(name: "X-Key", value: credential.text)
      urlRequest.headers.update(name: "X-Way", value: "apply")
    }

    func refresh(
      _ credential: Token, for session: Session, completion: @escaping @Sendable (Result<Token, any Error>) -> Void
    ) { completion(.success(Token(text: "new"))) }

    func didRequest(
      _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
      urlRequest.value(forHTTPHeaderField: "X-Key") == credential.text
    }
  }

  @Test("A good credential is set by its fields, one that has to be waited for is applied, and both are secrets")
  func authentication() async throws {
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            [.send(head.contains("X-Key: old") ? response("401 Unauthorized", []) : okResponse("fine"))]
          }
        ])))
    let interceptor = AuthenticationInterceptor(
      authenticator: Telling(), credential: Token(text: "first", requiresRefresh: true))
    let session = Session(interceptor: interceptor)
    for _ in 0..<2 {
      let request = session.request(server.url).validate()
      #expect(await request.plainResponse().error == nil)
      #expect(request.fields.withLock { $0.secretFields } == ["X-Key", "X-Way"])
    }
    interceptor.credential = Token(text: "old")
    #expect(await session.request(server.url).validate().plainResponse().error == nil)
    #expect(
      server.allRequests.map { "\($0.value(of: "X-Key") ?? "") \($0.value(of: "X-Way") ?? "")" }
        == ["new apply", "new headers", "old headers", "new headers"])
  }

  @Test("Called as any other adapter, it sets its fields in both forms")
  func forms() throws {
    let tests = InterceptorTests()
    for byID in [true, false] {
      #expect(try tests.adapted(Fields { _ in ["A": "1"] }, byID: byID).map { try $0.get().headers["A"] } == ["1"])
      #expect(try tests.adapted(Fields { _ in [:] }, byID: byID).map { try $0.get().headers.isEmpty } == [true])
      #expect(tests.failures(of: Fields { _ in throw SampleError() }, byID: byID) == 1)
    }
  }
}

extension ReceivedRequest {
  fileprivate func values(of name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }
}

extension InterceptorTests {
  fileprivate func failures(of adapter: any RequestAdapter, byID: Bool) -> Int {
    (try? adapted(adapter, byID: byID))?.count { $0.failure is SampleError } ?? 0
  }
}
