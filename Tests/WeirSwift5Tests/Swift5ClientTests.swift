import Dispatch
import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirAlamofire
import WeirMetrics
import WeirTestSupport

// A client as people wrote them before Swift 6: classes that are not Sendable, captured in closures. This target is
// compiled in Swift 5 mode, where weir must not make warnings of that; as all of weir it is built with warnings as
// errors.

class Account: Decodable {
  var name: String

  init(name: String) {
    self.name = name
  }
}

class Client {
  var received: [String] = []
  var errors: [Error] = []
  var requests = 0
  let session: Session
  let monitor = ClosureEventMonitor()

  init(adapting headers: Headers) {
    var configuration = SessionConfiguration.af.default
    configuration.timeoutIntervalForRequest = 30
    let interceptor = Interceptor(
      adaptHandler: { request, session, completion in
        var request = request
        headers.used += 1
        request.setValue(headers.token, forHTTPHeaderField: "X-Token")
        completion(.success(request))
      },
      retryHandler: { request, session, error, completion in
        headers.asked += 1
        completion(request.retryCount < 1 ? .retryWithDelay(0) : .doNotRetry)
      })
    session = Session(
      configuration: configuration, interceptor: interceptor, redirectHandler: Redirects(),
      eventMonitors: [Watch(), monitor])
    monitor.requestDidFinish = { request in self.requests += 1 }
  }

  func load(_ url: URLConvertible, on queue: DispatchQueue, done: @escaping (Client) -> Void) {
    session.request(url, requestModifier: { request in request.timeoutInterval = self.requests == 0 ? 20 : 30 })
      .validate { request, response, data in
        self.received.append("status \(response.statusCode)")
        return .success(())
      }
      .downloadProgress(queue: queue) { progress in self.received.append("\(progress.completedUnitCount)") }
      .onURLRequestCreation(on: queue) { request in self.requests += 0 }
      .onURLSessionTaskCreation(on: queue) { task in self.requests += task.taskIdentifier * 0 }
      .onHTTPResponse(on: queue) { response in self.received.append("head \(response.statusCode)") }
      .cURLDescription(on: queue) { text in self.received.append(String(text.prefix(6))) }
      .responseDecodable(of: Account.self, queue: queue, decoder: Decoder()) { response in
        switch response.result {
        case .success(let account): self.received.append(account.name)
        case .failure(let error): self.errors.append(error)
        }
        done(self)
      }
      .responseString(queue: queue) { response in self.received.append(response.value ?? "-") }
      .responseData(queue: queue) { response in self.received.append("\(response.value?.count ?? -1)") }
      .response(queue: queue, responseSerializer: Length()) { response in
        self.received.append("length \(response.value ?? -1)")
      }
  }
}

class Finder {
  let session = Session(interceptor: Tokens())

  func find(_ url: URLConvertible, _ query: Query) -> DataRequest {
    session.request(url, parameters: query, interceptor: Patient())
  }

  func find(_ endpoint: Endpoint) -> DataRequest { session.request(endpoint) }
}

class Form {
  let data = MultipartFormData()
  var compressed = 0

  func compressor() -> DeflateRequestCompressor {
    DeflateRequestCompressor(duplicateHeaderBehavior: .skip) { body in
      self.compressed += body.count
      return true
    }
  }

  func request(_ url: URLConvertible, _ stream: InputStream, length: UInt64) throws -> URLRequest {
    data.append(Data("a".utf8), withName: "name")
    data.append(stream, withLength: length, name: "file", fileName: "f", mimeType: "text/plain")
    var request = try URLRequest(url: url, method: .post, headers: [.contentType(data.contentType)])
    request.httpBody = try data.encode()
    return request
  }
}

class Headers {
  var token = "t"
  var used = 0
  var asked = 0
}

class Decoder: DataDecoder {
  var count = 0

  func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D {
    count += 1
    return try JSONDecoder().decode(type, from: data)
  }
}

class Length: DataResponseSerializerProtocol {
  var calls = 0

  func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: Error?) throws -> Int {
    calls += 1
    return data?.count ?? 0
  }
}

class Redirects: RedirectHandler {
  var count = 0

