import Testing

@testable import WeirGateway

@Suite struct RouteConflictsTests {
  /// The problems or, if there are none, the warnings of two or more matches.
  private func findings(_ matches: [String]) -> [String] {
    let routes = matches.enumerated().map { "  - {name: r\($0), upstream: \"http://h\", match: {\($1)}}" }
    do {
      let text = "routes:\n" + routes.joined(separator: "\n")
      let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
      return configuration.warnings.map { $0.description(file: "f", severity: "warning") }
    } catch {
      return error.problems.map { $0.description(file: "f") }
    }
  }

  @Test(
    arguments: [
      (["pathPrefix: /a", "pathPattern: /a/**"], ""), (["path: /a", "pathPattern: /a"], ""),
      (["methods: [GET, PUT]", "methods: [PUT, GET]"], ""), (["headers: {X-A: b}", "headers: {x-a: b}"], ""),
      (["query: {a: {present: true}, b: c}", "query: {b: c, a: {present: true}}"], ""),
      (["host: [a, b]", "host: [c, B]"], " of host b"), (["host: [a, b]", "host: a"], ""),
      (["host: '*.A'", "host: '*.a.'"], ""),
    ])
  func sameRequestsAreAProblem(matches: [String], host: String) {
    #expect(
      findings(matches) == [
        "f:3:45: routes[1].match: takes the same requests\(host) as route \"r0\" (line 2, column 45)"
      ])
  }

  @Test(
    arguments: [
      (["methods: [GET, PUT]", "methods: [PUT]"], [1]),
      (["methods: [GET]", "methods: [PUT]", "methods: [GET, PUT]"], [2]),
      (["headers: {A: {present: true}}", "headers: {A: b}"], [1]),
      (["headers: {A: {prefix: b}}", "headers: {A: {prefix: bc}}"], [1]),
      (["query: {A: {prefix: b}}", "query: {A: bc}"], [1]),
      (["host: [a, b], methods: [GET, PUT]", "host: [a, b], methods: [GET]"], [1]),
      // Reached, at least for some requests.
      (["methods: [PUT]", "methods: [GET, PUT]"], []), (["methods: [GET]", "pathPrefix: /"], []),
      (["headers: {A: b}", "headers: {A: {present: true}}"], []), (["headers: {A: b}", "headers: {B: b}"], []),
      (["headers: {A: {present: false}}", "headers: {A: {present: true}}"], []),
      (["query: {a: b}", "query: {A: b}"], []), (["path: /a", "path: /a/"], []),
      (["pathPattern: '/a/*/**'", "pathPattern: '/a/*'"], []), (["pathPattern: '/*/b'", "pathPattern: '/a/*'"], []),
      (["pathPrefix: /", "pathPrefix: /a"], []),
      (["host: [a, b], methods: [GET, PUT]", "host: [a, c], methods: [GET]"], []),
      (["host: '*.a'", "host: b.a"], []), (["pathPattern: '/*'", "pathPattern: '/*/'"], []),
    ] as [([String], [Int])])
  func routesThatNothingReachesAreWarnedOf(matches: [String], unreached: [Int]) {
    #expect(
      findings(matches)
        == unreached.map { route in
          "f:\(route + 2):45: warning: routes[\(route)].match: is never reached: route \"r\(route - 1)\" "
            + "(line \(route + 1), column 45), or others before it, takes all of its requests"
        })
  }

  @Test func anImpliedMatchHasThePlaceOfItsRoute() {
    let text = "routes:\n  - {name: a, upstream: \"http://h\"}\n  - {name: b, upstream: \"http://h\", match: {}}"
    let error = #expect(throws: ConfigurationError.self) { try Configuration(parsing: Array(text.utf8), file: "f") }
    #expect(
      error?.lines == ["f:3:44: routes[1].match: takes the same requests as route \"a\" (line 2, column 5)"])
  }

  @Test func aThousandRoutesAreCompared() throws {
    let routes = (0..<1000).map {
      "  - {name: r\($0), upstream: \"http://h\", match: {pathPrefix: /p\($0 % 999 + 1000)}}"
    }
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(parsing: Array(("routes:\n" + routes.joined(separator: "\n")).utf8), file: "f")
    }
    #expect(error?.problems.count == 1)
  }
}
