import Synchronization
import Testing
import WeirHTTP
import WeirIO
import WeirTestSupport

@testable import WeirCurl

/// Who waits for a connection that is being made in the hope that it can be shared, and who must not.
@Suite(.slow, .timeLimit(.minutes(5)))
struct MultiplexingTests {
  /// Every choice that may lead to HTTP/2 somewhere.
  static let choices: [HTTPVersionChoice] = [.automatic, .http1_1, .http2]

  /// A proxy whose connections take until the gate opens, so that making one takes as long; then it answers once and
  /// closes.
  private static func slowProxy(_ gate: Gate, _ response: String) throws -> ScriptedServer {
    try ScriptedServer(
      Script(
        .bytes(3), .send([5, 0]), .bytes(5), .wait(gate), .send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]), .head,
        .send(response)))
  }

  @Test("On http no transfer waits for another's connection", arguments: choices)
  func plainConnectionsAreMadeAtOnce(version: HTTPVersionChoice) async throws {
    let gate = Gate()
    let proxy = try Self.slowProxy(gate, okResponse("fine", "Connection: close\r\n"))
    let port = proxy.port
    let rig = try await EngineRig { options in
      options.httpVersion = version
      options.proxy = .socks5(host: "127.0.0.1", port: port, credential: nil)
    }
    var running: [Running] = []
    for _ in 0..<12 { running.append(await rig.start(TransferSpec(url: "http://origin.example/"))) }
    let allConnect = await eventually { proxy.connectionCount == 12 }
    gate.open()
    #expect(allConnect)
    for transfer in running { #expect(await transfer.outcome.text == "fine") }
    await rig.close()
  }

  @Test("Nor on https, as long as nobody knows that the origin speaks HTTP/2", arguments: choices)
  func handshakesAreMadeAtOnce(version: HTTPVersionChoice) async throws {
    let hole = try BlackHole()
    let rig = try await EngineRig { $0.httpVersion = version }
    var running: [Running] = []
    for _ in 0..<12 {
      running.append(await rig.start(TransferSpec(url: "https://127.0.0.1:\(hole.port)/")))
    }
    #expect(await eventually { hole.connectionCount == 12 })
    await rig.close()
    for transfer in running { #expect(await transfer.outcome.error?.kind == .engineClosed) }
  }

  private static func get(_ url: String, times: Int, _ rig: EngineRig) async -> [Outcome] {
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<times { group.addTask { await rig.get(url) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test("With prior knowledge requests in parallel succeed")
  func priorKnowledge() async throws {
    let nginx = try await NginxServer(NginxServer.Site("h2c", listen: "http2", "location / { return 200 fine; }"))
    let rig = try await EngineRig { $0.httpVersion = .http2PriorKnowledge }
    for count in [1, 1, 24, 24, 1] {
      let outcomes = await Self.get(nginx.url(on: "h2c"), times: count, rig)
      #expect(outcomes.allSatisfy { $0.text == "fine" && $0.error == nil }, "\(outcomes.compactMap(\.error))")
      #expect(outcomes.allSatisfy { $0.report?.version == HTTPVersionNumber(major: 2, minor: 0) })
    }
    await rig.close()
  }

  @Test(
    "Once an origin has answered by HTTP/2 its requests share a connection", .enabled(if: CurlLibrary.hasReliableHTTP2))
  func sharing() async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      NginxServer.Site("tls", listen: "ssl http2", "\(certificates.server.directives) location / { return 200 fine; }"))
    let authority = certificates.authority.certificate
    let rig = try await EngineRig { $0.tls.roots = .file(authority) }
    let url = nginx.url(https: "tls")
    #expect(await rig.get(url).report?.version == HTTPVersionNumber(major: 2, minor: 0))
    let outcomes = await Self.get(url, times: 24, rig)
    #expect(outcomes.allSatisfy { $0.text == "fine" })
    #expect(rig.counts.value.opened == 1)
    // A worker that ends closes the connection; while a new one is made, the others wait for it.
    try nginx.killWorker()
    #expect(await eventually { rig.counts.open == 0 })
    let again = await Self.get(url, times: 24, rig)
    #expect(again.allSatisfy { $0.text == "fine" }, "\(again.compactMap(\.error))")
    #expect(rig.counts.value.opened == 2)
    await rig.close()
  }

  /// A server that is upgraded, or one of several behind an address: what earlier connections spoke binds no later one.
  ///
  /// With `.automatic`, and where libcurl's HTTP/2 is reliable, our own engine asks for HTTP/1.1 for ten minutes after an
  /// answer in it.
  @Test(
    "An origin may speak another version on each connection",
    arguments: isOwnEngine && CurlLibrary.hasReliableHTTP2 ? [HTTPVersionChoice.http2] : [.automatic, .http2])
  func changeOfVersion(choice: HTTPVersionChoice) async throws {
    let certificates = try await TestCertificates()
    let authority = certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = choice
      $0.tls.roots = .file(authority)
    }
    let site = "\(certificates.server.directives) location / { return 200 fine; }"
    let port = LoopbackPort.free()
    for (round, listen) in ["ssl", "ssl http2", "ssl", "ssl http2"].enumerated() {
      let nginx = try await NginxServer(NginxServer.Site("tls", listen: listen, site, port: port))
      let isHTTP2 = listen != "ssl" && (choice == .http2 || CurlLibrary.hasReliableHTTP2)
      for reused in [false, true] {
        let outcome = await rig.get(nginx.url(https: "tls"))
        #expect(outcome.text == "fine" && outcome.error == nil, "\(round): \(outcome)")
        #expect(outcome.report?.version == (isHTTP2 ? .http2 : .http1_1), "\(round)")
        #expect(outcome.report?.isReusedConnection == reused, "\(round)")
      }
      try nginx.killWorker()
      #expect(await eventually { rig.counts.open == 0 })
    }
    await rig.close()
  }

  /// Bytes of one stream are no sign of life of another.
  @Test("Silence of a stream shows though its connection is busy", .enabled(if: CurlLibrary.hasReliableHTTP2))
  func silenceOfAStream() async throws {
    let hole = try BlackHole()
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      NginxServer.Site(
        "tls", listen: "ssl http2",
        """
        \(certificates.server.directives)
        location /quick { return 200 fine; }
        location /never { proxy_pass http://127.0.0.1:\(hole.port); }
        """))
    let authority = certificates.authority.certificate
    let rig = try await EngineRig { $0.tls.roots = .file(authority) }
    #expect(await rig.get(nginx.url(https: "tls", "/quick")).text == "fine")
    let silent = await rig.start(TransferSpec(url: nginx.url(https: "tls", "/never"), silenceTimeout: 0.5))
    while !silent.isFinished { #expect(await rig.get(nginx.url(https: "tls", "/quick")).text == "fine") }
    let outcome = await silent.outcome
    #expect(outcome.error?.kind == .silence)
    #expect(try #require(outcome.report).total < 5)
    #expect(rig.counts.value.opened == 1)
    await rig.close()
  }
}
