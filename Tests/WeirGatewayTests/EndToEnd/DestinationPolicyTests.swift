import Foundation
import Testing
import Weir
import WeirTestSupport

@testable import WeirGateway

/// A route's policy of destinations, on the way through the gateway and in `weir probe`.
@Suite(.serialized) struct DestinationPolicyTests {
  private static func route(_ upstream: ScriptedServer, _ name: String, _ policy: DestinationPolicy) throws -> Route {
    var route = try Route(to: upstream.port, path: "/\(name)", name: name)
    route.upstreamHost("localhost", upstream.port)
    route.retry.limit = 3
    route.destinationPolicy = policy
    return route
  }

  @Test func aRefusedUpstreamIsUnreachableAndNotTriedAgain() throws {
    let upstream = try ScriptedServer(.answering(okResponse("in")))
    let rig = try GatewayRig(try Self.route(upstream, "guarded", .publicOnly))
    let client = try rig.client()
    client.send("GET /guarded HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.response()?.status == 502)
    #expect(eventually { rig.count("transport_error", route: "guarded") == 1 })
    #expect(upstream.connectionCount == 0)
    let labels = "server_address=\"localhost\",server_port=\"\(upstream.port)\""
    // The client's request settles after the gateway has answered.
    #expect(eventually { rig.sample("weir_request_attempts_sum{\(labels)}") == 1 })
    #expect(rig.sample("weir_retries_denied_total{\(labels),reason=\"policy\"}") == 1)
  }

  /// Routes to one upstream share its connections.
  @Test func aRouteDoesNotUseWhatAnothersPolicyLetThrough() throws {
    let upstream = try ScriptedServer(.answering(okResponse("in")))
    let rig = try GatewayRig(
      try Self.route(upstream, "open", .any), try Self.route(upstream, "guarded", .publicOnly))
    let client = try rig.client()
    for (path, status) in [("open", 200), ("guarded", 502), ("open", 200), ("guarded", 502)] {
      client.send("GET /\(path) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.response()?.status == status)
    }
    let received = (0..<upstream.connectionCount).map { upstream.receivedText(on: $0) }.joined()
    #expect(received.components(separatedBy: "GET /open ").count - 1 == 2)
    #expect(!received.contains("guarded"))
  }

  @Test func probeTakesThePolicy() throws {
    let inner = try ScriptedServer(.answering(okResponse("in")))
    let probe = try WeirProcess("probe", "--destination-policy=publicOnly", inner.url)
    #expect(eventually { probe.exitStatus != nil })
    #expect(probe.exitStatus == 1)
    #expect(
      eventually { probe.text.contains("destinationPolicy refuses 127.0.0.1 as not public (loopback, 127.0.0.0/8)") })
    #expect(inner.connectionCount == 0)
    let open = try WeirProcess("probe", "--destination-policy=any", inner.url)
    #expect(eventually { open.exitStatus != nil })
    #expect(open.exitStatus == 0)
  }
}

extension Route {
  /// A name in place of the address, so that the policy is asked where the socket is opened.
  fileprivate mutating func upstreamHost(_ host: String, _ port: Int) {
    if let upstream = try? Upstream(parsing: "http://\(host):\(port)") { action = .upstream(upstream) }
  }
}
