import Testing
import WeirTestSupport
import WeirTransport

@testable import WeirCurl

/// A server on TLS that sends a part of a record, and the rest when the next request is there.
@Suite(.slow, .enabled(if: TLSUpstream.isInstalled), .timeLimit(.minutes(5)))
struct HalfRecordTests {
  /// The first connection answers a request, and begins a second response that nobody asked for.
  private static let script = """
    import socket, ssl, sys, threading, time
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    def response(text): return b"HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\n" + text
    def serve(c, begins_another):
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(received, sent, server_side=True)
        def do(step):
            while True:
                try: return step()
                except ssl.SSLWantReadError:
                    c.sendall(sent.read())
                    data = c.recv(65536)
                    if not data: raise OSError
                    received.write(data)
        def take():
            head = b""
            while b"\\r\\n\\r\\n" not in head: head += do(lambda: tls.read(65536))
        try:
            do(tls.do_handshake)
            if begins_another:
                take()
                tls.write(response(b"fine"))
                c.sendall(sent.read())
                tls.write(response(b"evil"))
                record = sent.read()
                time.sleep(0.05)
                c.sendall(record[:piece])
                take()
                c.sendall(record[piece:])
            while True:
                take()
                tls.write(response(b"fine"))
                record = sent.read()
                c.sendall(record[:cut])
                time.sleep(0.03 if cut else 0)
                c.sendall(record[cut:])
        except OSError: pass
        finally: c.close()
    listener, cut, piece = socket.create_server(("127.0.0.1", int(sys.argv[3]))), int(sys.argv[4]), int(sys.argv[5])
    count = 0
    while True:
        c = listener.accept()[0]
        # The test itself connects once, to see that there is a listener.
        count += 1
        threading.Thread(target=serve, args=(c, count == 2 and not cut), daemon=True).start()
    """

  /// - Parameters:
  ///   - cut: The octets of each response's record that come before a pause; 0: all at once, and an unasked response once.
  ///   - piece: The octets of the unasked one that come at once.
  private static func serve(
    cut: Int = 0, piece: Int = 0, _ body: (_ url: String, EngineRig) async throws -> Void
  ) async throws {
    let certificates = try await TestCertificates()
    let port = LoopbackPort.free()
    let pair = certificates.server
    let arguments = [script, pair.certificate, pair.key, "\(port)", "\(cut)", "\(piece)"]
    let peer = try Peer(Tool(named: "python3"), ["-c"] + arguments)
    try await peer.waitForPort(port)
    let authority = certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = .http1_1
      $0.tls.roots = .file(authority)
    }
    try await body("https://127.0.0.1:\(port)/", rig)
    await rig.close()
  }

  /// Within the record's header, all of the header, and a part of the content.
  @Test(arguments: [1, 5, 40]) func aPartOfARecordIsNotTheNextResponse(piece: Int) async throws {
    try await Self.serve(piece: piece) { url, rig in
      #expect(await rig.get(url).text == "fine")
      #expect(await eventually { rig.counts.open == 0 }, "the part of a record ends the connection")
      #expect(await rig.get(url).text == "fine")
      #expect(rig.counts.value.opened == 2)
    }
  }

  @Test(arguments: [1, 4, 5, 6, 40]) func aRecordMayComeInTwoPieces(cut: Int) async throws {
    try await Self.serve(cut: cut) { url, rig in
      for _ in 0..<3 { #expect(await rig.get(url).text == "fine") }
      #expect(rig.counts.value.opened == 1)
    }
  }
}
