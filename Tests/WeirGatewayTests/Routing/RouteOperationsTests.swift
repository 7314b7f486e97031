import Foundation
import Testing
import WeirMetrics
import WeirOTLP
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

@Suite(.timeLimit(.minutes(5))) struct RouteOperationsTests {
  private static let operations = RouteOperations(
    [
      "/users/{id}", "GET /users/{id}", "/users/me", "/users/{id}/orders/**", "DELETE /users/{id}/orders/{order}",
      "/v1.0/*", "/caf%C3%A9", "/", "GET /files/{name}/**", "/files/{name}",
    ].map(OperationPattern.init))

  @Test(arguments: [
    ("GET", "/users/7", "GET /users/{id}"), ("PUT", "/users/7", "/users/{id}"), ("GET", "/users/me", "/users/me"),
    ("get", "/users/7", "/users/{id}"), ("GET", "/users/", nil), ("GET", "/users", nil), ("GET", "/users/7/", nil),
    ("GET", "/users/7/orders", "/users/{id}/orders/**"), ("GET", "/users/7/orders/1/2", "/users/{id}/orders/**"),
    ("DELETE", "/users/7/orders/1", "DELETE /users/{id}/orders/{order}"),
    ("POST", "/users/7/orders/1", "/users/{id}/orders/**"), ("GET", "/v1.0/x", "/v1.0/*"), ("GET", "/v1.0/", nil),
    ("GET", "/caf%C3%A9", "/caf%C3%A9"), ("GET", "/", "/"), ("GET", "/other", nil),
    ("GET", "/users/%7Bid%7D", "GET /users/{id}"),
    // Both have as many octets at fixed places.
    ("GET", "/files/a", "/files/{name}"), ("GET", "/files/a/b", "GET /files/{name}/**"),
    ("GET", "/files/a/", "GET /files/{name}/**"),
  ])
  func theMostSpecificWins(method: String, path: String, expected: String?) {
    let found = Self.operations?.find(Array(method.utf8).span, Array(path.utf8).span)
    #expect(found?.name == expected)
  }

  @Test(arguments: [
    "users/{id}", "GET", "GET  /x", "GET /x y", "GET /a/{id}x", "/a/{}", "/a/{a b}", "/a//b", "/a?b", "G{T /a",
    "/a/**/b", "/a*", "get /a", "* /a", "/a/{id:[0-9]+}", "/a/{ id }", "", "/" + String(repeating: "a", count: 200),
  ])
  func whatIsNoPattern(text: String) {
    #expect(OperationPattern.problem(text) != nil)
    #expect(throws: (any Error).self) { _ = try Self.configuration("[\"\(text)\"]") }
  }

  @Test func twoThatTakeTheSame() throws {
    let error = #expect(throws: (any Error).self) { _ = try Self.configuration("[\"/a/{id}\", \"/b\", \"/a/{name}\"]") }
    #expect(error.map { "\($0)" }?.contains("takes the same requests") == true)
    #expect(try Self.configuration("[\"/a/{id}\", \"GET /a/{name}\"]").routes.first?.operations.count == 2)
  }

  /// What the route's match leaves of them.
  @Test(arguments: [
    ("/api/users/{id}", 0), ("/users/{id}", 1), ("/*/users", 0), ("/**", 0), ("/", 1), ("/api", 0), ("/apis", 1),
    ("GET /api/x", 0), ("POST /api/x", 1), ("GETT /api/x", 2),
  ])
  func whatTakesNoRequest(operation: String, count: Int) throws {
    let match = "stripPrefix: true, match: { pathPrefix: /api, methods: [GET] }"
    let text = "routes: [{ name: r, upstream: \"http://a\", \(match), operations: [\"\(operation)\"] }]"
    let warnings = try Configuration(parsing: Array(text.utf8), file: "f").warnings
    #expect(warnings.count == count, "\(warnings)")
    #expect(count == 0 || warnings.contains { "\($0)".contains("takes no request of the route") })
  }

  @Test(arguments: ["redirect: { scheme: https }", "respond: { status: 404 }", "connect: {}"])
  func noneWithoutAnUpstream(action: String) {
    let text = "routes: [{ name: r, \(action), operations: [/a] }]"
    let error = #expect(throws: (any Error).self) { _ = try Configuration(parsing: Array(text.utf8), file: "f") }
    #expect(error.map { "\($0)" }?.contains("operations") == true)
  }

  private static func configuration(_ operations: String) throws -> Configuration {
    let text = "routes: [{ name: r, upstream: \"http://a\", operations: \(operations) }]"
    return try Configuration(parsing: Array(text.utf8), file: "f")
  }

  /// Before the prefix is taken off, in normal form.
  @Test func requestsAreCountedAndTraced() throws {
    let server = try ScriptedServer(.answering(okResponse("")))
    let bin = SpanBin()
    var route = try Route(to: server.port, path: "/api")
    route.stripPrefix = true
    route.operations = ["GET /api/users/{id}", "/api/{rest}"].map(OperationPattern.init)
    var configuration = Configuration(routes: [route])
    configuration.trace = TraceSettings(begins: true, sample: 1)
    let rig = try GatewayRig(configuration, spans: bin)
    for path in ["/api/./users/%37", "/api/users/8?q=1", "/api/x", "/api/x/y/z"] {
      let client = try rig.client()
      client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(client.response()?.status == 200)
    }
    #expect(eventually { bin.attempts.count == 4 })
    #expect(bin.attempts.map(\.name) == ["GET /api/users/{id}", "GET /api/users/{id}", "GET /api/{rest}", "GET"])
    #expect(bin.attempts.first?.text("url.template") == "/api/users/{id}")
    let page = rig.registry.text()
    for (operation, count) in [
      (",operation=\"GET /api/users/{id}\"", 2), (",operation=\"/api/{rest}\"", 1), ("", 1),
    ] {
      #expect(page.contains("outcome=\"success\"\(operation)} \(count)\n"), "\(operation)")
    }
  }
}
