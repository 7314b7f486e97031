import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// Notes what becomes of looks into the cache, and what is to be stored.
final class CacheRecorder: InlineEventMonitor {
  let notes = Journal<String>()

  func request(_ request: Request, cache result: CacheResult) { notes.append(result.rawValue) }

  func urlSession(_ session: Session, dataTask: TransferTask, willCacheResponse response: CachedURLResponse) {
    notes.append("store \(response.data.count)")
  }
}

/// Asks whoever holds its questions.
private struct Later: CachedResponseHandler {
  let held: Held<CachedURLResponse?>
  func dataTask(
    _ task: TransferTask, willCacheResponse response: CachedURLResponse,
    completion: @escaping @Sendable (CachedURLResponse?) -> Void
  ) { held.keep(completion) }
}

/// The cache between requests and servers.
@Suite("Caching", .timeLimit(.minutes(5)))
struct CacheTransferTests {
  static let url = "http://a.test/x?q=1"
  static let fresh = ["Cache-Control: max-age=60", "X-Own: 1"]
  static let tagged = ["Cache-Control: max-age=0", "ETag: \"1\"", "X-Own: 1"]

  let recorder = CacheRecorder()
  let cache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil)

  func cachingSession(
    _ hosts: Hosts, monitors: [any EventMonitor] = [], _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> Session {
    try hosts.session(eventMonitors: [recorder] + monitors) { configuration in
      configuration.urlCache = cache
      change(&configuration)
    }
  }

  @discardableResult
  func get(
    _ session: Session, _ url: String = Self.url, headers: HTTPHeaders? = nil, method: HTTPMethod = .get,
    policy: URLRequest.CachePolicy = .useProtocolCachePolicy
  ) async throws -> WeirDataResponse<Data?> {
    var urlRequest = try URLRequest(url: url, method: method, headers: headers)
    urlRequest.cachePolicy = policy
    return await session.request(urlRequest).plainResponse()
  }

  func text(_ response: WeirDataResponse<Data?>) -> String? {
    response.data.map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Fresh

  @Test("A fresh response comes from the cache, with metrics of no bytes and all events but those of an attempt")
  func fromTheCache() async throws {
    let hosts = try Hosts(response("200 Fine", Self.fresh, body: "stored"))
    let events = EventRecorder(notingAttempts: true)
    let (closures, stored) = (ClosureEventMonitor(), Journal<String>())
    closures.dataTaskWillCacheResponse = { stored.append(String(decoding: $2.data, as: UTF8.self)) }
    let session = try cachingSession(hosts, monitors: [events, closures])
    try await get(session)
    await stored.wait(for: "stored")
    let start = events.names.count
    let request = session.request(Self.url).validate()
    let response = await request.plainResponse()
    #expect(text(response) == "stored")
    #expect(response.response?.statusCode == 200)
    #expect(response.response?.url?.absoluteString == Self.url)
    #expect(response.response?.value(forHTTPHeaderField: "X-Own") == "1")
    #expect(response.metrics?.bytesReceivedOnWire == 0)
    #expect(response.metrics?.bytesSent == 0)
    #expect(response.metrics?.remoteAddress == nil)
    #expect(request.task?.state == .completed)
    #expect(request.outcome == .success)
    #expect(hosts.server.allRequests.count == 1)
    #expect(recorder.notes.entries == ["miss", "store 6", "hit"])
    #expect(
      Array(events.names.dropFirst(start)) == [
        "resume", "createInitial", "create", "createTask", "resumeTask", "·response", "·data", "·metrics",
        "gatherMetrics", "·complete", "validate(success)", "validate(success)", "completeTask", "finish", "parse",
        "settle(success)",
      ])
    #expect(events.violations.entries == [])
  }

  @Test("Queries, schemes, hosts and ports tell responses apart")
  func keys() async throws {
    let urls = [
      "http://a.test/x?q=1", "http://a.test/x?q=2", "http://a.test/x", "http://a.test:8080/x?q=1",
      "http://b.test/x?q=1",
      "http://a.test/x/?q=1", "http://a.test/\(String(repeating: "x", count: 400))",
    ]
    let hosts = try Hosts(urls.indices.map { response("200 Fine", Self.fresh, body: "\($0)") })
    let session = try cachingSession(hosts)
    for round in 0..<2 {
      for (index, url) in urls.enumerated() {
        #expect(text(try await get(session, round == 0 ? url : url + "#part")) == "\(index)")
      }
    }
    #expect(hosts.server.allRequests.count == urls.count)
  }

  @Test("Vary: a request that asks otherwise gets another response")
  func vary() async throws {
    let fields = Self.fresh + ["Vary: Accept, X-Session, Cookie"]
    let hosts = try Hosts((0..<3).map { response("200 Fine", fields, body: "\($0)") })
    let session = try cachingSession(hosts) { configuration in
      configuration.headers["X-Session"] = "s"
      configuration.httpCookieStorage = CookieStorage()
    }
    #expect(text(try await get(session, headers: ["Accept": "a"])) == "0")
    #expect(text(try await get(session, headers: ["accept": "a", "X-Other": "b"])) == "0")
    #expect(text(try await get(session, headers: ["Accept": "b"])) == "1")
    session.sessionConfiguration.httpCookieStorage?.setCookie(try CookieStorageTests.cookie("c"))
    #expect(text(try await get(session, headers: ["Accept": "b"])) == "2")
    #expect(text(try await get(session, headers: ["Accept": "b"])) == "2")
  }

  // MARK: What is stored

  struct Unstored: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var method = HTTPMethod.get
    var headers: HTTPHeaders?
    var answer = response("200 Fine", CacheTransferTests.fresh, body: "x")

    static let all = [
      Unstored(testDescription: "POST", method: .post),
      Unstored(testDescription: "HEAD", method: .head, answer: response("200 Fine", fresh)),
      Unstored(testDescription: "a part", headers: ["Range": "bytes=0-1"]),
      Unstored(testDescription: "own condition", headers: ["If-None-Match": "\"9\""]),
      Unstored(testDescription: "request's no-store", headers: ["Cache-Control": "no-store"]),
      Unstored(
        testDescription: "no-store", answer: response("200 Fine", ["Cache-Control: no-store, max-age=9"], body: "x")),
      Unstored(testDescription: "Vary: *", answer: response("200 Fine", fresh + ["Vary: *"], body: "x")),
      Unstored(testDescription: "206", answer: response("206 Part", fresh, body: "x")),
      Unstored(testDescription: "404", answer: response("404 No", fresh, body: "x")),
      Unstored(
        testDescription: "cut off",
        answer: "HTTP/1.1 200 Fine\r\nContent-Length: 9\r\nCache-Control: max-age=60\r\n\r\nx"),
    ]
  }

  @Test("What is not stored", arguments: Unstored.all)
  func unstored(_ row: Unstored) async throws {
    let isCut = row.testDescription == "cut off"
    let server = isCut ? nil : try Hosts(row.answer, okResponse("again"))
    guard let hosts = server else {
      let server = try ScriptedServer(.once(row.answer))
      var configuration = SessionConfiguration.default
      configuration.urlCache = cache
      let session = Session(configuration: configuration, eventMonitors: [recorder])
      #expect(try await get(session, server.url).error != nil)
      #expect(recorder.notes.entries == ["miss"])
      return
    }
    let session = try cachingSession(hosts)
    try await get(session, headers: row.headers, method: row.method)
    #expect(text(try await get(session)) == "again")
    #expect(!recorder.notes.entries.contains("store 1"))
  }

  @Test("Downloads and uploads are none of the cache's; a redirect's target is asked each time")
  func kinds() async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.fresh, body: "a"), response("200 Fine", Self.fresh, body: "b"),
      response("302 Found", ["Location: /x?q=1"]), response("200 Fine", Self.fresh, body: "c"))
    let session = try cachingSession(hosts)
    let file = await session.download(Self.url).serializingData().response
    if let url = file.fileURL { try? FileManager.default.removeItem(at: url) }
    #expect(file.value == Data("a".utf8))
    #expect(await session.upload(Data("x".utf8), to: Self.url).serializingString().response.value == "b")
    #expect(text(try await get(session, "http://a.test/moved")) == "c")
    #expect(recorder.notes.entries == ["miss"])
  }

  @Test("A request that changes something makes what is stored for its URL out of date (RFC 9111 §4.4)")
  func invalidation() async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.fresh, body: "old"), response("500 No"), response("201 Made"), okResponse("new"))
    let session = try cachingSession(hosts)
    try await get(session)
    try await get(session, method: .put)
    #expect(text(try await get(session)) == "old")
    try await get(session, method: .delete)
    #expect(text(try await get(session)) == "new")
  }

  @Test("So does one that is answered by a redirect")
  func invalidationByRedirect() async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.fresh, body: "old"), response("303 There", ["Location: \(Self.url)"]),
      response("200 Fine", body: "seen"), okResponse("new"))
    let session = try cachingSession(hosts)
    try await get(session)
    #expect(text(try await get(session, method: .post)) == "seen")
    #expect(text(try await get(session)) == "new")
  }

  @Test("A request with a Host of its own is none of the cache's")
  func ownHost() async throws {
    let hosts = try Hosts((0..<3).map { response("200 Fine", Self.fresh, body: "\($0)") })
    let session = try cachingSession(hosts)
    for index in 0..<3 {
      #expect(text(try await get(session, headers: ["Host": "h\(index).test"])) == "\(index)")
    }
  }

  @Test("A body is stored as the request got it: decoded")
  func codings() async throws {
    let hosts = try Hosts(response("200 Fine", Self.fresh + ["Content-Encoding: identity"], body: "stored"))
    let session = try cachingSession(hosts)
    try await get(session)
    let response = try await get(session)
    #expect(text(response) == "stored")
    #expect(response.response?.value(forHTTPHeaderField: "Content-Encoding") == "identity")
  }

  @Test("On disk, for another session; what the cache can't hold is not stored")
  func disk() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let hosts = try Hosts(
      response("200 Fine", Self.fresh, body: "stored"),
      response("200 Fine", Self.fresh, body: String(repeating: "x", count: 20_000)))
    for round in 0..<2 {
      let session = try cachingSession(hosts) {
        $0.urlCache = URLCache(memoryCapacity: 0, diskCapacity: 10_000, diskPath: path)
      }
      #expect(text(try await get(session)) == "stored")
      // The next look comes after what is stored.
      if round == 0 { _ = try await get(session, "http://a.test/large") }
      if round == 0 { #expect(text(try await get(session)) == "stored") }
    }
    #expect(recorder.notes.entries == ["miss", "store 6", "miss", "hit", "hit"])
  }

  @Test("A small cache is full again and again: what is stored anew has one place in it")
  func fullCache() async throws {
    let body = String(repeating: "x", count: 3000)
    let hosts = try Hosts((0..<40).map { _ in response("200 Fine", Self.fresh, body: body) })
    let session = try cachingSession(hosts) {
      $0.urlCache = URLCache(memoryCapacity: 10_000, diskCapacity: 0, diskPath: nil)
      $0.requestCachePolicy = .reloadIgnoringLocalCacheData
    }
    for round in 0..<40 { try await get(session, "http://a.test/\(round / 2 % 5)") }
    #expect(text(try await get(session, "http://a.test/4", policy: .returnCacheDataDontLoad)) == body)
  }

  // MARK: Policies

  @Test("Policies, of the request and of the session")
  func policies() async throws {
    let hosts = try Hosts(
      response("200 Fine", ["Cache-Control: max-age=0"], body: "old"), response("200 Fine", Self.fresh, body: "new"))
    let first = try cachingSession(hosts) { $0.requestCachePolicy = .returnCacheDataDontLoad }
    let nothing = try await get(first)
    #expect(nothing.error?.urlErrorCode == .resourceUnavailable)
    #expect(nothing.metrics != nil)
    let second = try cachingSession(hosts) { $0.requestCachePolicy = .returnCacheDataElseLoad }
    #expect(text(try await get(second)) == "old")
    #expect(text(try await get(second)) == "old")
    #expect(text(try await get(first)) == "old")
    #expect(text(try await get(second, policy: .reloadIgnoringLocalCacheData)) == "new")
    #expect(text(try await get(second, policy: .returnCacheDataDontLoad)) == "new")
    let unwilling = try await get(second, headers: ["Cache-Control": "no-store"], policy: .returnCacheDataDontLoad)
    #expect(unwilling.error?.urlErrorCode == .resourceUnavailable)
    #expect(hosts.server.allRequests.count == 2)
  }

  @Test("Without a cache nothing is stored, and what may not be loaded fails")
  func noCache() async throws {
    let hosts = try Hosts(response("200 Fine", Self.fresh, body: "1"), response("200 Fine", Self.fresh, body: "2"))
    let session = try cachingSession(hosts) { $0.urlCache = nil }
    #expect(text(try await get(session)) == "1")
    #expect(try await get(session, policy: .returnCacheDataDontLoad).error?.urlErrorCode == .resourceUnavailable)
    #expect(text(try await get(session)) == "2")
    #expect(recorder.notes.entries == [])
  }

  // MARK: Handlers

  @Test("The request's handler, else the session's, says what is stored, and the task's end waits for it")
  func handlers() async throws {
    let hosts = try Hosts((0..<4).map { response("200 Fine", [], body: "\($0)") })
    let configuration = try cachingSession(hosts).sessionConfiguration
    let held = Held<CachedURLResponse?>()
    let session = Session(
      configuration: configuration, cachedResponseHandler: .doNotCache, eventMonitors: [recorder])
    try await get(session)
    #expect(text(try await get(session)) == "1", "the session's stores nothing")
    let request = session.request(Self.url).cacheResponse(using: Later(held: held))
    async let outcome = request.plainResponse()
    await held.wait()
    #expect(request.task?.state != .completed)
    let url = try #require(URL(string: Self.url))
    let built = try #require(
      HTTPURLResponse(
        url: url, statusCode: 200, httpVersion: nil,
        headerFields: ["cache-control": "max-age=60"]))
    held.answer(CachedURLResponse(response: built, data: Data("changed".utf8), userInfo: nil, storagePolicy: .allowed))
    #expect(await text(outcome) == "2")
    #expect(text(try await get(session)) == "changed")
  }

  @Test("A request that is cancelled while its handler thinks is cancelled, and nothing is stored")
  func cancelledHandler() async throws {
    let hosts = try Hosts(response("200 Fine", Self.fresh, body: "1"), response("200 Fine", Self.fresh, body: "2"))
    let session = try cachingSession(hosts)
    let slot = RequestSlot()
    let request = session.request(Self.url).cacheResponse(
      using: .modify { _, cached in
        slot.request?.cancel()
        return cached
      })
    slot.request = request
    #expect(await request.plainResponse().error?.isExplicitlyCancelledError == true)
    await session.loopTurn()
    #expect(!recorder.notes.entries.contains("hit"))
  }
}
