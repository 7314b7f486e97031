import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// The challenges of a proxy that takes requests itself.
@Suite("§22 Proxies' authentication", .timeLimit(.minutes(5)))
struct ProxyAuthenticationTests {
  private typealias Noted = HTTPAuthenticationTests.Noted

  private static let basic = "Proxy-Authenticate: Basic realm=\"staff\""
  private static let digest = "Proxy-Authenticate: Digest realm=\"staff\", nonce=\"n0nce\", qop=\"auth\""
  private static let status = "407 Proxy Authentication Required"

  /// - Parameter password: That of `me`.
  private static func configuration(_ proxy: ScriptedServer, password: String = "s3cret") -> SessionConfiguration {
    var configuration = SessionConfiguration()
    let credential = URLCredential(user: "me", password: password, persistence: .forSession)
    configuration.proxy = .http(host: "127.0.0.1", port: proxy.port, credential: credential)
    return configuration
  }

  private static func guarded(_ challenge: String = basic) -> Script {
    HTTPAuthenticationTests.guarded([challenge], by: "proxy-authorization:", status: status)
  }

  /// A proxy whose answer depends on a request's head, and on whether it has a credential for the proxy.
  private static func proxy(
    _ answer: @escaping @Sendable (_ head: String, _ isIn: Bool) -> String
  ) throws -> ScriptedServer {
    try ScriptedServer(
      Script(.forever([.dispatchHead { [.send(answer($0, $0.contains("\r\nProxy-Authorization: ")))] }])))
  }

  private static func credentials(_ proxy: ScriptedServer) -> [Bool] {
    proxy.allRequests.map { $0.has("Proxy-Authorization") }
  }

  @Test("A challenge is answered with the proxy's credential, for each request anew", arguments: [basic, digest])
  func answered(challenge: String) async throws {
    let proxy = try ScriptedServer(Self.guarded(challenge))
    let noted = Noted()
    let session = Session(configuration: Self.configuration(proxy), eventMonitors: [noted.monitor])
    for path in ["one", "two"] {
      let request = session.request(
        "http://far.example/\(path)", method: .post, parameters: ["a": 1], encoder: .json)
      let answer = await request.authenticate(username: "you", password: "0ther").plainResponse()
      #expect(answer.data == Data("in".utf8), "\(answer)")
      #expect(request.attemptCount == 1 && request.metrics?.tunnel == nil)
    }
    #expect(Self.credentials(proxy) == [false, true, false, true], "nothing is sent in advance")
    for request in proxy.allRequests { #expect(request.body == "{\"a\":1}" && !request.has("Authorization")) }
    #expect(
      proxy.allRequests.map(\.line)
        == ["one", "one", "two", "two"].map { "POST http://far.example/\($0) HTTP/1.1" })
    #expect(await noted.challenges(2) == ["0 me", "0 me"])
    let space = try #require(noted.heard.entries.first).protectionSpace
    #expect(space.isProxy() && space.host == "127.0.0.1" && space.port == proxy.port && space.realm == "staff")
    #expect(proxy.connectionCount == 1)
  }

  @Test("A proxy that refuses has its 407 delivered")
  func refused() async throws {
    let proxy = try answering(response(Self.status, [Self.basic], body: "no"))
    let noted = Noted()
    let session = Session(configuration: Self.configuration(proxy, password: "wrong"), eventMonitors: [noted.monitor])
    let answer = await session.request("http://far.example/").plainResponse()
    #expect(answer.error == nil && answer.response?.statusCode == 407 && answer.data == Data("no".utf8))
    #expect(proxy.allRequests.count == 2)
    #expect(await noted.challenges(2) == ["0 me", "1 me"])
  }

  @Test("A nonce that was too old is replaced by the proxy's new one, once")
  func stale() async throws {
    let proxy = try Self.proxy { head, isIn in
      if head.contains("nonce=\"n1\"") { return okResponse("in") }
      return response(
        Self.status, [isIn ? Self.digest.replacing("n0nce", with: "n1") + ", stale=true" : Self.digest])
    }
    let session = Session(configuration: Self.configuration(proxy))
    #expect(await session.request("http://far.example/").plainResponse().data == Data("in".utf8))
    #expect(Self.credentials(proxy) == [false, true, true])
  }

