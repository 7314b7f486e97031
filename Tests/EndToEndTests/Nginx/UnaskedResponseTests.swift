import Synchronization
import Testing
import WeirTestSupport

/// An upstream that sends a second response which nothing has asked for, behind the gateway and behind nginx.
@Suite(.needs(.shippedWeir, .nginx), .timeLimit(.minutes(5))) struct UnaskedResponseTests {
  private static let crowd = 60

  /// Answers `/first` once all of a crowd have asked, and again once it is told that all connections are idle.
  private final class Upstream: Sendable {
    private let asked = Atomic<Int>(0)
    private let strays = Atomic<Int>(0)
    private let all = Gate()
    let idle = Gate()
    let count: Int

    init(_ count: Int) { self.count = count }

    var areSent: Bool { strays.load(ordering: .relaxed) == count }

    func steps(for line: String) -> [Script.Step] {
      guard line.contains("first") else { return [.send(okResponse("next"))] }
      if asked.add(1, ordering: .relaxed).newValue == count { all.open() }
      return [
        .wait(all), .send(okResponse("first")), .wait(idle), .send(okResponse("stray")),
        .call { [self] in strays.add(1, ordering: .relaxed) },
      ]
    }
  }

  /// How many of the next requests get the stray response, through the proxy that `start` puts before the upstream.
  private static func strays<Proxy>(
    _ start: (_ upstream: Int) async throws -> (proxy: Proxy, port: Int)
  ) async throws -> Int {
    let upstream = Upstream(crowd)
    let server = try ScriptedServer(Script(.forever([.dispatch { upstream.steps(for: $0) }])))
    let (proxy, port) = try await start(server.port)
    let clients = try (0..<crowd).map { _ in try WireClient(port: port) }
    for client in clients { client.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n") }
    for client in clients { #expect(Self.body(client) == "first") }
    upstream.idle.open()
    try await eventually("all strays are sent") { upstream.areSent }
    for client in clients { client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n") }
    let bodies = clients.map { Self.body($0) }
    #expect(bodies.allSatisfy { $0 == "next" || $0 == "stray" }, "\(bodies)")
    withExtendedLifetime(proxy) {}
    return bodies.count { $0 == "stray" }
  }

  private static func body(_ client: WireClient) -> String? {
    WireResponse(from: client, toHead: false, onHead: {})?.body
  }

  @Test func noRequestGetsIt() async throws {
    let directory = try TemporaryDirectory()
    async let weir = Self.strays { upstream in
      let config = try directory.file("weir.yml", "routes: [{name: all, upstream: \"http://127.0.0.1:\(upstream)\"}]\n")
      let weir = try await WeirProgram(["--config.file=\(config)", "--gateway.workers=1"], program: .shippedWeir)
      return (weir, weir.port)
    }
    async let nginx = Self.strays { upstream in
      let nginx = try await NginxServer(
        .init(
          "", #"location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; }"#,
          beside: "upstream origin { server 127.0.0.1:\(upstream); keepalive 64; }"))
      return (nginx, nginx.port())
    }
    let (ours, theirs) = try await (weir, nginx)
    print("of \(Self.crowd) requests, weir gave a stray response to \(ours), nginx to \(theirs)")
    #expect(ours == 0)
  }
}
