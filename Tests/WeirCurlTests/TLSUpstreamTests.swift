import Testing
import WeirCurl
import WeirTestSupport

private let python = Tool(named: "python3")

/// What differs when the connection is encrypted.
@Suite(.timeLimit(.minutes(1)), .enabled(if: python.isInstalled && Tool.openssl.isInstalled))
struct TLSUpstreamTests {
  /// Sends what the path of the request says: records of their own, separated by `|`, with `~` for a while without any and
  /// `@` for `1` if the handshake took up an earlier session, else `0`; at the end the connection goes on (`/keep`), is closed (`/close`) or cut without close_notify (`/cut`).
  private static let script = """
    import socket, ssl, sys, threading, time, urllib.parse
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    if sys.argv[4] == "1.2": context.maximum_version = ssl.TLSVersion.TLSv1_2
    def serve(plain):
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            c = context.wrap_socket(plain, server_side=True)
            data = b""
            while True:
                while b"\\r\\n\\r\\n" not in data:
                    got = c.recv(65536)
                    if not got: return
                    data += got
                line, _, data = data.partition(b"\\r\\n\\r\\n")
                _, how, what = line.split(b" ")[1].decode().split("/", 2)
                for part in urllib.parse.unquote(what).split("|"):
                    if part == "~": time.sleep(0.1)
                    else: c.sendall(part.replace("@", str(int(c.session_reused))).encode())
                if how == "close": c.unwrap()
                if how != "keep": return plain.shutdown(socket.SHUT_RDWR) or c.close()
        except OSError: pass
    listener = socket.create_server(("127.0.0.1", int(sys.argv[3])))
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """

  private final class Upstream: Sendable {
    let certificates: TestCertificates
    let port = LoopbackPort.free()
    private let peer: Peer

    init(_ version: String) async throws {
      certificates = try await TestCertificates()
      let pair = certificates.server
      peer = try Peer(python, ["-c", TLSUpstreamTests.script, pair.certificate, pair.key, "\(port)", version])
      try await peer.waitForPort(port)
    }

    func rig() async throws -> EngineRig {
      let authority = certificates.authority.certificate
      return try await EngineRig { $0.tls.roots = .file(authority) }
    }

    func url(_ end: String, _ records: String...) -> String {
      let hex = Array("0123456789ABCDEF")
      let what = records.joined(separator: "|").utf8.map { "%\(hex[Int($0 >> 4)])\(hex[Int($0 & 15)])" }.joined()
      return "https://127.0.0.1:\(port)/\(end)/\(what)"
    }
  }

  /// A second response in the record that ends the first one stays in the TLS library, where no look at the socket finds
  /// it.
  @Test(arguments: ["1.2", "1.3"])
  func strayBytesInTheLastRecord(version: String) async throws {
    let upstream = try await Upstream(version)
    let rig = try await upstream.rig()
    let first = upstream.url("keep", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "~", "one" + okResponse("stray"))
    #expect(await rig.get(first).text == "one")
    let outcome = await rig.get(upstream.url("keep", okResponse("two")))
    #expect(outcome.error == nil)
    #expect(outcome.text == "two")
    await rig.close()
  }

  @Test(arguments: ["1.2", "1.3"])
  func strayBytesOnAnIdleConnection(version: String) async throws {
    let upstream = try await Upstream(version)
    let rig = try await upstream.rig()
    #expect(await rig.get(upstream.url("keep", okResponse("one"), "~", okResponse("stray"))).text == "one")
    #expect(await eventually { await rig.onEngine { $0.openConnections } == 0 })
    #expect(await rig.get(upstream.url("keep", okResponse("two"))).text == "two")
    await rig.close()
  }

  /// Session tickets come ahead of the first response, so they are not taken for strays.
  @Test(arguments: ["1.2", "1.3"])
  func connectionsAreReused(version: String) async throws {
    let upstream = try await Upstream(version)
    let rig = try await upstream.rig()
    for round in 0..<5 {
      let outcome = await rig.get(upstream.url("keep", okResponse("one")))
      #expect(outcome.text == "one")
      #expect(outcome.report?.isReusedConnection == (round > 0))
    }
    #expect(rig.counts.value.opened == 1)
    await rig.close()
  }

  /// A new connection to a server that is known costs a short handshake.
  @Test(arguments: ["1.2", "1.3"])
  func sessionsAreResumed(version: String) async throws {
    let upstream = try await Upstream(version)
    let rig = try await upstream.rig()
    let url = upstream.url("close", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n@")
    var resumed: [String] = []
    for _ in 0..<3 { resumed.append(await rig.get(url).text) }
    #expect(resumed == ["0", "1", "1"])
    #expect(rig.counts.value.opened == 3)
    await rig.close()
  }

  /// Which version is spoken is what the handshake says, not what a response calls itself.
  @Test(arguments: ["1.2", "1.3"])
  func forgedVersion(version: String) async throws {
    let upstream = try await Upstream(version)
    let authority = upstream.certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = .http2
      $0.tls.roots = .file(authority)
    }
    for _ in 0..<2 {
      let outcome = await rig.get(upstream.url("keep", "HTTP/2 200 OK\r\nContent-Length: 3\r\n\r\nabc"))
      // 8.14.1 refuses it itself.
      #expect(outcome.error != nil && outcome.heads.isEmpty)
      #expect(await rig.get(upstream.url("keep", okResponse("fine"))).text == "fine")
    }
    await rig.close()
  }

  /// A body that only the connection's end ends: cut or whole, libcurl's engine calls it whole below 8.14.1.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n",
  ])
  func cutBody(head: String) async throws {
    let upstream = try await Upstream("1.3")
    let rig = try await upstream.rig()
    let cut = await rig.get(upstream.url("cut", head, "half"))
    #expect(cut.error != nil)
    let whole = await rig.get(upstream.url("close", head, "half"))
    if CurlLibrary.noticesTruncation || isOwnEngine {
      #expect(whole.error == nil)
      #expect(whole.text == "half")
    } else {
      for outcome in [cut, whole] {
        #expect(outcome.error?.kind == .unprovableEnd)
        #expect(outcome.heads.isEmpty)
      }
    }
    await rig.close()
  }

  @Test(arguments: [
    okResponse("whole"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
  ])
  func endThatTheConnectionDoesNotMark(response: String) async throws {
    let upstream = try await Upstream("1.3")
    let rig = try await upstream.rig()
    #expect(await rig.get(upstream.url("cut", response)).error == nil)
    let head = await rig.transfer(
      TransferSpec(url: upstream.url("keep", "HTTP/1.1 200 OK\r\n\r\n"), method: "HEAD"))
    #expect(head.error == nil)
    await rig.close()
  }
}
