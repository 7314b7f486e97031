import Testing
import WeirCurl
import WeirHTTP
import WeirIO
import WeirTestSupport

/// Requests whose server switches to another protocol.
@Suite(.timeLimit(.minutes(5)), .enabled(if: isOwnEngine)) struct TunnelTests {
  private static func switching(_ fields: String = "Upgrade: ECHO", then text: String = "") -> String {
    "HTTP/1.1 101 Switching\r\n\(fields)\r\nConnection: upgrade\r\n\r\n\(text)"
  }

  private static func spec(_ url: String) -> TransferSpec {
    var spec = TransferSpec(url: url)
    spec.upgrade = "echo, other/2"
    return spec
  }

  /// Sends `text`, and ends our side.
  private static func sending(_ text: String) -> @Sendable (Recorder) -> Void {
    { $0.source = Array(text.utf8) }
  }

  @Test func bytesPassBothWays() async throws {
    let server = try ScriptedServer(
      Script(.head, .send(Self.switching(then: "first ")), .bytes(5), .send("second "), .awaitEnd, .send("last")))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(server.url), headers: ["A: 1"], Self.sending("hello"))
    #expect(outcome.error == nil)
    #expect(outcome.head?.status == 101)
    #expect(outcome.text == "first second last")
    #expect(
      server.receivedText()
        == "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nConnection: upgrade\r\nUpgrade: echo, other/2\r\n"
        + "A: 1\r\n\r\nhello")
    #expect(outcome.peerEnds == 0)
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test func theServerMayEndItsSideFirst() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching(then: "all")), .halfClose, .awaitEnd))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(server.url)) { recorder in
      recorder.source = Array("late".utf8)
      recorder.onProvide = { [unowned recorder] _, buffer in
        guard recorder.outcome.peerEnds > 0 else { return .pause }
        let count = recorder.source.copyBytes(from: recorder.position, to: buffer)
        recorder.position += count
        return count > 0 ? .bytes(count) : .end
      }
      recorder.onPeerEnd = { transfer in
        transfer.resumeReceiving()
        transfer.resumeSending()
      }
    }
    #expect(outcome.error == nil)
    #expect(outcome.text == "all")
    #expect(outcome.peerEnds == 1)
    #expect(await eventually { server.receivedText().hasSuffix("\r\n\r\nlate") })
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  /// The user learns that nobody takes more, once it sends more.
  @Test func aServerThatIsGoneEndsTheTunnel() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching())))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(server.url)) { recorder in
      recorder.onProvide = { [unowned recorder] transfer, buffer in
        guard recorder.outcome.peerEnds > 0 else { return .pause }
        buffer.copyBytes(from: Array("more".utf8))
        return .bytes(4)
      }
      recorder.onPeerEnd = { $0.resumeSending() }
    }
    #expect(outcome.error == nil)
    #expect(outcome.peerEnds == 1)
  }

  @Test func aServerThatResetsFailsTheTunnel() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching()), .bytes(2), .reset))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(server.url)) { recorder in
      recorder.onProvide = { [unowned recorder] _, buffer in
        defer { recorder.position = 2 }
        if recorder.position > 0 { return .pause }
        buffer.copyBytes(from: Array("hi".utf8))
        return .bytes(2)
      }
    }
    #expect(outcome.head?.status == 101)
    #expect(outcome.error != nil)
  }

  @Test(arguments: ["Upgrade: h2c", "Upgrade: echo, h2c", "Upgrade: other", "Upgrade:", "A: 1"])
  func aProtocolThatWasNotAskedForIsRefused(fields: String) async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching(fields, then: "x")), .awaitClose))
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(server.url), Self.sending("hello"))
    #expect(outcome.error?.kind == .malformedHead)
    #expect(outcome.heads.isEmpty)
    #expect(outcome.body.isEmpty)
    #expect(!server.receivedText().contains("hello"))
  }

  @Test func aSwitchThatWasNotAskedForIsRefused() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching()), .awaitClose))
    let rig = try await EngineRig()
    #expect(await rig.get(server.url).error?.kind == .malformedHead)
  }

  @Test func anotherResponseIsAResponse() async throws {
    let server = try ScriptedServer(
      .answering("HTTP/1.1 426 No\r\nUpgrade: echo\r\nContent-Length: 4\r\n\r\nbody"))
    let rig = try await EngineRig()
    for isReused in [false, true] {
      let outcome = await rig.transfer(Self.spec(server.url), Self.sending("hello"))
      #expect(outcome.head?.status == 426)
      #expect(outcome.text == "body")
      #expect(outcome.report?.isReusedConnection == isReused)
    }
    #expect(!server.receivedText().contains("hello"))
  }

  @Test func silenceDoesNotEndATunnel() async throws {
    let server = try ScriptedServer(Script(.head, .send(Self.switching()), .sleep(0.6), .send("late"), .awaitEnd))
    let rig = try await EngineRig()
    var spec = Self.spec(server.url)
    spec.silenceTimeout = 0.2
    let outcome = await rig.transfer(spec) { recorder in
      recorder.onProvide = { [unowned recorder] _, _ in recorder.outcome.body.isEmpty ? .pause : .end }
      recorder.onBody = { transfer, _ in
        transfer.resumeSending()
        return .proceed
      }
    }
    #expect(outcome.error == nil)
    #expect(outcome.text == "late")
  }

  @Test func libcurlsEngineAsksForNoSwitch() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    let rig = try await EngineRig { $0.http1Engine = .libcurl }
    #expect(await rig.transfer(Self.spec(server.url)).head?.status == 200)
    #expect(!server.receivedText().lowercased().contains("upgrade"))
  }

  /// Sends back what comes, and then says how the client's side has ended.
  private static let echo = """
    import socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2", "http/1.1"])
    def serve(plain):
        try:
            c = context.wrap_socket(plain, server_side=True, suppress_ragged_eofs=False)
            data = b""
            while b"\\r\\n\\r\\n" not in data: data += c.recv(65536)
            c.sendall(b"HTTP/1.1 101 Go\\r\\nUpgrade: echo\\r\\nConnection: upgrade\\r\\n\\r\\n")
            c.sendall(data.partition(b"\\r\\n\\r\\n")[2])
            try:
                while got := c.recv(65536): c.sendall(got)
                c.sendall(b" whole")
            except ssl.SSLEOFError: c.sendall(b" cut")
            c.unwrap()
        except OSError: pass
    listener = socket.create_server(("127.0.0.1", int(sys.argv[3])))
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """

  @Test(.enabled(if: TLSUpstream.isInstalled), arguments: [10, 3_000_000])
  func bytesAndEndsPassByTLS(count: Int) async throws {
    let (rig, url, kept) = try await EngineRig.before(tlsServer: Self.echo)
    var spec = Self.spec(url)
    // A tunnel needs HTTP/1.1, whatever the rules say.
    spec.rules = TransferRules(httpVersion: .http2)
    let text = String(repeating: "0123456789", count: count / 10)
    let outcome = await rig.transfer(spec, Self.sending(text))
    #expect(outcome.error == nil)
    #expect(outcome.body.count == count + 6)
    #expect(outcome.text == text + " whole")
    await rig.close()
    #expect(rig.counts.open == 0)
    withExtendedLifetime(kept) {}
  }

  /// All that came is handed on, whether or not the peer has said that it is all.
  @Test(.enabled(if: TLSUpstream.isInstalled), arguments: ["close", "cut"], ["1.2", "1.3"])
  func aStreamByTLSIsReadToItsEnd(end: String, version: String) async throws {
    let upstream = try await TLSUpstream(version)
    let rig = try await upstream.rig()
    let (count, isPaused) = (3_000_000, Gate())
    let tunnel = await rig.start(Self.spec(upstream.url(end, Self.switching(), "#\(count)"))) { recorder in
      recorder.onHead = { _, _ in
        isPaused.open()
        return .pause
      }
      recorder.onProvide = { [unowned recorder] _, _ in recorder.outcome.peerEnds > 0 ? .end : .pause }
      recorder.onPeerEnd = { $0.resumeSending() }
    }
    isPaused.wait()
    // Another request takes some time, in which the first one's bytes come.
    #expect(await rig.get(upstream.url("keep", "~", okResponse("other"))).text == "other")
    await tunnel.onTransfer { transfer, _ in transfer.resumeReceiving() }
    let outcome = await tunnel.outcome
    #expect(outcome.error?.code == (end == "cut" ? .partialFile : nil))
    #expect(outcome.body.count == count)
    #expect(outcome.peerEnds == (end == "cut" ? 0 : 1))
    await rig.close()
    #expect(rig.counts.open == 0)
  }
}
