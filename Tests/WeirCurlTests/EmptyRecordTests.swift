import Testing
import WeirTestSupport
import WeirTransport

@testable import WeirCurl

/// A server on TLS 1.3 that sends records without content: KeyUpdate, which a peer may send as often as it likes.
@Suite(.enabled(if: TLSUpstream.isInstalled && isOwnEngine), .timeLimit(.minutes(5)))
struct EmptyRecordTests {
  /// Answers each request, and sends as many KeyUpdates as its path says: in front of the response, or behind it.
  /// Python has no function for them, so OpenSSL's are called on the object within its socket.
  private static let script = """
    import ctypes, re, socket, ssl, sys, threading, time
    library = ctypes.CDLL("libssl.so.3")
    library.SSL_do_handshake.argtypes = [ctypes.c_void_p]
    library.SSL_key_update.argtypes = [ctypes.c_void_p, ctypes.c_int]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    def update(tls, count):
        for _ in range(count):
            connection = ctypes.c_void_p.from_address(id(tls._sslobj) + 24).value
            library.SSL_key_update(connection, 0)
            library.SSL_do_handshake(connection)
    def serve(c):
        try:
            tls = context.wrap_socket(c, server_side=True)
            while True:
                head = b""
                while b"\\r\\n\\r\\n" not in head:
                    piece = tls.recv(65536)
                    if not piece: return
                    head += piece
                place, count = re.match(rb"GET /(\\w+)/(\\d+)", head).groups()
                if place == b"before": update(tls, int(count))
                tls.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nfine")
                if place == b"behind":
                    time.sleep(0.05)
                    update(tls, int(count))
        except OSError: pass
        finally: c.close()
    listener = socket.create_server(("127.0.0.1", int(sys.argv[3])))
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """

  @Test func aResponseComesBehindThem() async throws {
    let (rig, url, kept) = try await EngineRig.before(tlsServer: Self.script)
    for count in [0, 1, 20, 1] { #expect(await rig.get("\(url)before/\(count)").text == "fine") }
    #expect(rig.counts.value.opened == 1)
    await rig.close()
    withExtendedLifetime(kept) {}
  }

  @Test func anIdleConnectionStandsSome() async throws {
    let (rig, url, kept) = try await EngineRig.before(tlsServer: Self.script)
    for _ in 0..<3 {
      #expect(await rig.get("\(url)behind/10").text == "fine")
      // They come 50 ms after the response, and nothing tells when they have been read.
      try await letPass(0.15)
    }
    #expect(rig.counts.value.opened == 1)
    await rig.close()
    withExtendedLifetime(kept) {}
  }

  @Test func anIdleConnectionDoesNotStandMany() async throws {
    let (rig, url, kept) = try await EngineRig.before(tlsServer: Self.script)
    #expect(await rig.get("\(url)behind/500").text == "fine")
    #expect(await eventually { rig.counts.open == 0 })
    #expect(await rig.get("\(url)behind/0").text == "fine")
    await rig.close()
    withExtendedLifetime(kept) {}
  }
}
