import Foundation
import Glibc
import Testing
import WeirIO
import WeirServer
import WeirTestSupport

@testable import WeirGateway

/// Several listeners of one gateway, and reloads that open, change and close them.
@Suite(.slow, .timeLimit(.minutes(5))) struct ListenersTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private func configuration(_ listeners: ListenerSettings..., status: Int = 200) -> Configuration {
    var configuration = Configuration(
      routes: [Route(name: "r", match: RouteMatch(), action: .respond(RouteResponse(status: status)))])
    configuration.listeners = listeners
    return configuration
  }

  /// A listener at a port that was free a moment ago: a file can't name one that the system chooses.
  private func listener(
    _ name: String, _ change: (inout ListenerSettings) -> Void = { _ in }
  ) throws -> ListenerSettings {
    let address = SocketAddress.loopback(port: UInt16(LoopbackPort.free()))
    var settings = ListenerSettings(name: name, address: address)
    change(&settings)
    return settings
  }

  private func client(of settings: ListenerSettings) throws -> RawClient {
    try RawClient(port: settings.address.port ?? 0)
  }

  @Test func eachServes() throws {
    let (a, b) = (try listener("a"), try listener("b"))
    let rig = try GatewayRig(configuration(a, b), workers: 2)
    for settings in [a, b, a, b] { #expect(try client(of: settings).status(of: Self.get) == 200) }
    #expect(rig.gateway.addresses.map(\.name) == ["a", "b"])
    #expect(rig.sample("weir_listener_connections_accepted_total{listener=\"a\"}") == 2)
    #expect(
      eventually { rig.sample("weir_listener_connections_closed_total{listener=\"a\",reason=\"client\"}") == 2 })
    #expect(rig.sample("weir_listener_connections{listener=\"b\",state=\"active\"}") == 0)
  }

  @Test func withoutListenersThereIsTheStandardOne() throws {
    let rig = try GatewayRig(configuration())
    #expect(try rig.client().status(of: Self.get) == 200)
    #expect(rig.sample("weir_listener_connections_accepted_total{listener=\"gateway\"}") == 1)
  }

  @Test func aReloadOpensAndClosesListeners() async throws {
    let (a, b) = (try listener("a"), try listener("b"))
    let rig = try GatewayRig(configuration(a), workers: 2)
    let kept = try client(of: a)
    #expect(kept.status(of: Self.get) == 200)
    try await rig.gateway.reload(configuration(a, b, status: 201))
    #expect(kept.status(of: Self.get) == 201, "a listener that stays keeps its connections")
    #expect(try client(of: b).status(of: Self.get) == 201)
    try await rig.gateway.reload(configuration(b, status: 202))
    #expect(throws: (any Error).self) { try client(of: a) }
    #expect(try client(of: b).status(of: Self.get) == 202)
    #expect(rig.sample("weir_listener_connections_accepted_total{listener=\"a\"}") == nil)
    // The address is free again.
    withExtendedLifetime(try Listener(a.address)) {}
  }

  @Test func aChangedListenerKeepsItsSocketAndItsCounts() async throws {
    var a = try listener("a")
    let rig = try GatewayRig(configuration(a), workers: 2)
    let before = try client(of: a)
    #expect(before.status(of: Self.get) == 200)
    a.limits.headerFields = 16
    try await rig.gateway.reload(configuration(a, status: 201))
    let fields = (0..<20).map { "X-\($0): 1\r\n" }.joined()
    #expect(try client(of: a).status(of: "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n") == 431)
    #expect(try client(of: a).status(of: Self.get) == 201)
    #expect(rig.sample("weir_listener_connections_accepted_total{listener=\"a\"}") == 3)
    #expect(before.rest().isEmpty, "a connection by the old settings ends between two requests")
    #expect(eventually { rig.sample("weir_listener_connections_closed_total{listener=\"a\",reason=\"drain\"}") == 1 })
  }

  @Test func oneThatCannotOpenFailsTheReload() async throws {
    let (a, b, taken) = (try listener("a"), try listener("b"), try listener("taken"))
    let rig = try GatewayRig(configuration(a))
    let other = try Listener(taken.address)
    await #expect(throws: ListenError.self) {
      try await rig.gateway.reload(configuration(b, taken, status: 201))
    }
    #expect(try client(of: a).status(of: Self.get) == 200)
    #expect(throws: (any Error).self) { try client(of: b) }
    withExtendedLifetime(other) {}
  }

  /// The socket of the present configuration is in the way of a narrower address.
  @Test func aNarrowerAddressIsTakenByTheListenerItself() async throws {
    let narrow = try listener("a")
    let port = try #require(narrow.address.port)
    let wide = ListenerSettings(name: "a", address: .v4(0, port: port))
    let rig = try GatewayRig(configuration(wide))
    let error = await #expect(throws: ListenError.self) { try await rig.gateway.reload(configuration(narrow)) }
    let text = Serve.reloadText(try #require(error), own: rig.gateway.addresses.map(\.address))
    #expect(text.hasPrefix("127.0.0.1:\(port) is in use: weir itself listens at 0.0.0.0:\(port); "), "\(text)")
    #expect(try client(of: wide).status(of: Self.get) == 200)
    // The way that the text tells.
    try await rig.gateway.reload(configuration(try listener("a")))
    try await rig.gateway.reload(configuration(narrow))
    #expect(try client(of: narrow).status(of: Self.get) == 200)
  }

  /// A listener that would have changed goes on when another one can't open.
  @Test func aRefusedReloadLeavesChangedListenersAlone() async throws {
    let (a, taken) = (try listener("a"), try listener("taken"))
    let rig = try GatewayRig(configuration(a), workers: 2)
    let other = try Listener(taken.address)
    var changed = a
    changed.limits.idleTimeout = 5
    for _ in 0..<3 {
      await #expect(throws: ListenError.self) { try await rig.gateway.reload(configuration(changed, taken)) }
      #expect(try client(of: a).status(of: Self.get) == 200)
    }
    other.close()
    try await rig.gateway.reload(configuration(changed, status: 201))
    #expect(try client(of: a).status(of: Self.get) == 201)
  }

  /// With few descriptors each listener has a part of them, which a reload may change.
  @Test func listenersThatStayKeepTheirConnections() async throws {
    let (a, b) = (try listener("a"), try listener("b"))
    let rig = try GatewayRig(configuration(a), connections: 20)
    let kept = try client(of: a)
    #expect(kept.status(of: Self.get) == 200)
    for _ in 0..<3 {
      try await rig.gateway.reload(configuration(a, b))
      #expect(kept.status(of: Self.get) == 200)
      try await rig.gateway.reload(configuration(a))
      #expect(kept.status(of: Self.get) == 200)
    }
    // A connection of a listener that has gone would be closed by now.
    try await letPass(1.2)
    #expect(kept.status(of: Self.get) == 200)
  }

  @Test func aChangedListenerAcceptsAtOnce() async throws {
    var a = try listener("a")
    let lines = LoggedLines()
    let rig = try GatewayRig(configuration(a), workers: 2, log: lines.log)
    for round in 0..<10 {
      a.limits.headerFields = 100 + round
      try await rig.gateway.reload(configuration(a))
      #expect(try client(of: a).status(of: Self.get) == 200)
    }
    #expect(lines.all.isEmpty)
  }

  @Test func unixSocketsComeAndGo() async throws {
    let path = FileManager.default.temporaryDirectory.path + "/weir-\(UUID().uuidString.prefix(8)).sock"
    let (a, socket) = (try listener("a"), ListenerSettings(name: "u", address: .unix(path: path)))
    let rig = try GatewayRig(configuration(a, socket))
    #expect(access(path, F_OK) == 0)
    try await rig.gateway.reload(configuration(a))
    #expect(access(path, F_OK) != 0)
    try await rig.gateway.reload(configuration(a, socket))
    #expect(access(path, F_OK) == 0)
    await rig.gateway.stop(grace: 1)
    #expect(access(path, F_OK) != 0)
  }

  @Test func stoppingEndsAllListeners() async throws {
    let (a, b) = (try listener("a"), try listener("b"))
    let rig = try GatewayRig(configuration(a, b), workers: 2)
    await rig.gateway.stop(grace: 1)
    for settings in [a, b] { #expect(throws: (any Error).self) { try client(of: settings) } }
  }

  /// Reloads that add, change and remove a listener while requests come at another: none fails.
  @Test func reloadsDisturbNoOtherListener() async throws {
    let (a, b) = (try listener("a"), try listener("b"))
    let rig = try GatewayRig(configuration(a), workers: 2)
    let load = Task.detached {
      var failed = 0, count = 0
      while !Task.isCancelled {
        let client = try RawClient(port: a.address.port ?? 0)
        for _ in 0..<20 {
          count += 1
          if client.status(of: Self.get) != 200 { failed += 1 }
        }
      }
      return (count, failed)
    }
    for round in 0..<20 {
      var changed = b
      changed.limits.headerFields = 16 + round
      try await rig.gateway.reload(configuration(a, changed))
      #expect(try client(of: b).status(of: Self.get) == 200)
      try await rig.gateway.reload(configuration(a))
    }
    load.cancel()
    let (count, failed) = try await load.value
    #expect(count > 100 && failed == 0, "\(failed) of \(count)")
  }
}

extension RawClient {
  /// Sends a request and reads its answer; nil if none comes.
  fileprivate func status(of request: String) -> Int? {
    send(request)
    return response()?.status
  }
}
