import Testing
import WeirCurl
import WeirTestSupport

/// Proxies to which connections are made by TLS.
@Suite(.slow, .timeLimit(.minutes(5)), .enabled(if: TLSUpstream.isInstalled)) struct SecureProxyTests {
  /// A proxy with the certificate of the upstream. It makes tunnels to loopback ports, and answers other requests itself.
  private static let script = """
    import select, socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    def relay(c, server):
        ends = {c: server, server: c}
        while c in ends or server in ends:
            ready = [c] if c in ends and c.pending() else select.select(list(ends), [], [])[0]
            for side in ready:
                got = side.recv(65536)
                if got: (server if side is c else c).sendall(got)
                elif side is server: return
                else:
                    del ends[c]
                    server.shutdown(socket.SHUT_WR)
    def serve(plain):
        try:
            c = context.wrap_socket(plain, server_side=True)
            data = b""
            while True:
                while b"\\r\\n\\r\\n" not in data:
                    got = c.recv(65536)
                    if not got: return
                    data += got
                head, _, data = data.partition(b"\\r\\n\\r\\n")
                method, target, _ = head.split(b"\\r\\n")[0].split(b" ")
                if method == b"CONNECT":
                    server = socket.create_connection(("127.0.0.1", int(target.rpartition(b":")[2])))
                    c.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
                    relay(c, server)
                    return c.unwrap()
                c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(target) + target)
        except OSError: pass
    listener = socket.create_server(("127.0.0.1", int(sys.argv[3])))
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """

  private struct SecureProxy {
    let port = LoopbackPort.free()
    private let peer: Peer

    init(_ certificates: TestCertificates) async throws {
      let pair = certificates.server
      peer = try Peer(Tool(named: "python3"), ["-c", SecureProxyTests.script, pair.certificate, pair.key, "\(port)"])
      try await peer.waitForPort(port)
    }

    /// - Parameter roots: Those for the proxy and for servers.
    func rig(roots: (proxy: String, server: String)) async throws -> EngineRig {
      var tls = TLSOptions()
      tls.roots = .file(roots.proxy)
      let proxy = TransferProxy(.https, host: "127.0.0.1", port: port, trust: TransferTrust(tls))
      return try await EngineRig {
        $0.proxy = .proxy(proxy)
        $0.httpVersion = .http1_1
        $0.tls.roots = .file(roots.server)
      }
    }
  }

  @Test func requestsAreTakenByTLS() async throws {
    let certificates = try await TestCertificates()
    let proxy = try await SecureProxy(certificates)
    let (own, other) = (certificates.authority.certificate, certificates.otherAuthority.certificate)
    let rig = try await proxy.rig(roots: (proxy: own, server: other))
    for (index, url) in ["http://a.example/1", "http://b.example/2"].enumerated() {
      let outcome = await rig.get(url)
      #expect(outcome.text == url, "\(String(describing: outcome.error))")
      let report = try #require(outcome.report)
      #expect(report.isReusedConnection == (index > 0))
      #expect((report.phases[.tls] != nil) == (index == 0) && report.phases[.tunnel] == nil)
    }
    await rig.close()
    #expect(rig.counts.value.opened == 1 && rig.counts.open == 0)
  }

  @Test func tunnelsAreMadeByTLS() async throws {
    let upstream = try await TLSUpstream()
    let proxy = try await SecureProxy(upstream.certificates)
    let roots = upstream.certificates.authority.certificate
    let rig = try await proxy.rig(roots: (proxy: roots, server: roots))
    for round in 0..<2 {
      let body = String(repeating: "x", count: 300_000)
      let outcome = await rig.get(upstream.url("keep", okResponse(body)))
      #expect(outcome.text == body, "\(String(describing: outcome.error))")
      let report = try #require(outcome.report)
      #expect(report.isReusedConnection == (round > 0))
      for phase in [Phase.connect, .tunnel, .tls] { #expect((report.phases[phase] != nil) == (round == 0)) }
    }
    await rig.close()
    #expect(rig.counts.value.opened == 1 && rig.counts.open == 0)
  }

  @Test(.enabled(if: isOwnEngine)) func plainTunnelsAreMadeByTLS() async throws {
    let server = try ScriptedServer(Script(.send("first "), .bytes(5), .send("last"), .awaitEnd))
    let certificates = try await TestCertificates()
    let proxy = try await SecureProxy(certificates)
    let roots = certificates.authority.certificate
    let rig = try await proxy.rig(roots: (proxy: roots, server: roots))
    var spec = TransferSpec(url: server.url)
    spec.opensTunnel = true
    let outcome = await rig.transfer(spec) { $0.source = Array("hello".utf8) }
    #expect(outcome.error == nil && outcome.text == "first last", "\(String(describing: outcome.error))")
    #expect(server.receivedText() == "hello")
    await rig.close()
    #expect(rig.counts.open == 0)
  }

  @Test func theProxyHasToProveItself() async throws {
    let upstream = try await TLSUpstream()
    let proxy = try await SecureProxy(upstream.certificates)
    let (own, other) = (
      upstream.certificates.authority.certificate, upstream.certificates.otherAuthority.certificate
    )
    let untrusted = try await proxy.rig(roots: (proxy: other, server: own))
    for url in ["http://a.example/", upstream.url("keep", okResponse("x"))] {
      let error = try #require(await untrusted.get(url).error)
      #expect(error.kind == .proxyTLS && error.certificateDefect == .unknownRoot, "\(error)")
      #expect(error.isOfProxy)
    }
    await untrusted.close()
    // A server that is not trusted is not the proxy's fault.
    let rig = try await proxy.rig(roots: (proxy: own, server: other))
    let error = try #require(await rig.get(upstream.url("keep", okResponse("x"))).error)
    // libcurl 7.88.1 says of TLS within TLS only that the handshake has failed.
    #expect(
      error.kind == .curl && [.peerFailedVerification, .tlsConnect].contains(error.code) && !error.isOfProxy, "\(error)"
    )
    if error.code == .peerFailedVerification { #expect(error.certificateDefect == .unknownRoot) }
    await rig.close()
  }

  @Test func aPlainProxySpeaksNoTLS() async throws {
    let proxy = try ScriptedServer(Script(.bytes(1), .send("garbage\r\n"), .awaitClose))
    let way = TransferProxy(.https, host: "127.0.0.1", port: proxy.port)
    let rig = try await EngineRig { $0.proxy = .proxy(way) }
    for url in ["http://a.example/", "https://a.example/"] {
      let error = try #require(await rig.get(url).error)
      #expect(error.kind == .proxyTLS && error.isOfProxy, "\(error)")
    }
    await rig.close()
  }
}
