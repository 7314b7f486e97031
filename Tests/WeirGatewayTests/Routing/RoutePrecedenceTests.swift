import Testing

@testable import WeirGateway

/// Which of several routes takes a request. The order of the file is against that of precedence where it can be.
@Suite struct RoutePrecedenceTests {
  private static let text = """
    routes:
      - {name: any, match: {pathPrefix: /}, upstream: "http://h"}
      - {name: any-v1, match: {pathPrefix: /v1}, upstream: "http://h"}
      - {name: wild, match: {host: "*.example.com", pathPrefix: /w}, upstream: "http://h"}
      - {name: wild-b, match: {host: "*.b.example.com", pathPrefix: /w/deep}, upstream: "http://h"}
      - {name: wild-all, match: {host: "*.b.example.com", path: /only}, upstream: "http://h"}
      - {name: exact, match: {host: [a.example.com, api.example.com], pathPrefix: /w/exact}, upstream: "http://h"}
      - {name: p-prefix, match: {host: p, pathPrefix: /users}, upstream: "http://h"}
      - {name: p-long, match: {host: p, pathPrefix: /users/all/orders}, upstream: "http://h"}
      - {name: p-star, match: {host: p, pathPattern: "/users/*"}, upstream: "http://h"}
      - {name: p-orders, match: {host: p, pathPattern: "/users/*/orders/**"}, upstream: "http://h"}
      - {name: p-order, match: {host: p, pathPattern: "/users/*/orders/*"}, upstream: "http://h"}
      - {name: p-exact, match: {host: p, path: /users/me}, upstream: "http://h"}
      - {name: p-slash, match: {host: p, path: /users/}, upstream: "http://h"}
      - {name: p-first, match: {host: p, pathPattern: "/*/b"}, upstream: "http://h"}
      - {name: p-second, match: {host: p, pathPattern: "/a/*"}, upstream: "http://h"}
      - {name: c-plain, match: {host: c}, upstream: "http://h"}
      - {name: c-query, match: {host: c, query: {v: "2"}}, upstream: "http://h"}
      - {name: c-queries, match: {host: c, query: {v: "2", "a b": {prefix: x}}}, upstream: "http://h"}
      - {name: c-header, match: {host: c, headers: {X-Env: canary}}, upstream: "http://h"}
      - {name: c-headers, match: {host: c, headers: {X-Env: canary, x-user: {present: true}}}, upstream: "http://h"}
      - {name: c-post, match: {host: c, methods: [POST, PUT]}, upstream: "http://h"}
      - {name: c-put, match: {host: c, methods: [PUT, DELETE]}, upstream: "http://h"}
      - {name: c-postHeader, match: {host: c, methods: [POST], headers: {X-Env: canary}}, upstream: "http://h"}
      - {name: c-longer, match: {host: c, pathPrefix: /longer}, upstream: "http://h"}
      - {name: d-absent, match: {host: d, headers: {X-A: {present: false}}, query: {q: {present: false}}}, upstream: "http://h"}
      - {name: d-bearer, match: {host: d, headers: {Authorization: {prefix: "Bearer "}}}, upstream: "http://h"}
      - {name: d-empty, match: {host: d, query: {q: ""}}, upstream: "http://h"}
      - {name: d-umlaut, match: {host: d, query: {"näme": {present: true}}}, upstream: "http://h"}
    """

  struct Case: Sendable, CustomStringConvertible {
    let host: String
    let target: String
    let method: String
    let fields: [(String, String)]
    let expected: String

    init(_ host: String, _ target: String, _ expected: String) { self.init(host, target, "GET", expected) }

    init(_ host: String, _ target: String, _ method: String, _ expected: String) {
      self.init(host, target, method, [], expected)
    }

    init(_ host: String, _ target: String, _ method: String, _ fields: [(String, String)], _ expected: String) {
      (self.host, self.target, self.method, self.fields, self.expected) = (host, target, method, fields, expected)
    }

    var description: String { "\(method) \(host)\(target) \(fields)" }
  }

