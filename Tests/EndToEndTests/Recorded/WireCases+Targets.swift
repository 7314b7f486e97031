import WeirTestSupport

extension WireGroup {
  /// Where requests go: targets, paths, methods, and what the gateway answers itself.
  static var targets: WireGroup {
    WireGroup(routes: targetRoutes, cases: paths + methods + refusals)
  }

  private static let targetRoutes = [
    WireRoute("targets", .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
    WireRoute(
      "stripped", rules: "stripPrefix: true", pathPrefix: "/v1", base: "/base",
      .answers("HTTP/1.1 200 OK|Content-Length: 2||ok")),
  ]

  private static func get(_ name: String, _ target: String, _ route: String = "targets") -> WireCase {
    WireCase(name, route, "GET \(target) HTTP/1.1|Host: \(route).test|Connection: close||")
  }

  private static let paths = [
    get("a query", "/a/b?c=d&e=%20f&g[]=1%2C2"),
    get("an empty query", "/a?"),
    get("escapes and dots", "/a/./b/../c/%7Ed/%2e%2e/e%2Ff//g"),
    get("a path beyond the prefix", "/v1/price?x=1", "stripped"),
    get("the prefix itself", "/v1", "stripped"),
    get("a path outside the prefix", "/v10/price", "stripped"),
    WireCase(
      "an absolute target", "targets", "GET http://targets.test/abs?q HTTP/1.1|Host: other.test|Connection: close||"),
    WireCase(
      "an absolute target without a path", "targets",
      "GET http://targets.test HTTP/1.1|Host: targets.test|Connection: close||"),
    WireCase(
      "a host in upper case and with a port", "targets", "GET /x HTTP/1.1|Host: TARGETS.test:8080|Connection: close||"),
    WireCase("OPTIONS of everything", "targets", "OPTIONS * HTTP/1.1|Host: targets.test|Connection: close||"),
  ]

  private static let methods = [
    WireCase("a method in lower case", "targets", "get /x HTTP/1.1|Host: targets.test|Connection: close||"),
    WireCase("an unknown method", "targets", "BREW /pot HTTP/1.1|Host: targets.test|Connection: close||"),
    WireCase("DELETE", "targets", "DELETE /x HTTP/1.1|Host: targets.test|Connection: close||"),
    WireCase(
      "POST without a body", "targets", "POST /x HTTP/1.1|Host: targets.test|Connection: close|Content-Length: 0||"),
    WireCase("PUT without a length", "targets", "PUT /x HTTP/1.1|Host: targets.test|Connection: close||"),
    WireCase("CONNECT", "targets", "CONNECT targets.test:443 HTTP/1.1|Host: targets.test:443|Connection: close||"),
  ]

  private static let refusals = [
    WireCase("no route", "targets", "GET /x HTTP/1.1|Host: nowhere.test|Connection: close||"),
    WireCase("no route for a HEAD", "targets", "HEAD /x HTTP/1.1|Host: nowhere.test|Connection: close||"),
    get("a bad target", "/%zz"),
    get("a path that leaves the root", "/../../etc"),
    WireCase("no Host", "targets", "GET /x HTTP/1.1||"),
    WireCase("two Hosts", "targets", "GET /x HTTP/1.1|Host: a|Host: b||"),
    WireCase(
      "two framings", "targets", "POST /x HTTP/1.1|Host: targets.test|Content-Length: 3|Transfer-Encoding: chunked||0||"
    ),
    WireCase("two lengths", "targets", "POST /x HTTP/1.1|Host: targets.test|Content-Length: 3|Content-Length: 3||abc"),
    WireCase("another version", "targets", "GET /x HTTP/2.0|Host: targets.test||"),
    WireCase("a coding that is none", "targets", "POST /x HTTP/1.1|Host: targets.test|Transfer-Encoding: gzip||"),
    WireCase(
      "an expectation that is none", "targets", "POST /x HTTP/1.1|Host: targets.test|Expect: more|Content-Length: 1||a"),
    WireCase("a folded field", "targets", "GET /x HTTP/1.1|Host: targets.test|X-A: b| c||"),
    WireCase("a blank in a field's name", "targets", "GET /x HTTP/1.1|Host: targets.test|X-A : b||"),
    WireCase(
      "a head that is too long", "targets",
      "GET /x HTTP/1.1|Host: targets.test|X-A: \(String(repeating: "a", count: 200_000))||"),
    WireCase("no HTTP at all", "targets", "\u{16}\u{03}\u{01}\u{02}\u{00}"),
  ]
}
