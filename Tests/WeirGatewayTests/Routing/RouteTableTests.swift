import Testing

@testable import WeirGateway

@Suite struct RouteTableTests {
  /// Each route's name is its index.
  static let table: RouteTable = {
    func route(
      _ host: String?, _ prefix: String, _ upstream: String, strip: Bool = false
    ) -> Route? {
      guard let upstream = try? Upstream(parsing: upstream) else { return nil }
      var route = Route(name: "r", match: RouteMatch(host: host, pathPrefix: prefix), upstream: upstream)
      route.stripPrefix = strip
      return route
    }
    return RouteTable(
      [
        route(nil, "/api", "http://api:81"),  // 0
        route(nil, "/api/v2", "http://v2/base", strip: true),  // 1
        route("a.example", "/", "http://a"),  // 2
        route("a.example", "/api", "http://a-api", strip: true),  // 3
        route("b.example", "/only", "https://b"),  // 4
        route("[::1]", "/", "http://six"),  // 5
        route(nil, "/top", "http://top/base", strip: true),  // 6
      ].compactMap { $0 })
  }()

  @Test(
    arguments: [
      // Longest prefix, on segment boundaries.
      ("x", "/api", .forward(route: 0, target: "/api")),
      ("x", "/api/", .forward(route: 0, target: "/api/")),
      ("x", "/api/v2x", .forward(route: 0, target: "/api/v2x")),
      ("x", "/apix", .noRoute),
      ("x", "/", .noRoute),
      ("x", "/API", .noRoute),
      ("x", "/api%2Fv2", .noRoute),
      ("x", "//api", .noRoute),
      ("x", "/api//v2", .forward(route: 0, target: "/api//v2")),
      // Stripping and the base path.
      ("x", "/api/v2/u?q=1", .forward(route: 1, target: "/base/u?q=1")),
      ("x", "/api/v2", .forward(route: 1, target: "/base")),
      ("x", "/api/v2?", .forward(route: 1, target: "/base?")),
      ("x", "/api/v2/", .forward(route: 1, target: "/base/")),
      ("a.example", "/api", .forward(route: 3, target: "/")),
      ("a.example", "/api?x", .forward(route: 3, target: "/?x")),
      ("a.example", "/api//evil.example/x", .forward(route: 3, target: "//evil.example/x")),
      // Host before path; then the routes without a host.
      ("a.example", "/api/v2/x", .forward(route: 3, target: "/v2/x")),
      ("A.Example:8080", "/x", .forward(route: 2, target: "/x")),
      ("a.example.", "/x", .forward(route: 2, target: "/x")),
      ("a.example.:80", "/x", .forward(route: 2, target: "/x")),
      ("b.example", "/only/x", .forward(route: 4, target: "/only/x")),
      ("b.example", "/api", .forward(route: 0, target: "/api")),
      ("b.example", "/x", .noRoute),
      ("[::1]:80", "/x", .forward(route: 5, target: "/x")),
      ("[0:0:0:0:0:0:0:1]", "/x", .forward(route: 5, target: "/x")),
      ("[::2]", "/x", .noRoute),
      ("[::1", "/x", .noRoute),
      ("", "/api", .forward(route: 0, target: "/api")),
      ("[", "/x", .noRoute),
      (":", "/x", .noRoute),
      (".", "/x", .noRoute),
      // The normal form is matched and sent.
      ("x", "/api/../secret", .noRoute),
      ("x", "/%61pi/./x", .forward(route: 0, target: "/api/x")),
      ("x", "/api/%2e%2e/top/y", .forward(route: 6, target: "/base/y")),
      ("x", "/top/../../../top/a", .forward(route: 6, target: "/base/a")),
      ("x", "/api/a%2Fb?u=/../%zz", .forward(route: 0, target: "/api/a%2Fb?u=/../%zz")),
      ("x", "/api?a?b", .forward(route: 0, target: "/api?a?b")),
      // Absolute form: its host counts.
      ("x", "http://a.example/q?z", .forward(route: 2, target: "/q?z")),
      ("x", "HTTPS://A.EXAMPLE:1", .forward(route: 2, target: "/")),
      ("x", "http://a.example?z", .forward(route: 2, target: "/?z")),
      ("a.example", "http://other/q", .noRoute),
      ("x", "http://u@a.example/", .badTarget("the target must begin with /")),
      ("x", "http:///x", .badTarget("the target must begin with /")),
      ("x", "http://", .badTarget("the target must begin with /")),
      ("x", "a.example:443", .badTarget("the target must begin with /")),
      ("x", "api", .badTarget("the target must begin with /")),
      ("x", "", .badTarget("the target is empty")),
      // A server as a whole.
      ("x", "*", .noRoute),
      ("a.example", "*", .forward(route: 2, target: "*")),
      ("b.example", "*", .noRoute),
      // What a URL parser would refuse or write anew.
      ("x", "/api?ids[]=1%2C2", .forward(route: 0, target: "/api?ids[]=1%2C2")),
      ("x", "/api/{a}|\"[b]^`?<%zz>", .forward(route: 0, target: "/api/{a}|\"[b]^`?<%zz>")),
      ("x", "/api/..%2f", .badTarget("the path has a dot segment behind an encoded slash")),
      ("x", "/api?a#b", .badTarget("the query must have no spaces, control characters and fragment")),
      ("x", "/api?a b", .badTarget("the query must have no spaces, control characters and fragment")),
    ] as [(String, String, RouteTable.Decision)])
  func decides(host: String, target: String, expected: RouteTable.Decision) {
    #expect(decide(Self.table, host, target) == expected)
  }

