import Testing

@testable import WeirGateway

/// The routes of requests that come to a forward proxy, by the form of their target.
@Suite struct ForwardProxyRoutesTests {
  private struct Sender: RequestSender {
    var isForwardProxy: Bool
    var listener: [UInt8] { Array((isForwardProxy ? "egress" : "web").utf8) }
    var client: ClientAddress { .unix }
  }

  private static func table() throws -> RouteTable {
    let text = """
      listeners:
        - {name: egress, address: "127.0.0.1:3128", forwardProxy: true}
        - {name: web, address: "127.0.0.1:8080"}
      routes:
        - {name: "0", match: {host: a.example}, upstream: {requested: {}}}
        - {name: "1", match: {host: a.example, pathPrefix: /v1}, upstream: {requested: {}}, stripPrefix: true}
        - {name: "2", match: {host: "*.example"}, connect: {}}
        - {name: "3", match: {host: a.example}, respond: {status: 404}}
        - {name: "4", upstream: "http://h/base"}
        - {name: "5", match: {host: 127.0.0.1}, connect: {}, destinationPolicy: {otherwise: any}}
        - {name: "6", match: {host: a.example, headers: {X-A: b}}, connect: {ports: [22]}}
        - {name: "7", match: {host: a.example, listener: web, path: /web}, respond: {status: 200}}
      """
    return RouteTable(try Configuration(parsing: Array(text.utf8), file: "f").routes)
  }

  private func decide(
    _ method: String, _ target: String, host: String = "", fields: [(String, String)] = [], atProxy: Bool = true
  ) throws -> RouteTable.Decision {
    let (method, host, target) = (Array(method.utf8), Array(host.utf8), Array(target.utf8))
    return try Self.table().decide(
      method: method.span, host: host.span, target: target.span, fields: IncomingFields(fields: fields),
      from: Sender(isForwardProxy: atProxy))
  }

  @Test(
    arguments: [
      ("http://a.example/x?q", .forward(route: 0, target: "/x?q")),
      ("http://A.Example.:80", .forward(route: 0, target: "/")),
      ("https://a.example:8443/", .forward(route: 0, target: "/")),
      ("HTTP://a.example/x", .forward(route: 0, target: "/x")),
      ("http://a.example/v1/x", .forward(route: 1, target: "/x")),
      ("http://a.example/web", .forward(route: 0, target: "/web")),
      // A route of tunnels takes no other request, and those without a form of their own take all.
      ("http://b.example/x", .forward(route: 4, target: "/base/x")),
      ("http://127.1/", .forward(route: 4, target: "/base/")),
      ("/x", .respond(route: 3)), ("/v1/x", .respond(route: 3)), ("http://a.example/%zz", .badTarget(escape)),
    ] as [(String, RouteTable.Decision)])
  func requests(target: String, expected: RouteTable.Decision) throws {
    #expect(try decide("GET", target, host: "a.example") == expected)
  }

  private static let escape = "the path has a % without two hexadecimal digits"

  /// The server has read the target; the Host field has no say.
  @Test(
    arguments: [
      ("b.example:443", .connect(route: 2)), ("B.example.:443", .connect(route: 2)),
      ("a.example:443", .connect(route: 2)),
      ("other.test:443", .noRoute), ("127.1:443", .connect(route: 5)), ("[::ffff:127.0.0.1]:443", .noRoute),
    ] as [(String, RouteTable.Decision)])
  func tunnels(target: String, expected: RouteTable.Decision) throws {
    #expect(try decide("CONNECT", target, host: "a.example") == expected)
  }

  @Test func tunnelsAreToldApartByTheirFields() throws {
    #expect(try decide("CONNECT", "a.example:22", fields: [("X-A", "b")]) == .connect(route: 6))
  }

  @Test func theServerAsAWholeMayBeRequested() throws {
    #expect(try decide("OPTIONS", "http://a.example") == .forward(route: 0, target: "*"))
    #expect(try decide("OPTIONS", "*", host: "a.example") == .respond(route: 3))
  }

  @Test(
    arguments: [
      ("http://a.example/x", .respond(route: 3)), ("http://b.example/x", .forward(route: 4, target: "/base/x")),
      ("http://a.example/web", .respond(route: 7)), ("b.example:443", .badTarget("the target must begin with /")),
    ] as [(String, RouteTable.Decision)])
  func otherListenersTakeThePath(target: String, expected: RouteTable.Decision) throws {
    #expect(try decide("GET", target, atProxy: false) == expected)
    if !target.hasPrefix("http") { #expect(try decide("CONNECT", target, atProxy: false) == expected) }
  }
}
