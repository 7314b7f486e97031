import WeirCurl
import WeirTestSupport

private let python = Tool(named: "python3")

/// A server on TLS whose requests say in their path how they are answered.
final class TLSUpstream: Sendable {
  static var isInstalled: Bool { python.isInstalled && Tool.openssl.isInstalled }

  /// The path is the connection's end, `/`, and the records of the response, separated by `|`. Up to a wait, they leave
  /// in one segment. A record of `~` is a wait of 0.1 s, one of `^` of 1 ms, one of `=` for a second connection, one of
  /// `=` and a number for so many requests. `@` stands for `1` if the handshake took up an earlier session, else for
  /// `0`, `#` and a number for so many `x`, and `+` and a number for so many records of one `x`.
  ///
  /// The connection goes on (`keep`), is closed with close_notify (`close`), cut without it (`cut`) or reset (`reset`).
  /// Behind `die-` the end comes in place of the response, but only on a connection that has served a request; before,
  /// the connection goes on.
  ///
  /// If connections are held, the handshake of all but the first begins once a response to the first has left.
  private static let script = """
    import socket, ssl, struct, sys, threading, time, urllib.parse
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    if sys.argv[4] == "1.2": context.maximum_version = ssl.TLSVersion.TLSv1_2
    second, answered, asked, requests = threading.Event(), threading.Event(), threading.Condition(), 0
    def cork(c, isOn): c.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, isOn)
    def answer(c, what):
        cork(c, 1)
        for part in urllib.parse.unquote(what).split("|"):
            if part in ("~", "^"):
                cork(c, 0)
                time.sleep(0.1 if part == "~" else 0.001)
                cork(c, 1)
            elif part.startswith("+"):
                for _ in range(int(part[1:])): c.sendall(b"x")
            elif part == "=": second.wait(10)
            elif part.startswith("="):
                with asked: asked.wait_for(lambda: requests >= int(part[1:]), 10)
            else:
                part, _, filler = part.partition("#")
                c.sendall(part.replace("@", str(int(c.session_reused))).encode() + b"x" * int(filler or 0))
        cork(c, 0)
        answered.set()
    def end(c, how):
        if how == "reset": c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how == "close": c.unwrap()
        c.close()
    def serve(plain, isHeld):
        global requests
        try:
            if isHeld: answered.wait(10)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            c = context.wrap_socket(plain, server_side=True)
            data, served = b"", 0
            while True:
                while b"\\r\\n\\r\\n" not in data:
                    got = c.recv(65536)
                    if not got: return
                    data += got
                head, _, data = data.partition(b"\\r\\n\\r\\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\\r")[0] or 0)
                while len(data) < length: data += c.recv(65536)
                data = data[length:]
                with asked:
                    requests += 1
                    asked.notify_all()
                _, how, what = head.split(b" ")[1].decode().split("/", 2)
                if how.startswith("die-"):
                    if served: return end(c, how[4:])
                    how = "keep"
                answer(c, what)
                served += 1
                if how != "keep": return end(c, how)
        except OSError: pass
    listener = socket.create_server(("127.0.0.1", int(sys.argv[3])))
    count = 0
    while True:
        plain = listener.accept()[0]
        # The test itself connects once, to see that there is a listener.
        count += 1
        if count > 2: second.set()
        threading.Thread(target=serve, args=(plain, sys.argv[5] == "held" and count > 2), daemon=True).start()
    """

  let certificates: TestCertificates
  let port = LoopbackPort.free()
  private let peer: Peer

  init(_ version: String = "1.3", holdsConnections: Bool = false) async throws {
    certificates = try await TestCertificates()
    let pair = certificates.server
    peer = try Peer(
      python,
      ["-c", Self.script, pair.certificate, pair.key, "\(port)", version, holdsConnections ? "held" : "free"])
    try await peer.waitForPort(port)
  }

  func rig() async throws -> EngineRig {
    let authority = certificates.authority.certificate
    // With `.automatic` a newer libcurl would begin, and ask for HTTP/2 first.
    return try await EngineRig {
      $0.httpVersion = .http1_1
      $0.tls.roots = .file(authority)
    }
  }

  func url(_ end: String, _ records: String...) -> String { url(end, records) }

  func url(_ end: String, _ records: [String]) -> String {
    let hex = Array("0123456789ABCDEF")
    let what = records.joined(separator: "|").utf8.map { "%\(hex[Int($0 >> 4)])\(hex[Int($0 & 15)])" }.joined()
    return "https://127.0.0.1:\(port)/\(end)/\(what)"
  }
}
