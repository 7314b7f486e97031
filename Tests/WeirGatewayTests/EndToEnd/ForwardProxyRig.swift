import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Gateways that are their clients' proxies.
extension GatewayRig {
  /// - Parameter change: Of the configuration with the routes.
  static func proxy(
    _ routes: Route..., window: Double = 10, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> GatewayRig {
    var configuration = Configuration.proxy(routes)
    change(&configuration)
    return try GatewayRig(configuration, window: window)
  }

  /// The value of a sample of the destination at a port of the loopback.
  func sample(_ name: String, at port: Int, host: String = "127.0.0.1", _ labels: String = "") -> Double? {
    let rest = labels.isEmpty ? "" : ",\(labels)"
    return sample("\(name){server_address=\"\(host)\",server_port=\"\(port)\"\(rest)}")
  }
}

extension Configuration {
  static func proxy(_ routes: [Route], at address: SocketAddress = .loopback(port: 0)) -> Configuration {
    var configuration = Configuration(routes: routes)
    configuration.listeners = [ListenerSettings(name: "egress", address: address, isForwardProxy: true)]
    return configuration
  }
}

extension Route {
  /// A route named `r` whose requests name their upstream.
  static func requested(
    _ ports: Int..., scheme: Upstream.Scheme? = nil, policy: DestinationPolicy = .any
  ) -> Route {
    var route = Route(name: "r", action: .requested(RequestedUpstream(scheme: scheme, ports: Set(ports))))
    route.destinationPolicy = policy
    return route
  }

  /// A route named `r` for tunnels.
  static func connect(
    _ ports: Int..., policy: DestinationPolicy = .any, _ change: (inout ConnectRule) -> Void = { _ in }
  ) -> Route {
    var rule = ConnectRule(ports: Set(ports))
    change(&rule)
    var route = Route(name: "r", action: .connect(rule))
    route.destinationPolicy = policy
    return route
  }
}

extension RawClient {
  /// Asks for a tunnel.
  func askTunnel(to place: String, _ early: String = "", version: String = "1.1") {
    send("CONNECT \(place) HTTP/\(version)\r\nHost: \(place)\r\n\r\n\(early)")
  }

  /// Reads a head, and nothing behind it.
  func head() -> String {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8), read(1, into: &bytes) {}
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads so many bytes.
  func text(_ count: Int) -> String {
    var bytes: [UInt8] = []
    return read(count, into: &bytes) ? String(decoding: bytes, as: UTF8.self) : "the connection has ended"
  }
}
