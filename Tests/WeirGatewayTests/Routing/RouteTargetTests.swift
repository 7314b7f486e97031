import Testing

@testable import WeirGateway

/// The targets and locations that routes make of requests.
@Suite struct RouteTargetTests {
  private func decide(
    _ keys: String, prefix: String = "/", _ host: String, _ target: String, method: String = "GET"
  ) throws -> RouteTable.Decision {
    let text = "routes: [{name: a, match: {pathPrefix: \(prefix)}, \(keys)}]"
    let table = RouteTable(try Configuration(parsing: Array(text.utf8), file: "f").routes)
    return table.decide(host, target, method: method)
  }

  @Test(arguments: [
    ("/v1", "/x", "/v1/a?q", "/x/a?q"), ("/v1", "/x", "/v1", "/x"), ("/v1", "/x/", "/v1/", "/x/"),
    ("/v1", "/", "/v1", "/"), ("/v1", "/", "/v1/a", "/a"), ("/", "/x", "/a", "/x/a"), ("/", "/x", "/", "/x/"),
    ("/v1", "/x", "/v1//a", "/x//a"), ("/v1", "/x", "/%761/a", "/x/a"),
  ])
  func prefixesAreReplaced(prefix: String, replacement: String, target: String, expected: String) throws {
    let keys = "upstream: \"http://h/base\", replacePrefix: \(replacement)"
    #expect(try decide(keys, prefix: prefix, "h", target) == .forward(route: 0, target: "/base" + expected.trimmedRoot))
    let plain = "upstream: \"http://h\", replacePrefix: \(replacement)"
    #expect(try decide(plain, prefix: prefix, "h", target) == .forward(route: 0, target: expected))
  }

  @Test(
    arguments: [
      ("scheme: https", "a.example:8080", "/v1/x?q=1", "https://a.example/v1/x?q=1"),
      ("scheme: https, port: 8443", "a.example:8080", "/v1", "https://a.example:8443/v1"),
      ("scheme: https, port: 443", "a.example", "/v1?", "https://a.example/v1?"),
      ("port: 81", "A.example.:8080", "/v1", "http://A.example:81/v1"),
      ("host: b.example", "a.example:8080", "/v1", "http://b.example/v1"),
      ("host: B.example, port: 90", "a.example:8080", "/v1", "http://b.example:90/v1"),
      ("host: \"[::1]\"", "", "/v1", "http://[::1]/v1"),
      ("path: /new, keepQuery: false", "a.example:8080", "/v1/x?q", "http://a.example:8080/new"),
      ("path: /new", "a.example:", "/v1/x?q", "http://a.example/new?q"),
      ("prefix: /v2", "[::1]:80", "/v1/x?q", "http://[::1]:80/v2/x?q"),
      ("prefix: /v2/", "h", "/v1", "http://h/v2"), ("prefix: /", "h", "/v1", "http://h/"),
      ("prefix: /", "h", "/v1//evil.example", "http://h//evil.example"),
      ("scheme: https", "h", "/v1/\u{e9}<\">?\u{e9}<", "https://h/v1/%C3%A9%3C%22%3E?%C3%A9%3C"),
      ("scheme: https", "h", "/v1/%7B[|]?a[0]=100%&b=%5b", "https://h/v1/%7B%5B%7C%5D?a%5B0%5D=100%25&b=%5b"),
      ("scheme: https", "x", "http://other.example/v1", "https://other.example/v1"),
      ("scheme: https", "h", "/v1/./%41", "https://h/v1/A"),
    ])
  func redirectsLeadTo(keys: String, host: String, target: String, expected: String) throws {
    #expect(
      try decide("redirect: {\(keys)}", prefix: "/v1", host, target) == .redirect(route: 0, location: expected))
  }

  @Test(arguments: ["", ":80"])
  func aRedirectNeedsAHost(host: String) throws {
    let decision = try decide("redirect: {scheme: https}", host, "//evil.example/x")
    #expect(decision == .badTarget("a redirect needs the host that the request is meant for"))
  }

  @Test func theServerAsAWholeIsAnsweredToo() throws {
    let redirect = try decide("redirect: {scheme: https}", "h", "*", method: "OPTIONS")
    #expect(redirect == .redirect(route: 0, location: "https://h/"))
    #expect(try decide("respond: {status: 200}", "h", "*", method: "OPTIONS") == .respond(route: 0))
    #expect(try decide("respond: {status: 200}", "h", "http://h", method: "OPTIONS") == .respond(route: 0))
  }
}

extension String {
  /// Behind a base path, a path of nothing but the root is empty.
  fileprivate var trimmedRoot: String { self == "/" ? "" : self }
}
