import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// Requests that an HTTP proxy takes itself, in absolute form.
@Suite(.timeLimit(.minutes(5))) struct ForwardedRequestTests {
  private static func rig(
    _ proxy: ScriptedServer, credential: (any ProxyCredential)? = nil, answer: TransferCredential? = nil
  ) async throws -> EngineRig {
    let way = TransferProxy(.http, host: "127.0.0.1", port: proxy.port, credential: credential, answer: answer)
    return try await EngineRig { $0.proxy = .proxy(way) }
  }

  private static func lines(_ proxy: ScriptedServer, on connection: Int = 0) -> [String] {
    proxy.receivedText(on: connection).split(separator: "\r\n").map(String.init)
  }

  private static func requestLines(_ proxy: ScriptedServer) -> [String] {
    (0..<proxy.connectionCount).flatMap { lines(proxy, on: $0) }.filter { $0.hasSuffix(" HTTP/1.1") }
  }

  @Test(
    arguments: [
      ("http://far.example", nil, nil, "http://far.example/", "far.example"),
      ("http://far.example/a?b#c", nil, nil, "http://far.example/a?b", "far.example"),
      ("http://far.example:80/", nil, nil, "http://far.example/", "far.example"),
      ("http://far.example:8080/a", nil, nil, "http://far.example:8080/a", "far.example:8080"),
      ("http://[2001:db8::1]:81/a", nil, nil, "http://[2001:db8::1]:81/a", "[2001:db8::1]:81"),
      ("http://far.example", "/a/../b", nil, "http://far.example/a/../b", "far.example"),
      ("http://far.example/x", "/", .host("10.0.0.9", port: 81), "http://10.0.0.9:81/", "far.example"),
      ("http://far.example/x?y", nil, .host("10.0.0.9", port: 81), "http://10.0.0.9:81/x?y", "far.example"),
    ] as [(String, String?, TransferEndpoint.Place?, String, String)])
  func targets(
    url: String, target: String?, place: TransferEndpoint.Place?, expected: String, host: String
  ) async throws {
    let proxy = try ScriptedServer(.answering(okResponse("by proxy")))
    let rig = try await Self.rig(proxy)
    var spec = TransferSpec(url: url, target: target)
    spec.endpoint = place.map(TransferEndpoint.init)
    let outcome = await rig.transfer(spec)
    #expect(outcome.text == "by proxy", "\(String(describing: outcome.error))")
    // libcurl writes the default port as the URL does.
    if isOwnEngine || !url.contains(":80/") { #expect(Self.lines(proxy).first == "GET \(expected) HTTP/1.1") }
    #expect(Self.lines(proxy).contains("Host: \(host)"))
    #expect(outcome.report?.phases[.tunnel] == nil && outcome.report?.phases[.connect] != nil)
    await rig.close()
  }

  /// RFC 9112 §3.2.4.
  @Test func aQuestionAboutTheWholeServerHasNoPath() async throws {
    let proxy = try ScriptedServer(.answering(okResponse("")))
    let rig = try await Self.rig(proxy)
    _ = await rig.transfer(TransferSpec(url: "http://far.example", target: "*", method: "OPTIONS"))
    #expect(Self.lines(proxy).first == "OPTIONS http://far.example HTTP/1.1")
    await rig.close()
  }

  @Test func allOriginsShareConnections() async throws {
    let proxy = try ScriptedServer(.answering(okResponse("by proxy")))
    let rig = try await Self.rig(proxy)
    for (index, url) in ["http://a.example/1", "http://b.example:81/2", "http://a.example/3"].enumerated() {
      var spec = TransferSpec(url: url)
      // Demands on the server's address say nothing about the proxy.
      if index == 1 { spec.addressPolicy = AddressPolicy(otherwise: .publicOnly) }
      let outcome = await rig.transfer(spec)
      #expect(outcome.text == "by proxy")
      #expect(outcome.report?.isReusedConnection == (index > 0))
    }
    #expect(proxy.connectionCount == 1)
    #expect(rig.counts.value.opened == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test(.enabled(if: isOwnEngine)) func requestsWithOtherProxiesShareNone() async throws {
    let proxies = [try ScriptedServer(.answering(okResponse("1"))), try ScriptedServer(.answering(okResponse("2")))]
    let origin = try ScriptedServer(.answering(okResponse("direct")))
    let rig = try await EngineRig()
    var ways: [ProxyOptions?] = proxies.map { .http(host: "127.0.0.1", port: $0.port, credential: nil) }
    ways += [ProxyOptions.none, nil]
    for _ in 0..<2 {
      for (way, text) in zip(ways, ["1", "2", "direct", "direct"]) {
        var spec = TransferSpec(url: origin.url)
        spec.rules = way.map { TransferRules(proxy: $0) }
        #expect(await rig.transfer(spec).text == text)
      }
    }
    #expect(proxies.map(\.connectionCount) == [1, 1] && origin.connectionCount == 1)
    await rig.close()
  }

  @Test func theCredentialGoesWithEachRequest() async throws {
    let proxy = try ScriptedServer(.answering(okResponse("by proxy")))
    let credential = TestProxyCredential(nil)
    let rig = try await Self.rig(proxy, credential: credential)
    for value in ["Bearer one", "Bearer two", nil] {
      credential.set(value)
      #expect(await rig.transfer(TransferSpec(url: "http://far.example/"), headers: ["X-Own: 1"]).error == nil)
    }
    let fields = Self.lines(proxy).filter { $0.hasPrefix("Proxy-Authorization:") }
    #expect(fields == ["Bearer one", "Bearer two"].map { "Proxy-Authorization: \($0)" })
    #expect(proxy.connectionCount == 1)
    await rig.close()
  }

  /// The engines leave challenges to their user.
  @Test func aChallengeIsAResponse() async throws {
    let proxy = try ScriptedServer(
      .answering("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 2\r\n\r\nno"))
    let rig = try await Self.rig(proxy, answer: TransferCredential(user: "me", password: "secret"))
    let outcome = await rig.transfer(TransferSpec(url: "http://far.example/"))
    #expect(outcome.head?.status == 407 && outcome.text == "no")
    #expect(Self.requestLines(proxy).count == 1 && !proxy.receivedText().contains("Proxy-Authorization"))
    await rig.close()
  }

  @Test(arguments: [false, true])
  func aChallengeIsNotForTheUsersOfAGateway(hasCredential: Bool) async throws {
    let proxy = try ScriptedServer(
      .answering("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 2\r\n\r\nno"))
    let rig = try await Self.rig(proxy, credential: hasCredential ? TestProxyCredential("Bearer x") : nil)
    var spec = TransferSpec(url: "http://far.example/")
    spec.isForOneOfMany = true
    let outcome = await rig.transfer(spec)
    #expect(outcome.error?.kind == .proxyUnauthorized && outcome.error?.proxyStatus == 407)
    let fact = hasCredential ? "refuses the credential" : "wants a credential"
    #expect(outcome.error?.message == "the proxy http://127.0.0.1:\(proxy.port) \(fact) (407)")
    #expect(outcome.heads.isEmpty)
    await rig.close()
  }

  @Test func aServersOwn407IsItsAnswer() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno"))
    let rig = try await EngineRig()
    var spec = TransferSpec(url: server.url)
    spec.isForOneOfMany = true
    #expect(await rig.transfer(spec).head?.status == 407)
    await rig.close()
  }

  @Test func exceptionsOfTheEnvironmentAreReachedDirectly() async throws {
    let proxy = try ScriptedServer(.answering(okResponse("by proxy")))
    let server = try ScriptedServer(.answering(okResponse("direct")))
    let variables = ["http_proxy": "http://me:secret@127.0.0.1:\(proxy.port)", "no_proxy": "127.0.0.0/8"]
    let rig = try await EngineRig { $0.proxy = .named(by: ProxyEnvironment { variables[$0] }) }
    #expect(await rig.get(server.url).text == "direct")
    #expect(await rig.get("http://far.example/").text == "by proxy")
    #expect(Self.lines(proxy).contains("Proxy-Authorization: Basic bWU6c2VjcmV0"))
    #expect(!server.receivedText().contains("Proxy-Authorization"))
    await rig.close()
  }

  @Test func aProxyThatIsDownIsNotTheServer() async throws {
    let proxy = try ScriptedServer(.answering(okResponse("x")))
    proxy.stop()
    let rig = try await Self.rig(proxy)
    let outcome = await rig.get("http://far.example/")
    #expect(outcome.error?.kind == .proxyUnreachable && outcome.error?.code == .couldNotConnect)
    #expect(outcome.error?.isOfProxy == true)
    #expect(outcome.error?.message.hasPrefix("the proxy http://127.0.0.1:\(proxy.port): ") == true)
    await rig.close()
  }
}
