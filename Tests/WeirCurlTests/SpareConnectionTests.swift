import Testing
import WeirCurl
import WeirHTTP1
import WeirIO
import WeirTestSupport
import WeirTransport

/// Connections that are still being opened when the request for which they were begun has been served by another one.
///
/// The server plays a proxy, so that a test decides when a connection stands.
@Suite(.slow, .enabled(if: isOwnEngine), .timeLimit(.minutes(5)))
struct SpareConnectionTests {
  private static let url = "http://127.0.0.1:1/"

  /// A rig whose first connection has answered two requests, the second of which began to open another connection. The
  /// server goes on with `second` there, and with `third` on the one after that; a request for `/slow` is answered once
  /// `slow` is open.
  private static func rig(
    slow: Gate = Gate(), second: Script.Step..., third: Script.Step...
  ) async throws -> (EngineRig, ScriptedServer) {
    let (begun, dialled) = (Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .socks5, .head, .call { begun.open() }, .wait(dialled), .send(okResponse("first")),
        .forever([.dispatch { ($0.contains("slow") ? [.wait(slow)] : []) + [.send(okResponse("first"))] }])),
      Script(.call { dialled.open() }, .steps(second)), Script(.steps(third)))
    let port = server.port
    let rig = try await EngineRig { $0.proxy = .socks5(host: "127.0.0.1", port: port, credential: nil) }
    let first = await rig.start(TransferSpec(url: url))
    begun.wait()
    let waiting = await rig.start(TransferSpec(url: url))
    #expect(await first.outcome.text == "first")
    #expect(await waiting.outcome.text == "first")
    return (rig, server)
  }

  /// However many requests come, no more connections are opened than requests have waited at once.
  @Test func theNextRequestWaitsForIt() async throws {
    let (rig, server) = try await Self.rig(
      second: .awaitClose, third: .call { Issue.record("a third connection") }, .awaitClose)
    for _ in 0..<20 {
      let pair = [await rig.start(TransferSpec(url: Self.url)), await rig.start(TransferSpec(url: Self.url))]
      for running in pair { #expect(await running.outcome.text == "first") }
    }
    #expect(server.connectionCount == 2)
    #expect(rig.counts.value.opened == 1)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test func itsTimeCountsAsFarAsTheRequestHasWaited() async throws {
    let (ended, second) = (Gate(), Gate())
    let (rig, server) = try await Self.rig(
      slow: ended, second: .wait(second), .socks5, .forever([.head, .send(okResponse("second"))]),
      third: .call { Issue.record("a third connection") }, .awaitClose)
    // The age of the connection, which is not its request's time.
    try await letPass(0.4)
    let began = MonotonicTime.now
    let slow = await rig.start(TransferSpec(url: Self.url + "slow"))
    let waiting = await rig.start(TransferSpec(url: Self.url))
    second.open()
    let outcome = await waiting.outcome
    #expect(outcome.text == "second")
    let report = try #require(outcome.report)
    #expect(!report.isReusedConnection && report.connectionsOpened == 1)
    let tunnel = try #require(report.phases[.tunnel])
    #expect(tunnel <= MonotonicTime.now.seconds(since: began) && tunnel <= report.total, "\(report)")
    ended.open()
    #expect(await slow.outcome.text == "first")
    #expect(server.connectionCount == 2)
    await rig.close()
  }

  /// A request with less patience than the one for which it was begun would wait too long for its failure.
  @Test func oneWithLessPatienceOpensItsOwn() async throws {
    let ended = Gate()
    let (rig, server) = try await Self.rig(slow: ended, second: .awaitClose, third: .awaitClose)
    let slow = await rig.start(TransferSpec(url: Self.url + "slow"))
    let outcome = await rig.start(TransferSpec(url: Self.url, silenceTimeout: 0.1)).outcome
    #expect(outcome.error?.kind == .proxyTimeout, "\(outcome)")
    ended.open()
    #expect(await slow.outcome.text == "first")
    #expect(server.connectionCount == 3)
    await rig.close()
  }

  /// The same with less time for a connection.
  @Test func oneWithAShorterConnectTimeoutOpensItsOwn() async throws {
    let ended = Gate()
    let (rig, server) = try await Self.rig(slow: ended, second: .awaitClose, third: .awaitClose)
    let slow = await rig.start(TransferSpec(url: Self.url + "slow"))
    var spec = TransferSpec(url: Self.url)
    spec.rules = TransferRules(connectTimeout: 0.1)
    let outcome = await rig.start(spec).outcome
    #expect(outcome.error?.code == .timedOut, "\(outcome)")
    ended.open()
    #expect(await slow.outcome.text == "first")
    #expect(server.connectionCount == 3)
    await rig.close()
  }

  /// A connection that has reached its age as its request ends is closed, though another request waits for one.
  @Test func oneThatWaitsTakesNoOldConnection() async throws {
    let (begun, dialled, ended) = (Gate(), Gate(), Gate())
    let server = try ScriptedServer(
      Script(
        .socks5, .head, .call { begun.open() }, .wait(dialled), .sleep(0.4), .send(okResponse("first")), .awaitClose),
      Script(.call { dialled.open() }, .wait(ended), .socks5, .forever([.head, .send(okResponse("second"))])))
    let port = server.port
    let rig = try await EngineRig { $0.proxy = .socks5(host: "127.0.0.1", port: port, credential: nil) }
    var spec = TransferSpec(url: Self.url)
    spec.rules = TransferRules(maximumAge: 0.3)
    let first = await rig.start(spec)
    begun.wait()
    let waiting = await rig.start(spec)
    #expect(await first.outcome.text == "first")
    ended.open()
    #expect(await waiting.outcome.text == "second")
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// A connection on TLS that has carried nothing is one of libcurl's idle ones, as far as libcurl knows, until weir has
  /// called it: libcurl closes those that are old as it opens another.
  @Test(.enabled(if: TLSUpstream.isInstalled), arguments: ["1.2", "1.3"])
  func onTLSItOutlivesThoseOfLibcurls(version: String) async throws {
    let upstream = try await TLSUpstream(version, holdsConnections: true)
    let other = try ScriptedServer(.answering(okResponse("other")))
    let authority = upstream.certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = .http1_1
      $0.tls.roots = .file(authority)
      $0.idleConnectionLifetime = 1
    }
    func start(_ text: String, after waits: [String] = []) async -> Running {
      var spec = TransferSpec(url: upstream.url("keep", waits + [okResponse(text)]))
      spec.rules = TransferRules(idleTimeout: 30)
      return await rig.start(spec)
    }
    let first = await start("first", after: Array(repeating: "~", count: 10))
    #expect(await eventually { rig.counts.value.opened == 1 })
    let waiting = await start("waiting")
    #expect(await first.outcome.text == "first")
    #expect(await waiting.outcome.text == "waiting")
    #expect(await eventually { await rig.onEngine { $0.own?.idleConnections } == 2 })
    // Twice the time of libcurl's, and a half.
    try await letPass(2.5)
    #expect(await rig.get(other.url).text == "other")
    let pair = [await start("one", after: ["=4"]), await start("two", after: ["=4"])]
    #expect(await pair[0].outcome.text == "one")
    #expect(await pair[1].outcome.text == "two")
    #expect(rig.counts.value.opened == 3)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// A request that is sent again must not meet another dead connection: it takes none that becomes idle, though it had
  /// waited for one.
  @Test func oneThatIsSentAgainTakesItsOwn() async throws {
    let (ahead, refused, fresh) = (Gate(), Gate(), Gate())
    let server = try ScriptedServer(
      Script(.socks5, .head, .wait(refused), .forever([.send(okResponse("first")), .head])),
      Script(.wait(ahead), .awaitClose),
      Script(.socks5, .head, .send("HTTP/1.1 417 x\r\nContent-Length: 0\r\n\r\n"), .awaitClose),
      Script(.call { refused.open() }, .wait(fresh), .socks5, .request, .send(okResponse("fresh")), .awaitClose))
    let port = server.port
    let rig = try await EngineRig { $0.proxy = .socks5(host: "127.0.0.1", port: port, credential: nil) }
    let first = await rig.start(TransferSpec(url: Self.url))
    #expect(await eventually { !server.received().isEmpty })
    let inFront = await rig.start(TransferSpec(url: Self.url))
    #expect(await eventually { server.connectionCount == 2 })
    let again = await rig.start(
      TransferSpec(url: Self.url, method: "POST", body: .bytes(Array("body".utf8))), headers: ["Expect: 100-continue"])
    #expect(await first.outcome.text == "first")
    #expect(await inFront.outcome.text == "first")
    fresh.open()
    #expect(await again.outcome.text == "fresh")
    await rig.close()
    ahead.open()
  }

  /// It fails: the request that has come to wait for it opens a connection of its own.
  @Test func itsFailureIsNotTheFailureOfTheNextRequest() async throws {
    let (ended, second) = (Gate(), Gate())
    let (rig, server) = try await Self.rig(
      slow: ended, second: .wait(second), .reset, third: .socks5, .forever([.head, .send(okResponse("third"))]))
    let slow = await rig.start(TransferSpec(url: Self.url + "slow"))
    let waiting = await rig.start(TransferSpec(url: Self.url))
    second.open()
    let outcome = await waiting.outcome
    #expect(outcome.text == "third", "\(outcome)")
    ended.open()
    #expect(await slow.outcome.text == "first")
    #expect(server.connectionCount == 3)
    await rig.close()
    #expect(rig.counts.open == 0)
  }
}
