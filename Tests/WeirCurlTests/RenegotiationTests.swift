import Glibc
import Testing
import WeirTestSupport
import WeirTransport

@testable import WeirCurl

/// A server on TLS 1.2 that asks for another handshake on a connection in use (RFC 5246 §7.4.1.1).
@Suite(.enabled(if: TLSUpstream.isInstalled && isOwnEngine), .timeLimit(.minutes(5)))
struct RenegotiationTests {
  /// Asks for a handshake behind each head, then reads nothing until there is another connection, if the path says so. Python has no
  /// function for it, so OpenSSL's are called on the object within its socket.
  private static let script = """
    import ctypes, re, socket, ssl, sys, threading
    library = ctypes.CDLL("libssl.so.3")
    library.SSL_do_handshake.argtypes = [ctypes.c_void_p]
    library.SSL_renegotiate.argtypes = [ctypes.c_void_p]
    library.SSL_get_peer_finished.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    def finished(connection):
        text = ctypes.create_string_buffer(64)
        library.SSL_get_peer_finished(connection, text, 64)
        return text.raw
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.options &= ~ssl.OP_NO_RENEGOTIATION
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    def serve(c):
        try:
            tls = context.wrap_socket(c, server_side=True)
            connection = ctypes.c_void_p.from_address(id(tls._sslobj) + 24).value
            first = finished(connection)
            while True:
                data = b""
                while b"\\r\\n\\r\\n" not in data:
                    piece = tls.recv(65536)
                    if not piece: return
                    data += piece
                head, _, body = data.partition(b"\\r\\n\\r\\n")
                waits = head.split()[1] == b"/wait"
                length = int((re.search(rb"Content-Length: (\\d+)", head) or [0, 0])[1])
                library.SSL_renegotiate(connection)
                asked = library.SSL_do_handshake(connection)
                if waits: another.wait(30)
                received = len(body)
                while received < length:
                    piece = tls.recv(65536)
                    if not piece: return
                    received += len(piece)
                again = finished(connection) != first
                text = b"asked %d, again %d, got %d" % (asked, again, received)
                tls.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(text), text))
        except OSError: pass
        finally: c.close()
    listener, another, count = socket.create_server(("127.0.0.1", int(sys.argv[3]))), threading.Event(), 0
    while True:
        c = listener.accept()[0]
        # The test itself connects once before, to see that there is a listener.
        count += 1
        if count > 2: another.set()
        threading.Thread(target=serve, args=(c,), daemon=True).start()
    """

  @Test func responsesComeBehindHandshakes() async throws {
    let (rig, url, kept) = try await EngineRig.before(tlsServer: Self.script)
    // The handshake that the first response asks for comes in front of the second request.
    for again in [0, 1, 1] { #expect(await rig.get(url).text == "asked 1, again \(again), got 0") }
    #expect(rig.counts.value.opened == 1)
    await rig.close()
    withExtendedLifetime(kept) {}
  }

  /// While the server reads nothing, the upload waits for its part of the handshake, and the loop must not spin.
  @Test func anUploadWaitsForTheHandshake() async throws {
    let (rig, url, kept) = try await EngineRig.before(tlsServer: Self.script)
    let length = 8 << 20
    async let outcome = rig.transfer(
      TransferSpec(url: "\(url)wait", method: "POST", body: .bytes([UInt8](repeating: 97, count: length))))
    #expect(await eventually { rig.counts.value.opened == 1 })
    try await eventually("the loop is at rest") {
      let before = await rig.cpu
      try await letPass(0.5)
      return await rig.cpu - before < 0.05
    }
    try await kept.0.waitForPort(try #require(Int(url.split(separator: ":").last?.dropLast() ?? "")))
    #expect(await outcome.text == "asked 1, again 1, got \(length)")
    await rig.close()
    withExtendedLifetime(kept) {}
  }
}
