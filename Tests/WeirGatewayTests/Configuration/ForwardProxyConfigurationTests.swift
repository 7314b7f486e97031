import Testing
import WeirTransport

@testable import WeirGateway

/// The keys `forwardProxy`, `upstream.requested` and `connect`, and what goes with them.
@Suite struct ForwardProxyConfigurationTests {
  private static let listeners = """
    listeners:
      - {name: egress, address: "127.0.0.1:3128", forwardProxy: true}
      - {name: web, address: "127.0.0.1:8080"}

    """

  private func read(_ routes: String, beside other: String = "") throws -> Configuration {
    try Configuration(parsing: Array((Self.listeners + other + "routes:\n" + routes).utf8), file: "f")
  }

  /// The problems of the keys of one route, without their places.
  private func problems(_ keys: String, beside other: String = "") -> [String] {
    Configuration.problems(of: Self.listeners + other + "routes: [{name: a, \(keys)}]").map { problem in
      String(problem.split(separator: ": ", maxSplits: 1)[1])
    }
  }

  private func warnings(_ keys: String, beside other: String = "") throws -> [String] {
    try read("  - {name: a, \(keys)}", beside: other).warnings.map { "\($0.path): \($0.message)" }
  }

  @Test func readsEveryKey() throws {
    let configuration = try read(
      """
        - {name: a, match: {listener: egress, host: a.example},
           upstream: {requested: {scheme: https, ports: [443, 8443]}}}
        - {name: b, match: {listener: egress, host: "*.b.example"}, upstream: {requested: {}}}
        - {name: c, match: {host: c.example},
           connect: {ports: [22, 443], connectTimeout: 1s, idleTimeout: 2s, limit: 3}}
        - {name: d, match: {host: d.example}, connect: {}}
      """)
    #expect(configuration.warnings == [])
    #expect(configuration.listeners.map(\.isForwardProxy) == [true, false])
    #expect(
      configuration.routes.map(\.action) == [
        .requested(RequestedUpstream(scheme: .https, ports: [443, 8443])), .requested(RequestedUpstream()),
        .connect(ConnectRule(ports: [22, 443], connectTimeout: 1, idleTimeout: 2, limit: 3)), .connect(ConnectRule()),
      ])
    #expect(ConnectRule() == ConnectRule(ports: [443], connectTimeout: 5, idleTimeout: 600, limit: 1024))
  }

  @Test(arguments: ["connect: {}", "upstream: {requested: {}}"])
  func onlyPublicDestinationsAreReached(action: String) throws {
    func policy(_ keys: String) throws -> DestinationPolicy? {
      try read("  - {name: a, \(keys)}").routes.first?.destinationPolicy
    }
    #expect(try policy("match: {host: h}, \(action)") == .publicOnly)
    #expect(try policy("\(action), destinationPolicy: {}") == .publicOnly)
    let allowing = try policy("\(action), destinationPolicy: {allow: [10.1.0.0/16]}")
    #expect(try allowing == DestinationPolicy(allow: ["10.1.0.0/16"], otherwise: .publicOnly))
    #expect(try policy("\(action), destinationPolicy: {otherwise: any, allow: [10.1.0.0/16]}") == .any)
    #expect(try policy("match: {host: h}, upstream: 'http://h'") == .any)
  }

  @Test(arguments: [("connect: {}", "connect"), ("upstream: {requested: {}}", "upstream.requested")])
  func everyDestinationHasToBeMeant(action: String, path: String) {
    let anywhere = "routes[0].\(path): leads anywhere; name hosts in match.host, or write a destinationPolicy"
    #expect(problems(action) == [anywhere])
    #expect(problems("match: {listener: egress}, \(action)") == [anywhere])
    #expect(problems("match: {host: h}, \(action)") == [])
    #expect(problems("\(action), destinationPolicy: {otherwise: publicOnly}") == [])
  }

  @Test(arguments: [("connect: {}", "connect"), ("upstream: {requested: {}}", "upstream.requested")])
  func aHostThatThePolicyRefusesIsAProblem(action: String, path: String) {
    let text = "a host of match.host: destinationPolicy refuses 127.0.0.1 as not public (loopback, 127.0.0.0/8)"
    #expect(problems("match: {host: [h, '127.1']}, \(action)") == ["routes[0].\(path): \(text); allow it there"])
    #expect(
      problems("match: {host: '127.1'}, \(action), destinationPolicy: {allow: [10.0.0.0/8]}")
        == ["routes[0].destinationPolicy: \(text); allow it there"])
    #expect(problems("match: {host: '127.1'}, \(action), destinationPolicy: {allow: [127.0.0.1]}") == [])
  }

  @Test(arguments: [("connect: {}", "connect"), ("upstream: {requested: {}}", "upstream.requested")])
  func aForwardProxyHasToTakeTheRequests(action: String, path: String) {
    let unreached =
      "is reached by no listener; give one forwardProxy: true, and name it in match.listener if need be"
    #expect(problems("match: {host: h, listener: web}, \(action)") == ["routes[0].\(path): \(unreached)"])
    #expect(problems("match: {host: h, listener: [web, egress]}, \(action)") == [])
    let alone = Configuration.problems(of: "routes: [{name: a, match: {host: h}, \(action)}]")
    #expect(alone.map { $0.hasSuffix("routes[0].\(path): \(unreached)") } == [true])
  }

  private static let bytes = "is of no use with connect, which passes on bytes as they come"

  @Test(arguments: ConnectRule.excluded)
  func whatBelongsToRequestsIsAProblemWithConnect(key: String) {
    #expect(problems("match: {host: h}, connect: {}, \(key): 1") == ["routes[0].\(key): \(Self.bytes)"])
  }

  @Test(arguments: [
    ("match: {host: h, path: /a}", "match.path: is of no use with connect: CONNECT has no path and no query"),
    (
      "match: {host: h, pathPrefix: /}", "match.pathPrefix: is of no use with connect: CONNECT has no path and no query"
    ),
    (
      "match: {host: h, pathPattern: /a}",
      "match.pathPattern: is of no use with connect: CONNECT has no path and no query"
    ),
    ("match: {host: h, query: {a: b}}", "match.query: is of no use with connect: CONNECT has no path and no query"),
    ("match: {host: h, methods: [GET]}", "match.methods: is of no use with connect, which takes CONNECT alone"),
    (
      "match: {host: h}, retry: {limit: 1, keptBytes: 1}",
      "retry.keptBytes: is of no use with connect: only failed connects are repeated"
    ),
    (
      "match: {host: h}, retry: {limit: 1, causes: [connect]}",
      "retry.causes: is of no use with connect: only failed connects are repeated"
    ),
  ])
  func conditionsAndRetriesOfTunnels(keys: String, problem: String) {
    #expect(problems("\(keys), connect: {}") == ["routes[0].\(problem)"])
  }

  @Test func tunnelsMayHaveLimits() throws {
    let keys = """
      match: {host: h, listener: egress, clients: [unix], headers: {a: b}}, connect: {}, clients: {allow: [unix]}, \
      rateLimits: [{name: l, rate: 1/s}], concurrency: [{limit: 1}], timeout: 1s, retry: {limit: 1, backoff: {base: 1ms}}, \
      circuitBreaker: {}, accessLog: off
      """
    #expect(try warnings(keys) == [])
    #expect(
      try warnings("match: {host: h}, connect: {}, retry: {}") == [
        "routes[0].retry: retries nothing: limit is 0, its default; give a limit such as 2"
      ])
  }

  @Test(arguments: [
    ("connect: {ports: []}", "connect.ports: holds no port, so nothing could be reached"),
    ("connect: {ports: [0]}", "connect.ports[0]: must be 1 to 65535"),
    ("connect: {ports: [65536]}", "connect.ports[0]: must be 1 to 65535"),
    (
      "connect: {scheme: https}",
      "connect.scheme: unknown key; known keys are connectTimeout, idleTimeout, limit, ports"
    ),
    ("upstream: {requested: {ports: []}}", "upstream.requested.ports: holds no port, so nothing could be reached"),
    ("upstream: {requested: {scheme: ftp}}", "upstream.requested.scheme: give one of http, https"),
    ("upstream: {requested: {}, url: 'http://h'}", "upstream.url: give only one of url and requested"),
    ("upstream: {requested: {scheme: http}, tls: {}}", "upstream.tls: needs an https:// upstream"),
    (
      "upstream: {requested: {}, tls: {serverName: h}}",
      "upstream.tls.serverName: is of no use with requested, as each target names its own server"
    ),
    (
      "upstream: {requested: {}}, rewriteHost: h",
      "rewriteHost: is of no use with requested, as the target names the host"
    ),
    ("upstream: {requested: {}}, splitBy: client", "splitBy: needs several upstreams to split requests among"),
    ("upstream: {requested: {}}, requested: {}", "requested: unknown key; it belongs into upstream"),
    ("upstream: {requested: {}}, forwardProxy: true", "forwardProxy: unknown key; it belongs into a listener"),
  ])
  func problemsOfKeys(keys: String, problem: String) {
    #expect(problems("match: {host: h}, \(keys)") == ["routes[0].\(problem)"])
  }

  // MARK: Secrets and credentials

  @Test func secretsGoToNamedHosts() throws {
    let anywhere = "would be sent to any host that a client names; name hosts in match.host"
    let secure = "upstream: {requested: {scheme: https}}, credential: key"
    let key = "credentials: [{name: key, bearer: secret}]\n"
    #expect(
      problems("\(secure), destinationPolicy: {otherwise: publicOnly}", beside: key)
        == ["routes[0].credential: \(anywhere)"])
    #expect(try warnings("match: {host: h}, \(secure)", beside: key) == [])
    #expect(
      try warnings("match: {host: h}, upstream: {requested: {}}, credential: key", beside: key) == [
        "routes[0].credential: is sent in clear text where the target is of http://; write requested: { scheme: https }"
      ])
  }

  @Test func fieldsAndRetriesAreComparedAsForAURL() throws {
    let requested = "match: {host: h}, upstream: {requested: {scheme: https}}"
    #expect(try warnings("\(requested), headers: {set: {Authorization: a}}") == [])
    let key = "credentials: [{name: key, bearer: secret}]\n"
    #expect(
      try warnings("\(requested), credential: key, headers: {set: {Authorization: a}}", beside: key) == [
        "routes[0].headers.set.Authorization: has no effect: the credential writes this field in its place"
      ])
    let retry = "retry: {limit: 1, causes: [timeout]}"
    #expect(try warnings("\(requested), \(retry), silenceTimeout: 1s") == [])
    #expect(
      try warnings("\(requested), \(retry)") == [
        "routes[0].retry: retries nothing: nothing can time out; give attemptTimeout or silenceTimeout, or other causes"
      ])
  }

  @Test(arguments: [("connect: {}", "connect"), ("upstream: {requested: {}}", "upstream.requested")])
  func aProxyThatLooksNamesUpNeedsAnOpenPolicy(action: String, path: String) {
    func problems(_ keys: String) -> [String] {
      let text = Self.listeners + "routes: [{name: a, match: {host: h}, \(keys)}]"
      do {
        _ = try ConfigurationFile.parse(Array(text.utf8), file: "f") { root -> ReadRoute? in
          let reader = root.child("routes")?.elements()?.first
          guard let reader, let route = ReadRoute.form.read(reader), let given = route.given else { return nil }
          route.compare(route.route, throughProxy: "http://p:1", given)
          return route
        }
        return []
      } catch {
        return error.problems.map { "\($0.path): \($0.message)" }
      }
    }
    let text =
      "the proxy http://p:1 looks names up itself, so that no address could be judged; write destinationPolicy: "
      + "{ otherwise: any } if clients may reach all that it reaches"
    #expect(problems(action) == ["routes[0].\(path): \(text)"])
    #expect(
      problems("\(action), destinationPolicy: {otherwise: any, deny: [10.0.0.0/8]}")
        == ["routes[0].destinationPolicy: \(text)"])
    #expect(problems("\(action), destinationPolicy: {otherwise: any}") == [])
    #expect(problems("upstream: 'http://h'") == [])
  }

  private static let auth = "auth: {bearerTokens: [token]"

  @Test(arguments: [
    "connect: {}", "upstream: {requested: {}}", "upstream: 'http://h', match: {listener: egress}",
  ])
  func noUpstreamGetsCredentialsForTheProxy(keys: String) throws {
    let host = keys.contains("match") ? "" : "match: {host: h}, "
    #expect(try read("  - {name: a, \(host)\(keys), \(Self.auth)}}").routes.first?.auth?.isOfProxy == true)
    #expect(
      problems("\(host)\(keys), \(Self.auth), forward: true}") == [
        "routes[0].auth.forward: clients of a forward proxy give Proxy-Authorization, which no upstream gets; "
          + "leave it out"
      ])
  }

  @Test func aRouteOfOtherListenersTooAsksAsUsual() throws {
    let route = try read("  - {name: a, upstream: 'http://h', \(Self.auth), forward: true}}").routes.first
    #expect(route?.auth?.isOfProxy == false)
    #expect(route?.auth?.forwards == true)
  }

  /// A route of tunnels has no requests by other listeners, whose lack of TLS is then no matter.
  @Test func onlyListenersThatTakeTheRequestsAreWarnedOf() throws {
    let text =
      "lets passwords and tokens come in clear text by listener \"egress\"; give it tls, or name listeners with TLS"
    let warnings = try warnings("match: {host: h}, connect: {}, \(Self.auth)}")
    #expect(warnings == ["routes[0].auth: \(text) in match.listener"])
  }

  // MARK: Other routes

  @Test func tunnelsAndRequestsDoNotHideEachOther() throws {
    let match = "match: {host: h, listener: egress}"
    let configuration = try read(
      """
        - {name: a, \(match), upstream: {requested: {}}}
        - {name: b, \(match), connect: {}}
        - {name: c, \(match), respond: {status: 404}}
      """)
    #expect(configuration.warnings == [])
  }

  @Test func routesThatAreHiddenAreToldOf() throws {
    let match = "match: {host: h, listener: egress}"
    func route(_ name: String, _ action: String) -> String { "  - {name: \(name), \(match), \(action)}\n" }
    let plain = route("a", "respond: {status: 404}"), requested = "upstream: {requested: {}}"
    #expect(
      try read(plain + route("b", requested)).warnings.map { "\($0.path)" } == ["routes[1].match"])
    for action in [requested, "connect: {}"] {
      let problems = Configuration.problems(
        of: Self.listeners + "routes:\n" + route("a", action) + route("b", action))
      #expect(problems.count == 1)
      #expect(problems.first?.contains("takes the same requests as route \"a\"") == true)
    }
  }
}
