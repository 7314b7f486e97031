import Testing
import WeirTestSupport
import WeirTransport

@testable import WeirCurl
@testable import WeirHTTP1

/// The memory of connections that wait for a request.
@Suite(.enabled(if: isOwnEngine && Tool(named: "python3").isInstalled), .timeLimit(.minutes(5)))
struct IdleMemoryTests {
  private static let connections = 1_000

  /// Answers a request once all connections have sent one: `/close` closes them behind it, `/keep` does not.
  private static let script = """
    import resource, select, socket, sys
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    count = int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=count)
    poller = select.epoll()
    poller.register(listener, select.EPOLLIN)
    open, asked = {}, {}
    while True:
        for fd, _ in poller.poll():
            if fd == listener.fileno():
                c = listener.accept()[0]
                open[c.fileno()] = c
                poller.register(c, select.EPOLLIN)
            elif data := open[fd].recv(65536): asked[fd] = data.startswith(b"GET /close")
            else:
                poller.unregister(fd)
                open.pop(fd).close()
        if len(asked) < count: continue
        for fd, closes in asked.items():
            end = b"Connection: close\\r\\n" if closes else b""
            open[fd].sendall(b"HTTP/1.1 200 OK\\r\\n" + end + b"Content-Length: 4\\r\\n\\r\\nfine")
            if closes: open[fd].shutdown(socket.SHUT_WR)
        asked = {}
    """

  private static func wave(_ path: String, _ port: Int, _ rig: EngineRig) async {
    var running: [Running] = []
    for _ in 0..<connections {
      running.append(await rig.start(TransferSpec(url: "http://127.0.0.1:\(port)/\(path)")))
    }
    for transfer in running { #expect(await transfer.outcome.text == "fine") }
  }

  @Test func aThousandConnectionsFitIntoFourMebibytes() async throws {
    try #require(ThisProcess.raiseDescriptorLimit(to: UInt(Self.connections) + 256))
    let port = LoopbackPort.free()
    let peer = try Peer(Tool(named: "python3"), ["-c", Self.script, "\(port)", "\(Self.connections)"])
    try await peer.waitForPort(port)
    let rig = try await EngineRig { $0.maximumPooledConnections = 2 * Self.connections }
    // The first two waves take what remains with the process: their transfers, and the engine's lists.
    for _ in 0..<2 { await Self.wave("close", port, rig) }
    let before = try ThisProcess.residentBytes
    await Self.wave("keep", port, rig)
    #expect(await rig.onEngine { $0.own?.idleConnections } == Self.connections)
    let bytes = try ThisProcess.residentBytes - before
    #expect(bytes < 4 << 20 || ThisProcess.isSanitized, "\(bytes)")
    await rig.close()
    #expect(rig.counts.open == 0)
  }
}