  @Test("A proxy and the server behind it are answered, each with its own credential")
  func proxyAndServer() async throws {
    let proxy = try Self.proxy { head, isIn in
      if !isIn { return response(Self.status, [Self.digest]) }
      return head.contains("\r\nAuthorization: Basic ")
        ? okResponse("in") : response("401 Unauthorized", [HTTPAuthenticationTests.basic])
    }
    let noted = Noted()
    let session = Session(configuration: Self.configuration(proxy), eventMonitors: [noted.monitor])
    let answer = await session.request("http://far.example/").authenticate(username: "you", password: "0ther")
      .plainResponse()
    #expect(answer.data == Data("in".utf8), "\(answer)")
    // A nonce may be used once, so the proxy is asked again for the second request that it lets pass.
    #expect(Self.credentials(proxy) == [false, true, false, true])
    #expect(proxy.allRequests.map { $0.has("Authorization") } == [false, false, true, true])
    #expect(await noted.challenges(3) == ["0 me", "1 you", "2 me"])
  }

  @Test("A redirect takes no answer along", arguments: ["http://other.example/", "https://other.example/"])
  func redirects(target: String) async throws {
    let proxy = try Self.proxy { head, isIn in
      if head.hasPrefix("CONNECT ") { return response("403 Forbidden", []) }
      if !isIn { return response(Self.status, [Self.basic]) }
      return head.hasPrefix("GET http://other.example/")
        ? okResponse("in") : response("302 Found", ["Location: \(target)"])
    }
    let session = Session(configuration: Self.configuration(proxy))
    let answer = await session.request("http://far.example/").plainResponse()
    let isTunnel = target.hasPrefix("https:")
    #expect((answer.error == nil) != isTunnel)
    #expect(Self.credentials(proxy) == (isTunnel ? [false, true, false] : [false, true, false, true]))
  }

  @Test("A body that is a stream can't be sent again")
  func stream() async throws {
    let proxy = try ScriptedServer(
      Script(.head, .chunkedBody, .send(response(Self.status, [Self.basic], body: "no")), .awaitClose))
    let session = Session(configuration: Self.configuration(proxy))
    let answer = await session.upload(InputStream(data: Data("body".utf8)), to: "http://far.example/")
      .plainResponse()
    #expect(answer.response?.statusCode == 407 && answer.data == Data("no".utf8))
  }

  @Test("A field of the caller's own is left alone")
  func own() async throws {
    let proxy = try answering(response(Self.status, [Self.basic]))
    let session = Session(configuration: Self.configuration(proxy))
    let answer = await session.request(
      "http://far.example/", headers: [HTTPHeader(name: "Proxy-Authorization", value: "Basic own")]
    ).plainResponse()
    #expect(answer.response?.statusCode == 407)
    #expect(proxy.allRequests.map { $0.value(of: "Proxy-Authorization") } == ["Basic own"])
  }

  @Test("A server to which the connection leads gets no credential of the proxy")
  func servers() async throws {
    let refusal = response(Self.status, [Self.basic], body: "mine")
    let server = try ScriptedServer(Script(.socks5, .forever([.head, .send(refusal)])))
    var configuration = Self.configuration(server)
    let credential = URLCredential(user: "me", password: "s3cret", persistence: .forSession)
    configuration.proxy = .socks5(host: "127.0.0.1", port: server.port, credential: credential)
    let noted = Noted()
    let session = Session(configuration: configuration, eventMonitors: [noted.monitor])
    let answer = await session.request("http://far.example/").plainResponse()
    #expect(answer.response?.statusCode == 407 && answer.data == Data("mine".utf8))
    #expect(!server.receivedText().contains("Proxy-Authorization"))
    #expect(await noted.challenges(1) == ["0 nobody"])
    #expect(noted.heard.entries.first?.protectionSpace.isProxy() == false)
  }
}
