import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// Ways through proxies to the server itself: what passes, and what becomes of proxies that refuse or fail.
@Suite(.timeLimit(.minutes(5))) struct ProxyTunnelTests {
  private static func rig(
    _ proxy: ScriptedServer, _ kind: TransferProxy.Kind = .http, credential: (any ProxyCredential)? = nil,
    answer: TransferCredential? = nil, patience: Double = 10
  ) async throws -> EngineRig {
    let way = TransferProxy(kind, host: "127.0.0.1", port: proxy.port, credential: credential, answer: answer)
    return try await EngineRig {
      $0.proxy = .proxy(way)
      $0.connectTimeout = patience
    }
  }

  private static func tunnel(to url: String) -> TransferSpec {
    var spec = TransferSpec(url: url)
    spec.opensTunnel = true
    return spec
  }

  private static let established = "HTTP/1.1 200 OK\r\n\r\n"

  // MARK: Transfers that only open a tunnel

  /// The peer's steps before the tunnel is there, by the kind of proxy; nil for a direct connection.
  private static let beginnings: [(TransferProxy.Kind?, [Script.Step])] = [
    (nil, []), (.http, [.head, .send(established)]), (.socks5h, [.socks5]), (.socks5, [.socks5]),
  ]

  @Test(.enabled(if: isOwnEngine), arguments: beginnings.indices)
  func bytesPassBothWays(beginning: Int) async throws {
    let (kind, steps) = Self.beginnings[beginning]
    let server = try ScriptedServer(
      Script(.steps(steps), .send("first "), .bytes(5), .send("second "), .awaitEnd, .send("last")))
    let rig = if let kind { try await Self.rig(server, kind) } else { try await EngineRig() }
    let port = kind == nil ? server.port : 443
    let outcome = await rig.transfer(Self.tunnel(to: "http://127.0.0.1:\(port)")) { $0.source = Array("hello".utf8) }
    #expect(outcome.error == nil)
    #expect(outcome.heads.map(\.status) == [200])
    #expect(outcome.text == "first second last")
    #expect(server.receivedText().hasSuffix("hello"))
    if kind == .http { #expect(server.receivedText().hasPrefix("CONNECT 127.0.0.1:443 HTTP/1.1\r\n")) }
    #expect((outcome.report?.phases[.tunnel] != nil) == (kind != nil))
    #expect(outcome.report?.phases[.connect] != nil && outcome.report?.phases[.tls] == nil)
    #expect(outcome.report?.connectionsOpened == 1)
    await rig.close()
    #expect(rig.counts.value.opened == 1 && rig.counts.open == 0)
  }

  @Test(.enabled(if: isOwnEngine)) func aTunnelsConnectionServesNothingElse() async throws {
    let server = try ScriptedServer(
      Script(.forever([.head, .send(okResponse("one"))])), Script(.send("tunnel"), .awaitEnd),
      .answering(okResponse("three")))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).text == "one")
    #expect(await rig.transfer(Self.tunnel(to: server.url)).text == "tunnel")
    #expect(await rig.get(server.url).text == "one")
    #expect(server.connectionCount == 2)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test(.enabled(if: isOwnEngine)) func aTunnelCanBeCancelledAtEachStage() async throws {
    for steps in [[], [.head, .send(Self.established), .send("x")]] as [[Script.Step]] {
      let begun = Gate()
      let proxy = try ScriptedServer(Script(.steps(steps), .call { begun.open() }, .awaitClose))
      let rig = try await Self.rig(proxy)
      let running = await rig.start(Self.tunnel(to: "http://far.example:443")) {
        $0.onProvide = { _, _ in .pause }
      }
      begun.wait()
      await running.onTransfer { transfer, _ in transfer.cancel() }
      #expect(await running.outcome.error?.kind == .cancelled)
      await rig.close()
      #expect(rig.counts.open == 0)
    }
  }

  @Test(.enabled(if: isOwnEngine)) func libcurlsEngineOpensNoTunnel() async throws {
    let server = try ScriptedServer(.answering(okResponse("x")))
    let rig = try await EngineRig { $0.http1Engine = .libcurl }
    #expect(await rig.transfer(Self.tunnel(to: server.url)).error?.kind == .invalidRequest)
    #expect(server.connectionCount == 0)
    await rig.close()
  }

  // MARK: Credentials

  @Test(.enabled(if: isOwnEngine)) func theCredentialGoesWithEachTunnel() async throws {
    let proxy = try ScriptedServer(Script(.head, .send(Self.established), .awaitEnd))
    let credential = TestProxyCredential(nil)
    let rig = try await Self.rig(proxy, credential: credential)
    for value in ["Bearer one", "Bearer two", nil] {
      credential.set(value)
      #expect(await rig.transfer(Self.tunnel(to: "http://far.example:443")).error == nil)
    }
    let fields = (0..<3).map { index in
      proxy.receivedText(on: index).split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }
    }
    #expect(fields == ["Proxy-Authorization: Bearer one", "Proxy-Authorization: Bearer two", nil])
    await rig.close()
  }

  /// By libcurl, and not before the challenge.
  @Test(.enabled(if: isOwnEngine), arguments: ["Basic realm=\"p\"", "Digest realm=\"p\", nonce=\"n\""], [true, false])
  func challengesAreAnswered(challenge: String, keepsConnection: Bool) async throws {
    let close = keepsConnection ? "" : "Connection: close\r\n"
    let refusal =
      "HTTP/1.1 407 No\r\nProxy-Authenticate: \(challenge)\r\n\(close)Content-Length: 2\r\n\r\nno"
    let rest: [Script.Step] = [.head, .send(Self.established), .send("in"), .awaitEnd]
    let proxy =
      keepsConnection
      ? try ScriptedServer(Script(.head, .send(refusal), .steps(rest)))
      : try ScriptedServer(Script(.head, .send(refusal)), Script(.steps(rest)))
    let rig = try await Self.rig(proxy, answer: TransferCredential(user: "me", password: "s3cret"))
    let outcome = await rig.transfer(Self.tunnel(to: "http://far.example:443"))
    #expect(outcome.error == nil && outcome.text == "in")
    let received = (0..<proxy.connectionCount).map { proxy.receivedText(on: $0) }.joined()
    let heads = received.split(separator: "CONNECT ")
    #expect(heads.map { $0.contains("Proxy-Authorization: \(challenge.prefix(6))") } == [false, true])
    await rig.close()
  }

  // MARK: Failures

  struct Failing: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [Script.Step]
    let kind: TransferError.Kind
    var status = 0

    init(_ name: String, _ kind: TransferError.Kind, status: Int = 0, _ steps: Script.Step...) {
      (testDescription, self.steps, self.kind, self.status) = (name, steps, kind, status)
    }

    static func answer(_ status: Int) -> Failing {
      Failing(
        "\(status)", status == 407 ? .proxyUnauthorized : .proxyRefused, status: status,
        .head, .send("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\nno"), .awaitClose)
    }

    /// A SOCKS proxy's reply (RFC 1928 §6).
    static func reply(_ code: UInt8, status: Int) -> Failing {
      Failing(
        "reply \(code)", .proxyRefused, status: status,
        .bytes(3), .send([5, 0]), .bytes(10), .send([5, code, 0, 1, 0, 0, 0, 0, 0, 0]), .awaitClose)
    }
  }

  private static let failing: [Failing] = [
    .answer(302), .answer(400), .answer(403), .answer(407), .answer(500), .answer(502), .answer(503), .answer(504),
    Failing("closes", .proxyUnreachable, .head, .close), Failing("resets", .proxyUnreachable, .head, .reset),
    Failing("garbage", .proxyUnreachable, .head, .send("garbage\r\n\r\n"), .close),
    Failing("a cut head", .proxyUnreachable, .head, .send("HTTP/1.1 200 OK\r\nA:"), .close),
    Failing("hangs", .proxyTimeout, .head, .awaitClose),
  ]

  private static let failingSOCKS: [Failing] = [
    .reply(1, status: 500), .reply(2, status: 403), .reply(3, status: 502), .reply(4, status: 502),
    .reply(5, status: 502), .reply(6, status: 502), .reply(7, status: 500), .reply(8, status: 500),
    Failing("wants credentials", .proxyUnauthorized, status: 407, .bytes(3), .send([5, 0xff]), .awaitClose),
    Failing("another version", .proxyUnreachable, .bytes(3), .send([4, 0]), .awaitClose),
    Failing("closes", .proxyUnreachable, .bytes(3), .close),
    Failing("closes later", .proxyUnreachable, .bytes(3), .send([5, 0]), .bytes(10), .close),
    Failing("hangs", .proxyTimeout, .bytes(3), .send([5, 0]), .awaitClose),
  ]

  private static func check(_ row: Failing, _ kind: TransferProxy.Kind) async throws {
    let proxy = try ScriptedServer(Script(.steps(row.steps)))
    let rig = try await rig(proxy, kind, patience: row.kind == .proxyTimeout ? 1 : 10)
    let outcome = await rig.get("https://far.example/path")
    let error = try #require(outcome.error)
    #expect(error.kind == row.kind, "\(error)")
    #expect(error.proxyStatus == row.status)
    #expect(error.isOfProxy == !(502...504).contains(row.status))
    #expect(error.message.hasPrefix("the proxy \(kind.rawValue)://127.0.0.1:\(proxy.port)"), "\(error)")
    #expect(outcome.heads.isEmpty && outcome.finishes == 1)
    let report = try #require(outcome.report)
    #expect(report.phases[.connect] != nil && report.phases[.tls] == nil)
    #expect(rig.counts.value.opened == 0)
    await rig.close()
  }

  @Test(arguments: failing) func anHTTPProxyThatFails(row: Failing) async throws {
    try await Self.check(row, .http)
  }

  @Test(arguments: failingSOCKS) func aSOCKSProxyThatFails(row: Failing) async throws {
    try await Self.check(row, .socks5h)
  }

  @Test(arguments: TransferProxy.Kind.allCases)
  func aProxyThatIsDown(kind: TransferProxy.Kind) async throws {
    let proxy = try ScriptedServer(Script(.close))
    proxy.stop()
    let rig = try await Self.rig(proxy, kind)
    for url in ["http://127.0.0.1:1/", "https://127.0.0.1:1/"] {
      let error = await rig.get(url).error
      #expect(error?.kind == .proxyUnreachable && error?.code == .couldNotConnect, "\(String(describing: error))")
    }
    await rig.close()
  }

  @Test func aProxyWithoutAnAddress() async throws {
    let rig = try await EngineRig { $0.proxy = .http(host: "does-not-exist.invalid", port: 1, credential: nil) }
    let error = await rig.get("https://127.0.0.1:1/").error
    #expect(error?.kind == .proxyUnreachable && error?.code == .couldNotResolveProxy)
    await rig.close()
  }

  // libcurl 8.14.1 keeps the words to itself.
  @Test(.enabled(if: isOwnEngine && CurlLibrary.versionNumber < 0x080000)) func theProxysWordsAreShownWithoutSecrets()
    async throws
  {
    let words = "Forbidden\u{7} s3cret " + String(repeating: "x", count: 300)
    let proxy = try ScriptedServer(Script(.head, .send("HTTP/1.1 403 \(words)\r\n\r\n"), .awaitClose))
    let rig = try await Self.rig(proxy, credential: TestProxyCredential("Basic s3cret"))
    let message = try #require(await rig.get("https://far.example/").error?.message)
    let told = "the proxy http://127.0.0.1:\(proxy.port) answered CONNECT with 403 Forbidden? <redacted> xxx"
    #expect(message.hasPrefix(told), "\(message)")
    #expect(message.count < told.count + 200)
    await rig.close()
  }

  // MARK: SOCKS

  /// RFC 1929, whether it is a credential or the answer to challenges.
  @Test(arguments: [true, false], [true, false])
  func aSOCKSProxyGetsUserAndPassword(isAnswer: Bool, isRight: Bool) async throws {
    let asked: [Script.Step] = [.bytes(3), .send([5, 2]), .bytes(11), .send([1, isRight ? 0 : 1])]
    let rest: [Script.Step] = [
      .bytes(18), .send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]), .head, .send(okResponse("in")), .awaitClose,
    ]
    let proxy = try ScriptedServer(Script(.steps(asked), .steps(isRight ? rest : [.awaitClose])))
    let known = TransferCredential(user: "me", password: "s3cret")
    let rig = try await Self.rig(
      proxy, .socks5h, credential: isAnswer ? nil : TestProxyCredential(nil, userAndPassword: known),
      answer: isAnswer ? known : nil)
    let outcome = await rig.get("http://far.example/")
    #expect(outcome.text == (isRight ? "in" : ""), "\(String(describing: outcome.error))")
    if !isRight { #expect(outcome.error?.kind == .proxyUnauthorized) }
    let sent = [1, 2] + Array("me".utf8) + [6] + Array("s3cret".utf8)
    #expect(proxy.receivedText().contains(String(decoding: sent, as: UTF8.self)))
    await rig.close()
  }
}
