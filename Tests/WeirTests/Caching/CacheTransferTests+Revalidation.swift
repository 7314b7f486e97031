import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirCompression
import WeirTestSupport

/// What a server is asked about stored responses, and what it says of them.
extension CacheTransferTests {
  @Test("A stale one is asked about; a 304 makes it good, and changes its fields")
  func revalidation() async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.tagged + ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], body: "stored"),
      "HTTP/1.1 304 Same\r\nCache-Control: max-age=60\r\nX-Own: 2\r\nETag: \"1\"\r\n\r\n")
    let session = try cachingSession(hosts)
    try await get(session)
    for _ in 0..<2 {
      let response = try await get(session)
      #expect(response.error == nil)
      #expect(text(response) == "stored")
      #expect(response.response?.statusCode == 200)
      #expect(response.response?.value(forHTTPHeaderField: "X-Own") == "2")
      #expect(response.response?.value(forHTTPHeaderField: "Content-Length") == "6")
    }
    let asked = try #require(hosts.server.allRequests.last)
    #expect(hosts.server.allRequests.count == 2)
    #expect(asked.value(of: "If-None-Match") == "\"1\"")
    #expect(asked.value(of: "If-Modified-Since") == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(recorder.notes.entries == ["miss", "store 6", "revalidated", "hit"])
  }

  @Test("What has changed takes the place of what was stored; what fails does not")
  func refreshment() async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.tagged, body: "old"), response("500 No", body: "sorry"),
      response("200 Fine", Self.fresh, body: "newer"))
    let session = try cachingSession(hosts)
    var texts: [String?] = []
    for _ in 0..<4 { texts.append(text(try await get(session))) }
    #expect(texts == ["old", "sorry", "newer", "newer"])
    #expect(hosts.server.allRequests.map { $0.value(of: "If-None-Match") } == [nil, "\"1\"", "\"1\""])
    #expect(recorder.notes.entries == ["miss", "store 3", "miss", "refreshed", "store 5", "hit"])
  }

  @Test("A 304 about another response is not believed: it is asked again, without a condition")
  func otherTag() async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.tagged, body: "old"), "HTTP/1.1 304 Same\r\nETag: \"2\"\r\n\r\n",
      response("200 Fine", Self.tagged, body: "new"))
    let session = try cachingSession(hosts)
    try await get(session)
    #expect(text(try await get(session)) == "new")
    #expect(hosts.server.allRequests.map { $0.value(of: "If-None-Match") } == [nil, "\"1\"", nil])
  }

  @Test(
    "A 304 that says by what the response varies is heard: who asks otherwise gets nothing of it (RFC 9111 §3.2, §4.1)",
    arguments: ["Authorization", "*"])
  func varyingSince(_ vary: String) async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.tagged, body: "of a"),
      "HTTP/1.1 304 Same\r\nETag: \"1\"\r\nVary: \(vary)\r\nCache-Control: max-age=60\r\n\r\n",
      response("200 Fine", Self.fresh, body: "of b"))
    let session = try cachingSession(hosts)
    for _ in 0..<2 {
      let response = try await get(session, headers: [.authorization("a")])
      #expect(text(response) == "of a")
    }
    let response = try await get(session, headers: [.authorization("b")])
    #expect(text(response) == "of b")
  }

  @Test("A 304 with no-store: the response is served once more, and no longer kept")
  func storedNoMore() async throws {
    let hosts = try Hosts(
      response("200 Fine", Self.tagged, body: "old"),
      "HTTP/1.1 304 Same\r\nCache-Control: no-store, max-age=60\r\n\r\n", response("200 Fine", body: "new"))
    let session = try cachingSession(hosts)
    var texts: [String?] = []
    for _ in 0..<3 { texts.append(text(try await get(session))) }
    #expect(texts == ["old", "old", "new"])
    #expect(hosts.server.allRequests.last?.value(of: "If-None-Match") == nil)
  }

  @Test("A body that is stored decoded has its progress by its own length")
  func progressOfCodedBodies() async throws {
    let body = try Compression.deflate([UInt8](repeating: 65, count: 10_000), .gzip)
    let fields = "Cache-Control: max-age=60\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n"
    let server = try ScriptedServer(Script(.head, .send(Array("HTTP/1.1 200 Fine\r\n\(fields)\r\n".utf8) + body)))
    var configuration = SessionConfiguration()
    configuration.urlCache = cache
    let session = Session(configuration: configuration)
    for _ in 0..<2 {
      let request = session.request(server.url)
      let progress = request.downloadProgress
      #expect(await request.plainResponse().data?.count == 10_000)
      #expect(progress.completedUnitCount == 10_000)
      #expect([-1, 10_000].contains(progress.totalUnitCount))
    }
  }

  @Test("What a request was sent with says whom the response fits: a cookie may have come while it waited")
  func cookieWhileWaiting() async throws {
    let gate = Gate()
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatch { line in
            if line.contains("/slow") { return [.wait(gate), .send(okResponse("slow"))] }
            return [.send(response("200 Fine", Self.fresh + ["Vary: Cookie"], body: "page"))]
          }
        ])))
    let storage = CookieStorage()
    var configuration = SessionConfiguration()
    configuration.urlCache = cache
    configuration.httpCookieStorage = storage
    configuration.httpMaximumConnectionsPerHost = 1
    let session = Session(configuration: configuration)
    let first = session.request(server.url + "/slow")
    async let slow = first.plainResponse()
    try await eventually("the slot is taken") { server.allRequests.count == 1 }
    let second = session.request(server.url + "/page")
    async let page = second.plainResponse()
    try await eventually("it waits") { second.task != nil }
    let cookie = try #require(
      HTTPCookie(properties: [.name: "sid", .value: "1", .domain: "127.0.0.1", .path: "/"]))
    // Looking into the cache goes by a worker, which tells of it to nobody.
    try await letPass(0.1)
    storage.setCookie(cookie)
    gate.open()
    _ = await (slow, page)
    #expect(server.allRequests.last?.value(of: "Cookie") == "sid=1")
    storage.deleteCookie(cookie)
    _ = await session.request(server.url + "/page").plainResponse()
    #expect(server.allRequests.count == 3)
    #expect(server.allRequests.last?.value(of: "Cookie") == nil)
  }

  @Test("A caller's own condition gets its own 304")
  func ownCondition() async throws {
    let hosts = try Hosts(response("200 Fine", Self.tagged, body: "old"), "HTTP/1.1 304 Same\r\n\r\n")
    let session = try cachingSession(hosts)
    try await get(session)
    let response = try await get(session, headers: ["If-None-Match": "\"1\""])
    #expect(response.response?.statusCode == 304)
    #expect(response.data == nil)
  }
}