  @Test(arguments: [
    // Hosts: exact, the longest wildcard, none. A host whose paths don't match goes on to the next one.
    Case("a.example.com", "/w/exact/x", "exact"), Case("API.example.com:8080", "/w/exact", "exact"),
    Case("a.example.com", "/w", "wild"), Case("a.example.com", "/v1/x", "any-v1"), Case("a.example.com", "/", "any"),
    Case("x.example.com", "/w/exact", "wild"), Case("x.y.example.com", "/w", "wild"),
    Case("x.b.example.com", "/w/deep/er", "wild-b"), Case("x.b.example.com.", "/w", "wild"),
    Case("X.B.Example.COM", "/only", "wild-all"), Case("b.example.com", "/w/deep", "wild"),
    Case("b.example.com", "/only", "any"), Case("example.com", "/w", "any"), Case(".example.com", "/w", "any"),
    Case("xexample.com", "/w", "any"), Case("", "/w", "any"), Case("x.example.com.evil", "/w", "any"),
    // Paths: exact, then most fixed octets, whatever the order of the file.
    Case("p", "/users/me", "p-exact"), Case("p", "/users/you", "p-star"), Case("p", "/users/me/", "p-prefix"),
    Case("p", "/users/", "p-slash"), Case("p", "/users", "p-prefix"), Case("p", "/users//", "p-prefix"),
    Case("p", "/users/7/orders", "p-orders"), Case("p", "/users/7/orders/", "p-orders"),
    Case("p", "/users/7/orders/8", "p-order"), Case("p", "/users/7/orders/8/9", "p-orders"),
    Case("p", "/users/all/orders/8", "p-long"), Case("p", "/users//orders/8", "p-prefix"),
    Case("p", "/users/%6d%65", "p-exact"), Case("p", "/users/x/../me", "p-exact"), Case("p", "/users/a%2Fb", "p-star"),
    Case("p", "/usersx", "any"), Case("p", "/a/b", "p-first"), Case("p", "/a/c", "p-second"),
    Case("p", "/x/b", "p-first"),
    Case("p", "/USERS/me", "any"),
    // Methods, then more header fields, then more items of the query, then the order of the file.
    Case("c", "/", "c-plain"), Case("c", "/", "POST", "c-post"), Case("c", "/", "PUT", "c-post"),
    Case("c", "/", "DELETE", "c-put"), Case("c", "/", "post", "c-plain"), Case("c", "/?v=2", "c-query"),
    Case("c", "/?v=2&a%20b=xyz", "c-queries"), Case("c", "/?v=2&a+b=xyz", "c-query"), Case("c", "/?V=2", "c-plain"),
    Case("c", "/?v=1&v=%32", "c-query"), Case("c", "/?v=22", "c-plain"), Case("c", "/?xv=2&&v", "c-plain"),
    Case("c", "/?v=2", "GET", [("x-env", "canary")], "c-header"),
    Case("c", "/", "GET", [("X-ENV", "prod"), ("X-Env", "canary"), ("X-User", "")], "c-headers"),
    Case("c", "/", "GET", [("X-Env", "Canary")], "c-plain"),
    Case("c", "/?v=2", "POST", [("X-Env", "canary")], "c-postHeader"),
    Case("c", "/", "PUT", [("X-Env", "canary")], "c-post"),
    Case("c", "/longer", "POST", [("X-Env", "canary")], "c-longer"),
    // Presence, prefixes, octets.
    Case("d", "/", "d-absent"), Case("d", "/?Q", "d-absent"), Case("d", "/?q", "d-empty"), Case("d", "/?q=", "d-empty"),
    Case("d", "/?q=%", "any"), Case("d", "/", "GET", [("x-a", "")], "any"),
    Case("d", "/?q=1", "GET", [("Authorization", "Bearer x")], "d-bearer"),
    Case("d", "/?q=1", "GET", [("Authorization", "bearer x")], "any"),
    Case("d", "/?q=1&n%c3%A4me", "d-umlaut"), Case("d", "/?q=1&na%CC%88me", "any"), Case("d", "/?%71=1", "any"),
  ])
  func takesTheRequest(request: Case) throws {
    let table = RouteTable(try Configuration(parsing: Array(Self.text.utf8), file: "f").routes)
    guard
      case .forward(let route, _, _) = table.decide(
        request.host, request.target, method: request.method, fields: request.fields)
    else {
      Issue.record("no route")
      return
    }
    #expect(table.routes[route].name == request.expected)
  }
}
