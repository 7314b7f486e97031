import Testing

@testable import WeirGateway

/// `credential` of routes and of entries of `upstreams`: names, and what is said of credentials beside other keys.
@Suite struct CredentialNamesTests {
  private static let credentials = """
    credentials:
      - {name: token, bearer: t}
      - {name: key, field: {name: X-Key, value: k}}
    upstreams:
      - {name: safe, scheme: https, endpoints: ["h:1"], credential: token}
      - {name: keyed, scheme: https, endpoints: ["h:1"], credential: key}
      - {name: bare, scheme: https, endpoints: ["h:1"]}
      - {name: plain, endpoints: ["127.0.0.1:1", "h:1"]}
      - {name: local, endpoints: ["127.0.0.1:1", "localhost:2", "[::1]:1", "unix:/run/a"]}

    """

  /// What is said of a route whose first line comes behind its name, problems or warnings, but for the credentials and
  /// upstreams that nothing names.
  private func said(_ line: String, of credentials: String = credentials) -> [String] {
    let text = "\(credentials)routes:\n  - name: r\n    \(line)\n"
    let first = credentials.count { $0 == "\n" } + 1
    do {
      return try Configuration(parsing: Array(text.utf8), file: "f").warnings
        .filter { ($0.position?.line ?? 0) > first }
        .map { "+\(($0.position?.line ?? 0) - first):\($0.position?.column ?? 0): \($0.path): \($0.message)" }
    } catch {
      return error.problems.map {
        "+\(($0.position?.line ?? 0) - first):\($0.position?.column ?? 0): \($0.path): problem: \($0.message)"
      }
    }
  }

  private static let clear = "in clear text; use https, or a loopback address or Unix socket"
  private static let replaced = "has no effect: the credential writes this field in its place"