  @Test func anEmptyTableHasNoRoute() {
    #expect(decide(RouteTable([]), "", "/") == .noRoute)
  }

  @Test(
    arguments: [
      ("http://a.example", .forward(route: 2, target: "*")), ("http://a.example/", .forward(route: 2, target: "/")),
      ("http://a.example?q", .forward(route: 2, target: "/?q")), ("http://b.example", .noRoute),
      ("/api", .forward(route: 0, target: "/api")),
    ] as [(String, RouteTable.Decision)])
  func decidesAboutOPTIONS(target: String, expected: RouteTable.Decision) {
    #expect(decide(Self.table, "x", target, method: "OPTIONS") == expected)
  }

  @Test(arguments: ["/caf%c3%a9", "/caf%C3%A9", "/caf%C3%a9/x"])
  func theCaseOfAnEncodedOctetIsOfNoAccount(target: String) throws {
    for prefix in ["/caf%c3%a9", "/caf%C3%A9"] {
      let guarded = Route(
        name: "guard", match: RouteMatch(pathPrefix: prefix), action: .respond(RouteResponse(status: 403)))
      let others = Route(name: "others", upstream: try Upstream(parsing: "http://h"))
      #expect(decide(RouteTable([others, guarded]), "", target) == .respond(route: 1))
    }
    let forwards = Route(
      name: "f", match: RouteMatch(pathPrefix: "/caf%C3%A9"), upstream: try Upstream(parsing: "http://h"))
    #expect(decide(RouteTable([forwards]), "", target) == .forward(route: 0, target: target))
  }

  @Test func routesLookAtAHundredItemsOfAQuery() throws {
    var match = RouteMatch(pathPrefix: "/q")
    match.query = [Array("v".utf8): .equals(Array("1".utf8))]
    let table = RouteTable([
      Route(name: "q", match: match, upstream: try Upstream(parsing: "http://h")),
      Route(name: "others", upstream: try Upstream(parsing: "http://h")),
    ])
    let items = { (count: Int) in "?" + Array(repeating: "v", count: count).joined(separator: "&") }
    #expect(decide(table, "", "/q" + items(100)) == .forward(route: 1, target: "/q" + items(100)))
    #expect(decide(table, "", "/q" + items(101)) == .badTarget("the query has more than 100 items"))
    #expect(decide(table, "", "/x" + items(101)) == .forward(route: 1, target: "/x" + items(101)))
  }

  @Test func theRootStripsNothing() throws {
    var route = Route(name: "all", upstream: try Upstream(parsing: "http://h"))
    route.stripPrefix = true
    #expect(decide(RouteTable([route]), "", "/a") == .forward(route: 0, target: "/a"))
  }

  private func decide(
    _ table: RouteTable, _ host: String, _ target: String, method: String = "GET"
  ) -> RouteTable.Decision {
    table.decide(host, target, method: method)
  }
}

extension RouteTable {
  func decide(
    _ host: String, _ target: String, method: String = "GET", fields: [(String, String)] = []
  ) -> Decision {
    let host = Array(host.utf8), target = Array(target.utf8), method = Array(method.utf8)
    return decide(
      method: method.span, host: host.span, target: target.span, fields: IncomingFields(fields: fields))
  }
}