  func task(
    _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
    completion: @escaping (URLRequest?) -> Void
  ) {
    count += 1
    completion(request)
  }
}

class Watch: EventMonitor {
  var events: [String] = []
  let queue = DispatchQueue(label: "watch")

  func requestDidResume(_ request: Request) { events.append("resume") }
  func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    events.append("parse")
  }
}

class Tokens: RequestInterceptor {
  var current = "a"

  func adapt(
    _ urlRequest: URLRequest, for session: Session, completion: @escaping (Result<URLRequest, Error>) -> Void
  ) {
    current += "b"
    completion(.success(urlRequest))
  }

  func retry(
    _ request: Request, for session: Session, dueTo error: Error, completion: @escaping (RetryResult) -> Void
  ) {
    DispatchQueue.global().async {
      self.current += "c"
      completion(.doNotRetry)
    }
  }
}

// A subclass restates this in Swift 5 mode too.
class Patient: RetryPolicy, @unchecked Sendable {
  override func shouldRetry(request: Request, dueTo error: Error) -> Bool { true }

  override func retry(
    _ request: Request, for session: Session, dueTo error: Error, completion: @escaping (RetryResult) -> Void
  ) {
    super.retry(request, for: session, dueTo: error, completion: completion)
  }
}

struct OAuthCredential: AuthenticationCredential {
  let accessToken: String
  let expiration: Date

  var requiresRefresh: Bool { Date(timeIntervalSinceNow: 60) > expiration }
}

// As it was written for Alamofire.
class OAuthAuthenticator: Authenticator {
  var refreshes = 0

  func apply(_ credential: OAuthCredential, to urlRequest: inout URLRequest) {
    urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
  }

  func refresh(
    _ credential: OAuthCredential, for session: Session,
    completion: @escaping (Result<OAuthCredential, Error>) -> Void
  ) {
    refreshes += 1
    completion(.success(OAuthCredential(accessToken: "new", expiration: .distantFuture)))
  }

  func didRequest(
    _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: Error
  ) -> Bool {
    response.statusCode == 401
  }

  func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: OAuthCredential) -> Bool {
    let bearerToken = HTTPHeader.authorization(bearerToken: credential.accessToken).value
    return urlRequest.headers["Authorization"] == bearerToken
  }
}

enum Endpoint: URLRequestConvertible {
  case account(Account)

  func asURLRequest() throws -> URLRequest { try URLRequest(url: "http://127.0.0.1:1/", method: .get) }
}

class Query: Encodable {
  var page = 1
}

class Heard {
  var events: [String] = []

  func monitor() -> LoggingEventMonitor {
    LoggingEventMonitor(
      level: .debug,
      record: { record in self.events.append("\(record.level) \(record.message) \(record.metadata.count)") })
  }
}

/// Chunks of a file that something else fills.
class Chunks {
  var left = ["some ", "text"]

  func stream() -> AsyncStream<Data> {
    AsyncStream { continuation in
      for chunk in self.left { continuation.yield(Data(chunk.utf8)) }
      continuation.finish()
    }
  }

  func upload(by session: Session, to url: URLConvertible) -> UploadRequest {
    session.upload(to: url) { self.stream() }
  }
}

@Suite("A client in Swift 5 mode", .timeLimit(.minutes(5)))
struct Swift5ClientTests {
  @Test func works() async throws {
    let body = #"{"name":"weir"}"#
    let server = try ScriptedServer(.answering(okResponse(body, "Content-Type: application/json\r\n")))
    let headers = Headers()
    let client = Client(adapting: headers)
    let queue = DispatchQueue(label: "client")
    await withCheckedContinuation { continuation in
      client.load(server.url, on: queue) { _ in continuation.resume() }
    }
    let names = queue.sync { client.received }
    #expect(names.contains("weir"))
    #expect(client.errors.isEmpty)
    #expect(headers.used == 1)
    #expect(server.receivedText().contains("X-Token: t"))
  }

  @Test func encodes() async throws {
    let server = try ScriptedServer(.answering(okResponse("1")))
    let finder = Finder()
    #expect(await finder.find(server.url, Query()).serializingString().response.value == "1")
    #expect(server.receivedText().hasPrefix("GET /?page=1 "))
    let failed = await finder.find(.account(Account(name: "a"))).serializingData().response
    #expect(failed.error != nil)
  }