  @Test(
    arguments: [
      ("upstream: 'https://h'\n    credential: token", []),
      (
        "upstream: 'https://h'\n    credential: tokens",
        ["+3:17: routes[0].credential: problem: no credential is named \"tokens\"; did you mean \"token\"?"]
      ),
      (
        "upstream: 'https://h'\n    credential: payments",
        [
          "+3:17: routes[0].credential: problem: no credential is named \"payments\"; there are \"key\", \"token\""
        ]
      ),
      (
        "upstream: 'https://h'\n    credential: [token]",
        ["+3:17: routes[0].credential: problem: expected a string, found a list"]
      ),
      (
        "upstream: 'https://h'\n    credentials: token",
        ["+3:5: routes[0].credentials: problem: unknown key; did you mean \"credential\"?"]
      ),
      (
        "respond: {status: 200}\n    credential: token",
        [
          "+3:17: routes[0].credential: problem: is of no use with respond, which sends nothing to an upstream"
        ]
      ),
      // Clear text.
      (
        "upstream: 'http://h'\n    credential: token",
        ["+3:17: routes[0].credential: is sent to \"h\" \(clear)"]
      ),
      ("upstream: 'http://127.1.2.3'\n    credential: token", []),
      ("upstream: 'http://localhost:1'\n    credential: token", []),
      ("upstream: 'http://[::1]:1'\n    credential: token", []),
      ("upstream: local\n    credential: token", []),
      ("upstream: plain\n    credential: token", ["+3:17: routes[0].credential: is sent to \"h:1\" \(clear)"]),
      (
        "upstream: [{name: local}, {name: plain}]\n    credential: key",
        ["+3:17: routes[0].credential: is sent to \"h:1\" \(clear)"]
      ),
      ("upstream: bare\n    credential: token\n    fallback: {upstream: plain}", []),
      // The client's own field.
      (
        "upstream: 'https://h'\n    credential: token\n    auth: {bearerTokens: [t], forward: true}",
        [
          "+4:40: routes[0].auth.forward: problem: credential \"token\" writes Authorization in place of the client's; leave "
            + "one of them out"
        ]
      ),
      (
        "upstream: safe\n    auth: {bearerTokens: [t], forward: true}",
        [
          "+3:40: routes[0].auth.forward: problem: credential \"token\" writes Authorization in place of the client's; leave "
            + "one of them out"
        ]
      ),
      (
        "upstream: bare\n    fallback: {upstream: safe}\n    auth: {bearerTokens: [t], forward: true}",
        [
          "+4:40: routes[0].auth.forward: problem: credential \"token\" writes Authorization in place of the client's; leave "
            + "one of them out"
        ]
      ),
      ("upstream: keyed\n    credential: key\n    headers: {set: {Authorization: a}}", []),
      // Fields that are replaced.
      (
        "upstream: bare\n    credential: token\n    headers: {set: {authorization: a, X-B: b}, add: {AUTHORIZATION: c}}",
        [
          "+4:36: routes[0].headers.set.authorization: \(replaced)",
          "+4:69: routes[0].headers.add.AUTHORIZATION: \(replaced)",
        ]
      ),
      ("upstream: keyed\n    headers: {set: {X-Key: a}}", ["+3:28: routes[0].headers.set.X-Key: \(replaced)"]),
      ("upstream: [{name: keyed}, {name: bare}]\n    headers: {set: {X-Key: a}}", []),
      ("upstream: keyed\n    headers: {set: {X-Key: a}}\n    fallback: {upstream: bare}", []),
      (
        "upstream: keyed\n    headers: {set: {X-Key: a}}\n    fallback: {respond: {status: 503}}",
        ["+3:28: routes[0].headers.set.X-Key: \(replaced)"]
      ),
    ])
  func saysWhatDoesNotFit(line: String, expected: [String]) { #expect(said(line) == expected) }

  @Test func anUpstreamInClearTextIsWarnedOfOnce() throws {
    let text = """
      credentials: [{name: a, bearer: t}]
      upstreams:
        - {name: one, endpoints: ["h:1"], credential: a}
        - {name: two, srv: _a._tcp.b.c, credential: a}
        - {name: three, file: /f, credential: a}
        - {name: four, endpoints: ["127.0.0.1:1"], credential: a}
      routes:
        - {name: r, upstream: one, fallback: {upstream: two}}
        - {name: s, match: {path: /s}, upstream: one, fallback: {upstream: three}}
        - {name: t, match: {path: /t}, upstream: four}
      """
    #expect(
      try Configuration(parsing: Array(text.utf8), file: "f").warnings.map { $0.description(file: "f") } == [
        "f:3:49: upstreams[0].credential: is sent to \"h:1\" \(Self.clear)",
        "f:4:47: upstreams[1].credential: is sent to \"_a._tcp.b.c\" \(Self.clear)",
        "f:5:41: upstreams[2].credential: is sent to \"/f\" \(Self.clear)",
      ])
  }

  @Test func aCredentialThatNothingNamesIsWarnedOf() throws {
    let text = "credentials: [{name: a, bearer: t}]\nroutes: [{name: r, upstream: 'https://h'}]\n"
    #expect(
      try Configuration(parsing: Array(text.utf8), file: "f").warnings.map { $0.description(file: "f") } == [
        "f:1:22: credentials[0].name: no route, upstream, proxy or telemetry names this credential"
      ])
  }

  @Test func namesOfEntriesWithProblemsAreKnown() {
    func problems(_ credentials: String) -> [String] {
      Configuration.problems(
        of: "credentials: \(credentials)\nroutes: [{name: r, upstream: 'https://h', credential: b}]\n")
    }
    #expect(problems("[{name: b, bearer: 5}]").count == 1)
    #expect(problems("[{name: b c, bearer: a}]").count == 1)
    #expect(problems("5").count == 1)
    #expect(problems("[{name: c, bearer: 5}]").count == 2)
    #expect(problems("[]") == ["2:55: routes[0].credential: no credential is named \"b\"; the file has no credentials"])
    #expect(
      Configuration.problems(of: "upstreams: [{name: u, endpoints: ['h:1'], credential: b}]\n\(Self.route)") == [
        "1:55: upstreams[0].credential: no credential is named \"b\"; the file has no credentials"
      ])
  }

  private static let route = "routes: [{name: r, upstream: u}]\n"
}
