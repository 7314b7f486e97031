import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Cookies on the wire.
@Suite("Cookies on the wire", .timeLimit(.minutes(5)))
struct CookieTransferTests {
  private static let login = response(
    "200 Fine", ["Set-Cookie: id=7; HttpOnly", "Set-Cookie: theme=dark; Path=/x"], body: "ok")

  /// What each request that the server got had for cookies, connection by connection.
  private func cookies(_ hosts: Hosts) -> [String] {
    hosts.server.allRequests.map {
      $0.fields.filter { $0.name.lowercased() == "cookie" }.map(\.value).joined(separator: "|")
    }
  }

  private func session(
    _ hosts: Hosts, _ storage: CookieStorage?, redirectHandler: (any RedirectHandler)? = nil,
    _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) throws -> Session {
    try hosts.session(redirectHandler: redirectHandler) { configuration in
      configuration.httpCookieStorage = storage
      change(&configuration)
    }
  }

  private func get(_ session: Session, _ url: String, headers: HTTPHeaders? = nil) async {
    _ = await session.request(url, headers: headers).plainResponse()
  }

  @Test("What a response sets, the next requests of that place have")
  func kept() async throws {
    let hosts = try Hosts([Self.login] + Array(repeating: okResponse("ok"), count: 4))
    let storage = CookieStorage()
    let session = try session(hosts, storage)
    for url in ["http://a.test/login", "http://a.test/x", "http://a.test/", "http://b.test/x", "http://x.a.test/"] {
      await get(session, url)
    }
    #expect(cookies(hosts) == ["", "theme=dark; id=7", "id=7", "", ""])
    #expect(storage.cookies.map(\.name) == ["id", "theme"])
    #expect(storage.cookies.first?.isHTTPOnly == true)
  }

  @Test("Without a storage none is kept")
  func noStorage() async throws {
    let hosts = try Hosts(Self.login, okResponse("ok"))
    let session = try session(hosts, nil)
    for _ in 0..<2 { await get(session, "http://a.test/x") }
    #expect(cookies(hosts) == ["", ""])
    #expect(SessionConfiguration.default.httpCookieStorage == nil)
  }

  @Test("Across redirects each hop has what fits its URL, and each hop's response sets its own")
  func redirects() async throws {
    let hosts = try Hosts(
      response("302 Found", ["Location: /next", "Set-Cookie: a=1"]),
      response("302 Found", ["Location: http://b.test/", "Set-Cookie: a=2"]),
      response("302 Found", ["Location: http://a.test/end", "Set-Cookie: b=1", "Set-Cookie: evil=1; domain=a.test"]),
      response("200 Fine", ["Set-Cookie: c=3"], body: "end"), okResponse("ok"))
    let storage = CookieStorage(domains: .trusting)
    let session = try session(hosts, storage)
    await get(session, "http://a.test/")
    await get(session, "http://b.test/")
    #expect(cookies(hosts) == ["", "a=1", "a=2", "", "b=1"])
    #expect(Set(storage.cookies.map { "\($0.domain) \($0.name)" }) == ["a.test a", "b.test b", "a.test c"])
  }

  @Test("A caller's own Cookie goes as it is, and not to another origin; there the storage's goes")
  func ownHeader() async throws {
    let moved = response("302 Found", ["Location: http://b.test/"])
    let hosts = try Hosts(
      Self.login, response("200 Fine", ["Set-Cookie: b=1"]), okResponse("ok"), moved, okResponse("ok"))
    let session = try session(hosts, CookieStorage())
    await get(session, "http://a.test/x")
    await get(session, "http://b.test/")
    await get(session, "http://a.test/x", headers: ["cookie": "mine=1"])
    await get(session, "http://a.test/x", headers: ["Cookie": "mine=1"])
    #expect(cookies(hosts) == ["", "mine=1", "mine=1", "", "b=1"])
  }

  @Test("The session's own Cookie goes as it is too")
  func sessionHeader() async throws {
    let hosts = try Hosts(Self.login, okResponse("ok"))
    let session = try session(hosts, CookieStorage()) { $0.headers["Cookie"] = "ours=1" }
    for _ in 0..<2 { await get(session, "http://a.test/x") }
    #expect(cookies(hosts) == ["ours=1", "ours=1"])
  }

  @Test("A redirect handler's request has the storage's cookies of its URL")
  func redirectHandlers() async throws {
    let hosts = try Hosts(
      response("302 Found", ["Location: /x", "Set-Cookie: a=1"]), okResponse("ok"))
    let handler = Redirector.modify { _, proposal, _ in
      var next = proposal
      next.url = URL(string: "http://a.test/other")
      return next
    }
    let session = try session(hosts, CookieStorage(), redirectHandler: handler)
    await get(session, "http://a.test/")
    #expect(cookies(hosts) == ["", "a=1"])
  }