  @Test func authenticates() async throws {
    let server = try ScriptedServer(.answering(okResponse("x")))
    let authenticator = OAuthAuthenticator()
    let interceptor = AuthenticationInterceptor(
      authenticator: authenticator, credential: OAuthCredential(accessToken: "old", expiration: .distantPast))
    let session = Session(interceptor: interceptor)
    #expect(await session.request(server.url).validate().serializingString().response.value == "x")
    #expect(server.receivedText().contains("Authorization: Bearer new\r\n"))
    #expect(authenticator.refreshes == 1)
    #expect(interceptor.credential?.accessToken == "new")
  }

  @Test func sendsForms() async throws {
    let server = try ScriptedServer(.answering(okResponse("1")))
    let form = Form()
    let request = try form.request(server.url, InputStream(data: Data("b".utf8)), length: 1)
    let session = Session(interceptor: Interceptor(adapters: [form.compressor()]))
    #expect(await session.request(request).serializingString().response.value == "1")
    #expect(form.compressed == request.httpBody?.count)
    #expect(server.receivedText().contains("Content-Encoding: deflate\r\n"))
  }

  @Test func serves() async throws {
    let server = try ScriptedServer(.answering(okResponse("fine")))
    var configuration = SessionConfiguration.server
    configuration.timeouts.total = .seconds(20)
    let heard = Heard()
    let monitor = heard.monitor()
    let session = Session(configuration: configuration, eventMonitors: [monitor])
    let response = try await session.streamRequest(server.url).deadline(.seconds(5)).operation("get").streaming()
    #expect(response.head.statusCode == 200)
    var body = Data()
    for try await chunk in response.body { body += chunk }
    #expect(String(decoding: body, as: UTF8.self) == "fine")
    let chunks = Chunks()
    #expect(await chunks.upload(by: session, to: server.url).serializingString().response.value == "fine")
    #expect(
      await session.upload(stream: chunks.stream(), length: 9, to: server.url).serializingString().response.value
        == "fine")
    let draining = Task { await session.run(gracePeriod: .seconds(1)) }
    draining.cancel()
    await draining.value
    #expect(monitor.queue.sync { heard.events.contains { $0.hasPrefix("debug request.didSettle") } })
  }

  @Test func counts() throws {
    let registry = Registry()
    let name = MetricName(normalizing: "db.queries", kind: .counter)
    try registry.counter(name, help: "Queries.", labels: ["pool": "main"]).increment()
    try registry.gauge("db_size", help: "Size.", labels: [:]).set(2)
    #expect(registry.text().contains("db_queries_total{pool=\"main\"} 1\n"))
    #expect(registry.remove("db_queries_total", labels: ["pool": "main"]))
  }

  /// Monitors and compressors do what they do also where their own methods are called, and not only by a session.
  @Test func callsWhatSessionsCall() async throws {
    let session = Session(startRequestsImmediately: false)
    let request = session.request(URL(string: "http://127.0.0.1:1/")!)
    let monitor = ClosureEventMonitor()
    let heard = Heard()
    monitor.requestDidResume = { _ in heard.events.append("resumed") }
    monitor.requestDidFinish = { _ in heard.events.append("finished") }
    monitor.requestDidResume(request)
    monitor.requestDidFinish(request)
    #expect(heard.events == ["resumed", "finished"])

    var body = URLRequest(url: URL(string: "http://127.0.0.1:1/")!)
    body.httpMethod = "POST"
    body.httpBody = Data(repeating: 65, count: 1000)
    for compressor in [DeflateRequestCompressor() as RequestAdapter, GzipRequestCompressor()] {
      let adapted = await withCheckedContinuation { continuation in
        compressor.adapt(body, for: session) { continuation.resume(returning: $0) }
      }
      #expect(try adapted.get().value(forHTTPHeaderField: "Content-Encoding") != nil)
    }
    let coded = await withCheckedContinuation { continuation in
      DeflateRequestCompressor().adapt(body, for: session) { continuation.resume(returning: $0) }
    }
    #expect(try coded.get().value(forHTTPHeaderField: "Content-Encoding") == "deflate")
  }
}
