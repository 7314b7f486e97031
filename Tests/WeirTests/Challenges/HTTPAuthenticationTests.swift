import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Basic and Digest, as a server sees them.
@Suite("§22 HTTP authentication", .timeLimit(.minutes(5)))
struct HTTPAuthenticationTests {
  static let basic = "WWW-Authenticate: Basic realm=\"staff\""
  static let digest = "WWW-Authenticate: Digest realm=\"staff\", nonce=\"n0nce\", qop=\"auth\""
  /// Of `me` with `s3cret`.
  static let authorization = "Basic bWU6czNjcmV0"

  /// Challenges who has no credentials, and serves who has.
  static func guarded(
    _ challenge: [String] = [basic], by field: String = "authorization:", status: String = "401 Unauthorized"
  ) -> Script {
    Script(
      .forever([
        .dispatchHead { head in
          head.lowercased().contains("\r\n\(field) ")
            ? [.send(okResponse("in"))] : [.send(response(status, challenge, body: "who are you?"))]
        }
      ]))
  }

  struct Noted {
    let heard = Journal<TransferChallenge>()
    let monitor = ClosureEventMonitor()

    init() {
      monitor.taskDidReceiveChallenge = { [heard] _, _, challenge in heard.append(challenge) }
    }

    /// Failures before each challenge, and whether it was proposed to answer it.
    func challenges(_ count: Int) async -> [String] {
      await heard.wait { $0.count >= count }
      return heard.entries.map { "\($0.previousFailureCount) \($0.proposedCredential?.user ?? "nobody")" }
    }
  }

  @Test(
    "A challenge is answered once, with the body again; not before it",
    arguments: [
      ([basic], "Basic "), ([digest], "Digest "), (["\(digest), algorithm=SHA-256"], "Digest "),
      ([basic, digest], "Digest "),
      (["WWW-Authenticate: Basic"], "Basic "), (["WWW-Authenticate: Bearer, Basic realm=\"x\""], "Basic "),
      (["\(digest), algorithm=SHA-512-256", basic], "Basic "),
      ([digest.replacing("auth", with: "auth-int"), basic], "Basic "),
      (["\(digest), algorithm=SHA-512-256", "\(digest), algorithm=SHA-256", digest], "Digest "),
      (["WWW-Authenticate: Digest realm = \"staff\" , nonce =\"n0nce\", qop\t= auth"], "Digest "),
    ])
  func answered(challenge: [String], scheme: String) async throws {
    let server = try ScriptedServer(Self.guarded(challenge))
    let noted = Noted()
    let session = Session(eventMonitors: [noted.monitor])
    for _ in 0..<2 {
      let request = session.request(server.url + "orders?x=1", method: .post, parameters: ["a": 1], encoder: .json)
        .authenticate(username: "me", password: "s3cret")
      let answer = await request.plainResponse()
      #expect(answer.data == Data("in".utf8), "\(answer)")
      #expect(answer.response?.statusCode == 200)
      #expect(request.tasks.count == 1 && request.attemptCount == 1 && request.retryCount == 0)
      #expect(request.metrics?.redirectCount == 0)
    }
    let received = server.allRequests
    #expect(received.map { $0.has("Authorization") } == [false, true, false, true], "nothing is sent in advance")
    for request in received { #expect(request.line == "POST /orders?x=1 HTTP/1.1" && request.body == "{\"a\":1}") }
    let sent = try #require(received.last?.value(of: "Authorization"))
    #expect(sent.hasPrefix(scheme))
    if scheme == "Basic " { #expect(sent == Self.authorization) }
    if scheme == "Digest " {
      #expect(
        sent.contains("username=\"me\"") && sent.contains("nonce=\"n0nce\"") && sent.contains("uri=\"/orders?x=1\""))
      #expect(!sent.contains("s3cret"))
      #expect(sent.contains("realm=\"staff\"") && sent.contains("qop=auth,"))
      #expect(sent.hasSuffix("algorithm=SHA-256") == challenge.contains { $0.hasSuffix("algorithm=SHA-256") })
    }
    #expect(await noted.challenges(2) == ["0 me", "0 me"])
    let space = try #require(noted.heard.entries.first).protectionSpace
    #expect(space.host == "127.0.0.1" && space.port == server.port && space.protocol == "http" && !space.isProxy())
    #expect(
      space.authenticationMethod
        == (scheme == "Basic " ? NSURLAuthenticationMethodHTTPBasic : NSURLAuthenticationMethodHTTPDigest))
    #expect(noted.heard.entries.first?.failureResponse?.statusCode == 401)
    #expect(server.connectionCount == 1)
  }

