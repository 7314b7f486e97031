import Foundation
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// The Python package `websockets`, in the environment of the tests.
private enum WebSockets {
  static let python = Tool("websockets", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])
  private static let package = Tool("websockets", at: ["\(PackageRoot.path)/.build/test-venv/bin/websockets"])
  static var canRun: Bool { python.isInstalled && package.isInstalled && Tool.openssl.isInstalled }
  static let script = "\(PackageRoot.path)/Tests/Peers/websocket.py"
}

/// WebSockets of a library that many use: its clients before the gateway, and its server behind it.
@Suite(.slow, .serialized, .timeLimit(.minutes(5)), .enabled(if: WebSockets.canRun && isOwnEngine))
struct WebSocketTests {
  private let certificates: TestCertificates
  private let rig: GatewayRig
  private let servers: [Peer]

  init() async throws {
    certificates = try await TestCertificates()
    let (plain, secure) = (LoopbackPort.free(), LoopbackPort.free())
    let pair = certificates.server
    servers = [
      try Self.peer("serve", "\(plain)"), try Self.peer("serve", "\(secure)", pair.certificate, pair.key),
    ]
    try await servers[0].waitForPort(plain)
    try await servers[1].waitForPort(secure)
    let text = """
      listeners:
        - {name: plain, address: "127.0.0.2:0"}
        - {name: secure, address: "127.0.0.1:0", tls: {certificates: [{certificate: \(pair.certificate), key: \(pair.key)}]}}
      routes:
        - {name: plain, match: {pathPrefix: /plain}, upstream: "http://127.0.0.1:\(plain)", upgrade: [websocket]}
        - name: secure
          match: {pathPrefix: /secure}
          upstream: {url: "https://127.0.0.1:\(secure)", tls: {ca: \(certificates.authority.certificate)}}
          upgrade: {protocols: [websocket], idleTimeout: 1s}
      """
    rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "weir.yml"))
  }

  private static func peer(_ arguments: String...) throws -> Peer {
    try Peer(WebSockets.python, [WebSockets.script] + arguments)
  }

  private func url(_ listener: String, _ route: String) -> String {
    let port = rig.gateway.addresses.first { $0.name == listener }?.address.port ?? 0
    return "\(listener == "plain" ? "ws://127.0.0.2" : "wss://127.0.0.1"):\(port)/\(route)"
  }

  private func tunnels(_ route: String, _ outcome: TunnelOutcome) -> Double? {
    rig.sample("weir_gateway_tunnels_total{route=\"\(route)\",outcome=\"\(outcome.rawValue)\"}")
  }

  @Test(arguments: ["plain", "secure"], ["plain", "secure"])
  func messagesPingsAndEndsPass(listener: String, route: String) async throws {
    let authority = listener == "plain" ? [] : [certificates.authority.certificate]
    let client = try Peer(
      WebSockets.python,
      [WebSockets.script, "check", url(listener, route), "40", "4"] + authority)
    #expect(try await client.waitForExit() == .exited(0), "\(client.output)")
    #expect(client.output == "all is as it was sent\n")
    #expect(eventually { tunnels(route, .success) == 41 })
    #expect(rig.sample("weir_gateway_open_tunnels{route=\"\(route)\"}") == 0)
  }

  @Test func silentOnesAreClosed() async throws {
    let client = try Self.peer("hold", url("plain", "secure"), "20")
    #expect(try await client.waitForExit() == .exited(0), "\(client.output)")
    #expect(client.output == "open\nended\n")
    #expect(eventually { tunnels("secure", .idle) == 20 })
  }

  @Test func aStopClosesThem() async throws {
    let client = try Self.peer("hold", url("plain", "plain"), "20")
    #expect(eventually { client.output == "open\n" })
    #expect(rig.sample("weir_gateway_open_tunnels{route=\"plain\"}") == 20)
    await rig.gateway.stop(grace: 0.2)
    #expect(try await client.waitForExit() == .exited(0), "\(client.output)")
    #expect(tunnels("plain", .closed) == 20)
  }
}