  enum Switch: String, CaseIterable, Sendable {
    case neverKept, notSent, requestDoesNot, otherDocument, ownDocument, always
  }

  @Test("What may be kept and sent", arguments: Switch.allCases)
  func policies(_ setting: Switch) async throws {
    let hosts = try Hosts(Self.login, okResponse("ok"))
    let storage = CookieStorage()
    storage.setCookie(try CookieStorageTests.cookie("own"))
    let session = try session(hosts, storage) { configuration in
      if setting == .neverKept { configuration.httpCookieAcceptPolicy = .never }
      if setting == .always { configuration.httpCookieAcceptPolicy = .always }
      if setting == .notSent { configuration.httpShouldSetCookies = false }
    }
    var urlRequest = try URLRequest(url: "http://a.test/x", method: .get)
    if setting == .requestDoesNot { urlRequest.httpShouldHandleCookies = false }
    if setting == .otherDocument || setting == .always { urlRequest.mainDocumentURL = URL(string: "http://b.test/") }
    if setting == .ownDocument { urlRequest.mainDocumentURL = URL(string: "http://a.test/") }
    for _ in 0..<2 { _ = await session.request(urlRequest).plainResponse() }
    let keeps = [.notSent, .ownDocument, .always].contains(setting)
    #expect(storage.cookies.count == (keeps ? 3 : 1))
    let own = setting == .notSent || setting == .requestDoesNot ? "" : "own=v"
    #expect(cookies(hosts) == [own, keeps && setting != .notSent ? "theme=dark; own=v; id=7" : own])
  }

  @Test("Retries and requests that fail keep and send them too")
  func retries() async throws {
    let hosts = try Hosts(response("503 Busy", ["Set-Cookie: a=1"]), okResponse("ok"))
    let session = try session(hosts, CookieStorage())
    let request = session.request("http://a.test/", interceptor: RetryPolicy(exponentialBackoffScale: 0.001)).validate()
    #expect(await request.serializingString().response.value == "ok")
    #expect(cookies(hosts) == ["", "a=1"])
  }

  @Test("The answer to a challenge is another request; what the challenge set is kept")
  func challenges() async throws {
    let hosts = try Hosts(
      response("401 No", ["WWW-Authenticate: Basic realm=\"r\"", "Set-Cookie: a=1"]), okResponse("ok"), okResponse("ok")
    )
    let storage = CookieStorage()
    let session = try session(hosts, storage)
    _ = await session.request("http://a.test/").authenticate(username: "u", password: "p").plainResponse()
    await get(session, "http://a.test/")
    #expect(storage.cookies.map(\.name) == ["a"])
    #expect(cookies(hosts).last == "a=1")
  }

  @Test("Fields that are hostile set nothing and break nothing")
  func hostile() async throws {
    let fields =
      [
        "Set-Cookie: ", "Set-Cookie: =x", "Set-Cookie: a", "Set-Cookie: \u{1}=1", "Set-Cookie: d=1; domain=b.test",
        "Set-Cookie: s=1; secure", "Set-Cookie: __Host-h=1", "set-COOKIE: big=\(String(repeating: "x", count: 5000))",
      ] + (0..<300).map { "Set-Cookie: n\($0)=1; path=/\($0)" } + ["Set-Cookie: last=1"]
    let hosts = try Hosts(response("200 Fine", fields, body: "ok"), okResponse("ok"))
    let storage = CookieStorage(domains: .trusting)
    let session = try session(hosts, storage)
    for _ in 0..<2 { await get(session, "http://a.test/") }
    // Of the first 50 that can be read three set nothing.
    #expect(storage.cookies.count == 47)
    #expect(storage.cookies.allSatisfy { $0.name.hasPrefix("n") && $0.domain == "a.test" })
    #expect(cookies(hosts) == ["", ""])
  }

  @Test("The cURL description shows names, and values only where secrets are asked for")
  func descriptions() async throws {
    let hosts = try Hosts(Self.login, okResponse("ok"))
    let session = try session(hosts, CookieStorage())
    await get(session, "http://a.test/x")
    let request = session.request("http://a.test/x")
    _ = await request.plainResponse()
    #expect(request.cURLDescription().contains("-b 'theme=<redacted>; id=<redacted>'"))
    #expect(request.cURLDescription(redactingSecrets: false).contains("-b 'theme=dark; id=7'"))
    #expect(
      try session.request(URLRequest(url: "http://b.test/", method: .get)).cURLDescription().contains("-b") == false)
  }
}