  @Test("A refused credential is not tried again, and the 401 is a response", arguments: [basic, digest])
  func refused(challenge: String) async throws {
    let server = try answering(response("401 Unauthorized", [challenge, "X-Try: again"], body: "who are you?"))
    let noted = Noted()
    let session = Session(eventMonitors: [noted.monitor])
    let request = session.request(server.url).authenticate(username: "me", password: "wrong")
    let answer = await request.plainResponse()
    #expect(answer.error == nil && answer.response?.statusCode == 401)
    #expect(answer.data == Data("who are you?".utf8) && answer.response?.headers["X-Try"] == "again")
    #expect(server.allRequests.count == 2)
    #expect(await noted.challenges(2) == ["0 me", "1 me"])
    // Validated, it reaches the retriers like any other.
    let validated = await session.request(server.url).authenticate(username: "me", password: "wrong").validate()
      .plainResponse()
    #expect(validated.error?.responseCode == 401)
  }

  @Test("A nonce that was too old is replaced by the server's new one, once", arguments: [true, false])
  func stale(knowsItsOwn: Bool) async throws {
    let renewed = Self.digest.replacing("n0nce", with: "n1") + ", stale=TRUE"
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            if knowsItsOwn, head.contains("nonce=\"n1\"") { return [.send(okResponse("in"))] }
            let challenge = head.lowercased().contains("\r\nauthorization:") ? renewed : Self.digest
            return [.send(response("401 Unauthorized", [challenge], body: "no"))]
          }
        ])))
    let session = Session()
    let answer = await session.request(server.url, method: .post, parameters: ["a": 1], encoder: .json)
      .authenticate(username: "me", password: "s3cret").plainResponse()
    #expect(answer.response?.statusCode == (knowsItsOwn ? 200 : 401), "\(answer)")
    let nonces = server.allRequests.map { $0.value(of: "Authorization")?.split(separator: ", ")[2] }
    #expect(nonces == [nil, "nonce=\"n0nce\"", "nonce=\"n1\""])
  }

  @Test(
    "Without a credential, and with one of no use, the 401 is a response",
    arguments: [
      (false, [basic], ["0 nobody"]), (true, ["WWW-Authenticate: Bearer realm=\"x\""], []), (true, [], []),
      (true, ["\(digest), algorithm=SHA-512-256"], []), (true, [digest.replacing("auth", with: "token")], []),
      (true, [digest.replacing("auth", with: "auth-int")], []),
    ])
  func unanswered(hasCredential: Bool, challenge: [String], heard: [String]) async throws {
    let server = try answering(response("401 Unauthorized", challenge, body: "no"))
    let noted = Noted()
    let session = Session(eventMonitors: [noted.monitor])
    let request = session.request(server.url, method: .put, parameters: ["a": 1], encoder: .json)
    if hasCredential { request.authenticate(username: "me", password: "s3cret") }
    let answer = await request.plainResponse()
    #expect(answer.error == nil && answer.response?.statusCode == 401 && answer.data == Data("no".utf8))
    #expect(server.allRequests.count == 1)
    #expect(await noted.challenges(heard.count) == heard)
  }

  @Test("A caller's own Authorization is left alone")
  func own() async throws {
    let server = try answering(response("401 Unauthorized", [Self.basic]))
    let session = Session()
    let answer = await session.request(server.url, headers: [.authorization(bearerToken: "t0ken")])
      .authenticate(username: "me", password: "s3cret").plainResponse()
    #expect(answer.response?.statusCode == 401)
    #expect(server.allRequests.map { $0.value(of: "Authorization") } == ["Bearer t0ken"])
  }

  @Test("A redirect to another origin takes no credential along; one within the origin does")
  func redirects() async throws {
    let other = try ScriptedServer(Self.guarded())
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            if head.hasPrefix("GET /away") { return [.send(response("302 Found", ["Location: \(other.url)"]))] }
            if head.hasPrefix("GET /near") { return [.send(response("302 Found", ["Location: /there"]))] }
            let isIn = (head + "\r\n").contains("\r\nAuthorization: \(Self.authorization)\r\n")
            return [.send(isIn ? okResponse("in") : response("401 Unauthorized", [Self.basic]))]
          }
        ])))
    let session = Session()
    let away = await session.request(server.url + "away").authenticate(username: "me", password: "s3cret")
      .plainResponse()
    #expect(away.response?.statusCode == 401)
    #expect(other.allRequests.map { $0.has("Authorization") } == [false])
    let near = await session.request(server.url + "near").authenticate(username: "me", password: "s3cret")
      .plainResponse()
    #expect(near.response?.statusCode == 200)
  }

  /// Two origins with the same realm: `/away` of the first, once it is let in, leads to the second, `/start` there and back.
  private static func twoOrigins() throws -> (first: ScriptedServer, second: ScriptedServer) {
    let urls = Journal<String>()
    func server(_ redirects: [String: (index: Int, path: String)]) throws -> ScriptedServer {
      try ScriptedServer(
        Script(
          .forever([
            .dispatchHead { head in
              let path = String(head.split(separator: " ").dropFirst().first ?? "")
              let isIn = (head + "\r\n").contains("\r\nAuthorization: ")
              if path != "/start", path != "/back", !isIn { return [.send(response("401 Unauthorized", [Self.basic]))] }
              guard let (index, next) = redirects[path] else { return [.send(okResponse("in"))] }
              return [.send(response("302 Found", ["Location: \(urls.entries[index])\(next)"]))]
            }
          ])))
    }
    let first = try server(["/away": (1, "guarded"), "/start": (1, "back")])
    let second = try server(["/back": (0, "guarded")])
    urls.append(first.url)
    urls.append(second.url)
    return (first, second)
  }

  private static func storage(_ users: [(user: String, server: ScriptedServer)]) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    let storage = URLCredentialStorage()
    for (user, server) in users {
      let space = URLProtectionSpace(
        host: "127.0.0.1", port: server.port, protocol: "http", realm: "staff",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
      storage.setDefaultCredential(URLCredential(user: user, password: "s3cret", persistence: .forSession), for: space)
    }
    configuration.urlCredentialStorage = storage
    return configuration
  }

  private static func authorizations(at server: ScriptedServer) -> [String] {
    server.allRequests.map { request in
      guard let value = request.value(of: "Authorization"), let data = Data(base64Encoded: String(value.dropFirst(6)))
      else { return "\(request.line.split(separator: " ")[1])" }
      return "\(request.line.split(separator: " ")[1]) \(String(decoding: data, as: UTF8.self))"
    }
  }

  @Test(
    "Of a storage another origin that a redirect leads to gets what is stored for it, if anything",
    arguments: [true, false])
  func storageAway(isStoredForBoth: Bool) async throws {
    let (first, second) = try Self.twoOrigins()
    let session = Session(
      configuration: Self.storage([("me", first)] + (isStoredForBoth ? [("you", second)] : [])))
    let answer = await session.request(first.url + "away").plainResponse()
    #expect(answer.response?.statusCode == (isStoredForBoth ? 200 : 401), "\(answer)")
    #expect(Self.authorizations(at: first).last == "/away me:s3cret")
    #expect(!Self.authorizations(at: first).contains { $0.contains("you") })
    #expect(Self.authorizations(at: second).first == "/guarded")
    #expect(Self.authorizations(at: second).last == (isStoredForBoth ? "/guarded you:s3cret" : "/guarded"))
    #expect(!Self.authorizations(at: second).contains { $0.contains("me:") })
  }

  @Test("Back at its origin the storage's credential answers, the request's own does not", arguments: [true, false])
  func thereAndBack(isStored: Bool) async throws {
    let (first, second) = try Self.twoOrigins()
    let session = Session(configuration: Self.storage(isStored ? [("me", first)] : []))
    let request = session.request(first.url + "start")
    if !isStored { request.authenticate(username: "me", password: "s3cret") }
    let answer = await request.plainResponse()
    #expect(answer.response?.statusCode == (isStored ? 200 : 401), "\(answer)")
    #expect(Self.authorizations(at: second) == ["/back"])
    #expect(Self.authorizations(at: first).prefix(2) == ["/start", "/guarded"])
    #expect(Self.authorizations(at: first).last == (isStored ? "/guarded me:s3cret" : "/guarded"))
  }

  @Test("The credential storage's default of the realm answers, where the request has none", arguments: [true, false])
  func storage(isRealms: Bool) async throws {
    let server = try ScriptedServer(Self.guarded())
    let storage = URLCredentialStorage()
    let space = URLProtectionSpace(
      host: "127.0.0.1", port: server.port, protocol: "http", realm: isRealms ? "staff" : "guests",
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    storage.setDefaultCredential(URLCredential(user: "me", password: "s3cret", persistence: .forSession), for: space)
    var configuration = SessionConfiguration()
    configuration.urlCredentialStorage = storage
    let noted = Noted()
    let session = Session(configuration: configuration, eventMonitors: [noted.monitor])
    let request = session.request(server.url, method: .post, parameters: ["a": 1], encoder: .json)
    let answer = await request.plainResponse()
    #expect(answer.response?.statusCode == (isRealms ? 200 : 401), "\(answer)")
    #expect(request.tasks.count == 1 && request.metrics?.redirectCount == 0)
    let received = server.allRequests
    #expect(received.count { $0.has("Authorization") } == (isRealms ? 1 : 0))
    for request in received { #expect(request.body == "{\"a\":1}") }
    #expect(await noted.challenges(1).first == (isRealms ? "0 me" : "0 nobody"))
  }

  @Test(
    "A Basic challenge without a realm is answered by what is stored with the host as its realm",
    arguments: [
      ("Basic", "127.0.0.1", true), ("Basic charset=\"UTF-8\"", "127.0.0.1", true), ("Basic", "staff", false),
      ("Basic realm=\"\"", "127.0.0.1", false), ("Basic realm=\"staff\"", "127.0.0.1", false),
      ("Digest nonce=\"n0nce\", qop=\"auth\"", "127.0.0.1", false),
    ])
  func withoutRealm(challenge: String, realm: String, isAnswered: Bool) async throws {
    let server = try ScriptedServer(Self.guarded(["WWW-Authenticate: \(challenge)"]))
    let storage = URLCredentialStorage()
    let space = URLProtectionSpace(
      host: "127.0.0.1", port: server.port, protocol: "http", realm: realm,
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    storage.setDefaultCredential(URLCredential(user: "me", password: "s3cret", persistence: .forSession), for: space)
    var configuration = SessionConfiguration()
    configuration.urlCredentialStorage = storage
    let session = Session(configuration: configuration)
    let request = session.request(server.url)
    let answer = await request.plainResponse()
    #expect(answer.response?.statusCode == (isAnswered ? 200 : 401), "\(answer)")
    #expect(server.allRequests.last?.value(of: "Authorization") == (isAnswered ? Self.authorization : nil))
    let isShown = request.cURLDescription(redactingSecrets: false).contains("-u 'me:s3cret'")
    #expect(isShown == (realm == "127.0.0.1"))
  }

  @Test("A body that can't be sent again is sent once, and the 401 is a response")
  func stream() async throws {
    let server = try ScriptedServer(
      Script(.head, .chunkedBody, .send(response("401 Unauthorized", [Self.basic], body: "no")), .awaitClose))
    let session = Session()
    let answer = await session.upload(InputStream(data: Data("body".utf8)), to: server.url)
      .authenticate(username: "me", password: "s3cret").plainResponse()
    #expect(answer.error == nil && answer.response?.statusCode == 401 && answer.data == Data("no".utf8))
    #expect(server.receivedText().components(separatedBy: "POST / HTTP/1.1").count == 2)
  }

  @Test("A file goes again from its beginning, also when the challenge comes before its end", arguments: [true, false])
  func file(isEarly: Bool) async throws {
    let directory = try TemporaryDirectory()
    let size = 3_000_000
    let path = try directory.file("body", String(repeating: "x", count: size))
    let challenge = response("401 Unauthorized", [Self.basic] + (isEarly ? [] : ["Connection: close"]), body: "no")
    let first: Script =
      isEarly ? Script(.head, .send(challenge), .awaitClose) : Script(.head, .swallow(size), .send(challenge), .close)
    let server = try ScriptedServer(first, Script(.head, .swallow(size), .send(okResponse("in")), .awaitClose))
    let session = Session()
    let request = session.upload(URL(fileURLWithPath: path), to: server.url)
      .authenticate(username: "me", password: "s3cret")
    let answer = await request.plainResponse()
    #expect(answer.data == Data("in".utf8), "\(answer)")
    #expect(request.task?.countOfBytesSent == Int64(size))
    #expect(server.receivedText(on: 1).contains("Authorization: \(Self.authorization)\r\n"))
    #expect(!server.receivedText(on: 0).contains("Authorization"))
  }

  // Where it ends without a word the first bytes of the answer may be on it already, and only what may go twice goes again.
  @Test("A connection that ends with the challenge is replaced by another", arguments: [true, false])
  func closing(isAnnounced: Bool) async throws {
    let fields = [Self.digest] + (isAnnounced ? ["Connection: close"] : [])
    let server = try ScriptedServer(
      Script(.request, .send(response("401 Unauthorized", fields, body: "no"))), Self.guarded())
    let session = Session()
    let method: HTTPMethod = isAnnounced ? .post : .put
    let answer = await session.request(server.url, method: method, parameters: ["a": 1], encoder: .json)
      .authenticate(username: "me", password: "s3cret").plainResponse()
    #expect(answer.data == Data("in".utf8), "\(answer)")
  }

  // MARK: Descriptions

  @Test("The command for curl has the credential, the password left out")
  func description() async throws {
    let server = try ScriptedServer(Self.guarded())
    let session = Session()
    let request = session.request(server.url).authenticate(username: "me", password: "s3cret")
    #expect(request.credential?.user == "me")
    _ = await request.plainResponse()
    #expect(request.cURLDescription().contains("-u 'me:<redacted>'"))
    #expect(request.cURLDescription(redactingSecrets: false).contains("-u 'me:s3cret'"))
  }
}
