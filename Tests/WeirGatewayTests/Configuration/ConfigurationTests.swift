import Foundation
import Glibc
import Synchronization
import Testing
import Weir

@testable import WeirGateway

@Suite struct ConfigurationTests {
  @Test func readsEverything() throws {
    let configuration = try read(
      """
      routes:
        - name: api
          match:
            host: API.Example.com.
            pathPrefix: /v1/
          upstream: https://Backend.internal:8443/base/
          stripPrefix: true
          headers:
            set: {X-Env: prod, Host: other.example}
            remove: [Cookie]
          timeout: 1m30s
          streaming: true
          silenceTimeout: 20s
          retry:
            limit: 3
            statusCodes: [502, 503]
            methods: [GET, POST]
            finalResponseFields: [X-Final]
            unlessRetried: false
          destinationPolicy: {allow: [10.1.0.0/16, 2001:db8::1], deny: [10.1.2.3], otherwise: none}
        - name: rest
          upstream: http://[::1]:80
      """)
    var api = Route(
      name: "api", match: RouteMatch(host: "api.example.com", pathPrefix: "/v1"),
      upstream: try Upstream(parsing: "https://backend.internal:8443/base"))
    api.stripPrefix = true
    api.headers.set = [
      HeaderRule(name: "X-Env", value: "prod"), HeaderRule(name: "Host", value: "other.example"),
    ]
    api.headers.remove = ["Cookie"]
    api.timeout = .seconds(90)
    api.streaming = true
    api.silenceTimeout = 20
    api.retry.limit = 3
    api.retry.statusCodes = [502, 503]
    api.retry.methods = ["GET", "POST"]
    api.retry.finalResponseFields = ["X-Final"]
    api.retry.unlessRetried = false
    api.destinationPolicy = try DestinationPolicy(
      allow: ["10.1.0.0/16", "2001:db8::1"], deny: ["10.1.2.3"], otherwise: .refused)
    #expect(configuration.routes == [api, Route(name: "rest", upstream: try Upstream(parsing: "http://[::1]"))])
    #expect(configuration.routes[1].upstream?.authority == "[::1]")
  }

  @Test func readsJSON() throws {
    let text = #"{"routes": [{"name": "a", "upstream": "http:\/\/h", "timeout": 0.5, "match": {}}]}"#
    #expect(try read(text).routes.first?.timeout == .milliseconds(500))
  }

  @Test func defaultsAreSafe() throws {
    let route = try #require(try read("routes: [{name: a, upstream: http://h}]").routes.first)
    #expect(route.timeout == .seconds(30))
    #expect(route.streaming == nil && route.silenceTimeout == nil)
    #expect(route.retry.limit == 0)
    #expect(route.retry.unlessRetried)
    #expect(route.destinationPolicy == .any)
    #expect(route.retry.finalResponseFields == ["X-No-Retry", "x-envoy-ratelimited"])
    #expect(!route.retry.methods.contains("POST"))
    #expect(route.match == RouteMatch(host: nil, pathPrefix: "/"))
  }

  @Test(arguments: [
    ("'127.1'", "127.0.0.1"), ("'[0:0:0:0:0:0:0:1]'", "[::1]"), ("API.Example.com.", "api.example.com"),
  ])
  func aRoutesHostHasOneSpelling(host: String, spelling: String) throws {
    let route = "{name: a, upstream: 'http://h', match: {host: \(host)}}"
    #expect(try read("routes: [\(route)]").routes.map(\.match.hosts) == [[spelling]])
    let other = "{name: b, upstream: 'http://h', match: {host: '\(spelling)'}}"
    #expect(problems("routes: [\(route), \(other)]").count == 1)
  }

  @Test func anUpstreamThatItsOwnPolicyRefusesIsAProblem() {
    let policy = "destinationPolicy: {otherwise: publicOnly}"
    #expect(
      problems("routes: [{name: a, upstream: 'http://10.0.0.1', \(policy)}]") == [
        "weir.yml:1:68: routes[0].destinationPolicy: the upstream: destinationPolicy refuses 10.0.0.1 as not public "
          + "(private, 10.0.0.0/8)"
      ])
    #expect(problems("routes: [{name: a, upstream: 'http://[::1]:80', \(policy)}]").count == 1)
    #expect(problems("routes: [{name: a, upstream: 'http://8.8.8.8', \(policy)}]") == [])
    #expect(problems("routes: [{name: a, upstream: 'http://localhost', \(policy)}]") == [])
  }

  /// One line per problem of one route, whose other keys are right.
  @Test func readsWhatBoundsAnUpstream() throws {
    let text = """
      routes:
        - name: a
          upstream: http://h
          retry: {limit: 1, budget: {ratio: 0.1, minimumPerSecond: 2.5, burst: 3, window: 30s}}
          circuitBreaker: {failureRatio: 0.9, minimumRequests: 5, window: 20s}
          overload: {wait: 2s, waitOverloaded: 0s, initial: 16, minimum: 8, tolerance: 3, silence: off, priority: true}
        - {name: b, upstream: "http://h:1", match: {pathPrefix: /b}, retry: {budget: off, limit: 1}, circuitBreaker: {}}
        - {name: c, upstream: "http://h:2", match: {pathPrefix: /c}, overload: off, circuitBreaker: off}
        - {name: d, upstream: "http://h:3", match: {pathPrefix: /d}, overload: {}, hedge: {after: 200ms, limit: 2}}
        - {name: e, upstream: "http://h:4", match: {pathPrefix: /e}, overload: {wait: 50ms, minimum: 9}, hedge: {quantile: 0.95}}
      """
    let routes = try Configuration(parsing: Array(text.utf8), file: "f").routes
    #expect(
      routes.map(\.retry.budget) == [
        RetryBudget(ratio: 0.1, minimumPerSecond: 2.5, burst: 3, window: 30), nil, RetryBudget(), RetryBudget(),
        RetryBudget(),
      ])
    #expect(
      routes.map(\.circuitBreaker) == [
        CircuitBreaker(failureRatio: 0.9, minimumRequests: 5, window: 20),
        CircuitBreaker(), nil, nil, nil,
      ])
    #expect(
      routes.map(\.overload) == [
        OverloadSettings(
          wait: 2, waitOverloaded: 0, initial: 16, minimum: 8, tolerance: 3, silence: nil, priority: true),
        .default, nil, .default, OverloadSettings(wait: 0.05, waitOverloaded: 0.05, initial: 9, minimum: 9),
      ])
    #expect(
      routes.map(\.hedge) == [
        nil, nil, nil, HedgePlan(delay: .seconds(0.2), limit: 2), HedgePlan(delay: .quantile(0.95), limit: 1),
      ])
  }

  @Test(arguments: [
    ("upstrem: http://h", "2:5: routes[0].upstrem: unknown key; did you mean \"upstream\"?"),
    ("upstream: 5", "2:15: routes[0].upstream: expected a string, found the number 5; write it in quotes"),
    ("upstream: ftp://h", "2:15: routes[0].upstream: the scheme must be http or https"),
    ("match: {pathPrefix: api}", "2:25: routes[0].match.pathPrefix: must begin with /"),
    (
      "match: {host: 'a:80'}",
      "2:19: routes[0].match.host: must be a host name without port and path, such as api.example.com"
    ),
    ("match: {host: 'a b'}", "2:19: routes[0].match.host: \"a b\" is not a host name"),
    ("match: {pathPrefx: /a}", "2:13: routes[0].match.pathPrefx: unknown key; did you mean \"pathPrefix\"?"),
    ("stripPrefix: /a", "2:18: routes[0].stripPrefix: expected true or false, found the string \"/a\""),
    ("timeout: 0", "2:14: routes[0].timeout: must be more than 0 and at most 1 day"),
    (
      "timeout: -1s",
      "2:14: routes[0].timeout: expected a duration such as 30s, 500ms or 1m30s, found the string \"-1s\""
    ),
    ("streaming: 1", "2:16: routes[0].streaming: expected true or false, found the number 1"),
    ("silenceTimeout: 2h", "2:21: routes[0].silenceTimeout: must be 100ms to 1h or off"),
    ("timeout: 2d", "2:14: routes[0].timeout: must be more than 0 and at most 1 day"),
    (
      "timeout: .nan", "2:14: routes[0].timeout: expected a duration such as 30s, 500ms or 1m30s, found the number .nan"
    ),
    ("timeout: [1]", "2:14: routes[0].timeout: expected a duration such as 30s, 500ms or 1m30s, found a list"),
    ("timeout:", "2:13: routes[0].timeout: expected a duration such as 30s, 500ms or 1m30s, found nothing"),
    ("timeout: null", "2:14: routes[0].timeout: expected a duration such as 30s, 500ms or 1m30s, found nothing"),
    ("stripPrefix:", "2:17: routes[0].stripPrefix: expected true or false, found nothing"),
    ("match:", "2:11: routes[0].match: expected a mapping (key: value), found nothing"),
    ("match: {host: }", "2:19: routes[0].match.host: expected a string, found nothing"),
    ("retry: ~", "2:12: routes[0].retry: expected a mapping (key: value), found nothing"),
    ("retry: {limit: }", "2:20: routes[0].retry.limit: expected a whole number, found nothing"),
    ("retry: {methods: }", "2:22: routes[0].retry.methods: expected a list (- item), found nothing"),
    ("retry: {limit: 11}", "2:20: routes[0].retry.limit: must be 0 to 10"),
    ("retry: {limit: -1}", "2:20: routes[0].retry.limit: must be 0 to 10"),
    (
      "retry: {statusCodes: [600]}",
      "2:27: routes[0].retry.statusCodes[0]: 600 is not a failure; give a status code from 400 to 599"
    ),
    (
      "retry: {statusCodes: [200]}",
      "2:27: routes[0].retry.statusCodes[0]: 200 is not a failure; give a status code from 400 to 599"
    ),
    ("retry: {methods: ['a b']}", "2:23: routes[0].retry.methods[0]: \"a b\" is not a method name"),
    (
      "retry: {finalResponseFields: ['a b']}",
      "2:35: routes[0].retry.finalResponseFields[0]: \"a b\" is not a field name"
    ),
    (
      "destinationPolicy: publicOnly",
      "2:24: routes[0].destinationPolicy: expected a mapping (key: value), found the string \"publicOnly\""
    ),
    ("destinationPolicy: {}", "2:24: routes[0].destinationPolicy.otherwise: is missing; one of any, publicOnly, none"),
    (
      "destinationPolicy: {otherwise: public}",
      "2:36: routes[0].destinationPolicy.otherwise: give one of any, publicOnly, none"
    ),
    (
      "destinationPolicy: {otherwise: none, allow: [10.0.0.1/8]}",
      "2:50: routes[0].destinationPolicy.allow[0]: '10.0.0.1/8' has bits set behind its length; the network is 10.0.0.0/8"
    ),
    (
      "destinationPolicy: {otherwise: any, deny: [h]}",
      "2:48: routes[0].destinationPolicy.deny[0]: 'h' is not a network; write 192.0.2.0/24, 2001:db8::/32 or an address"
    ),
    ("retry: {unlessRetried: 1}", "2:28: routes[0].retry.unlessRetried: expected true or false, found the number 1"),
    ("retry: {methods: [get]}", "2:23: routes[0].retry.methods[0]: methods are case-sensitive; write GET"),
    (
      "retry: {budget: on}",
      "2:21: routes[0].retry.budget: expected a mapping (key: value) or off, found the string \"on\"; "
        + "write {} for the defaults"
    ),
    ("retry: {budget: {ratio: 1.5}}", "2:29: routes[0].retry.budget.ratio: must be 0 to 1"),
    ("retry: {budget: {ratio: .nan}}", "2:29: routes[0].retry.budget.ratio: must be 0 to 1"),
    ("retry: {budget: {burst: -1}}", "2:29: routes[0].retry.budget.burst: must be 0 to 1000000"),
    (
      "retry: {budget: {burst: ten}}", "2:29: routes[0].retry.budget.burst: expected a number, found the string \"ten\""
    ),
    ("retry: {budget: {window: 100ms}}", "2:30: routes[0].retry.budget.window: must be 1s to 60s"),
    (
      "retry: {budget: {per: 1}}",
      "2:22: routes[0].retry.budget.per: unknown key; known keys are burst, minimumPerSecond, ratio, window"
    ),
    (
      "circuitBreaker: 5", "2:21: routes[0].circuitBreaker: expected a mapping (key: value) or off, found the number 5"
    ),
    ("hedge: {}", "2:12: routes[0].hedge: needs one of after (such as 200ms) and quantile (such as 0.95)"),
    (
      "hedge: {after: 1s, quantile: 0.9}",
      "2:12: routes[0].hedge: needs one of after (such as 200ms) and quantile (such as 0.95)"
    ),
    ("hedge: {quantile: 2}", "2:23: routes[0].hedge.quantile: must be 0.5 to 0.999"),
    ("circuitBreaker: {failureRatio: 0}", "2:36: routes[0].circuitBreaker.failureRatio: must be 0.01 to 1"),
    ("overload: {wait: 61s}", "2:22: routes[0].overload.wait: must be 10ms to 60s"),
    ("overload: {waitOverloaded: 2s}", "2:32: routes[0].overload.waitOverloaded: must be at most wait, 1.5s"),
    ("overload: {minimum: 9, initial: 8}", "2:37: routes[0].overload.initial: must be at least minimum, 9"),
    ("overload: {tolerance: 1}", "2:27: routes[0].overload.tolerance: must be 1.1 to 100"),
    ("overload: {silence: 100ms}", "2:25: routes[0].overload.silence: must be 500ms to 60s or off"),
    ("overload: 5", "2:15: routes[0].overload: expected a mapping (key: value) or off, found the number 5"),
    ("hedge: {after: 30s}", "2:20: routes[0].hedge.after: must be less than the route's timeout, 30s"),
    ("match: {host: 'a..b'}", "2:19: routes[0].match.host: \"a..b\" is not a host name"),
    ("headers: {set: {'a b': c}}", "2:28: routes[0].headers.set[\"a b\"]: \"a b\" is not a field name"),
    (
      "headers: {set: {a: 1}}",
      "2:24: routes[0].headers.set.a: expected a string, found a number; write it in quotes"
    ),
    (
      "headers: {set: {a: \"b\\r\\nc\"}}",
      "2:24: routes[0].headers.set.a: a field value must not hold control characters, nor begin or end with a space"
    ),
    ("headers: {set: {a: b, A: c}}", "2:30: routes[0].headers.set.A: the same field is set twice"),
    ("headers: {set: {TE: c}}", "2:25: routes[0].headers.set.TE: the gateway sets or drops TE itself; leave it out"),
    ("headers: {set: {via: c}}", "2:26: routes[0].headers.set.via: the gateway finds loops by Via; leave it out"),
    ("headers: {remove: [Via]}", "2:24: routes[0].headers.remove[0]: the gateway finds loops by Via; leave it out"),
    (
      "headers: {remove: [Host]}",
      "2:24: routes[0].headers.remove[0]: every request needs Host; set another value instead"
    ),
    (
      "headers: {set: {a: b}, remove: [A]}",
      "2:37: routes[0].headers.remove[0]: the field is also under set, which replaces it anyway"
    ),
    ("name: b", "3:5: routes[0].name: duplicate key; first given at line 2"),
  ])
  func saysWhatIsWrongWithARoute(line: String, expected: String) {
    let name = "name: a"
    let upstream = line.hasPrefix("upstr") ? "" : "    upstream: http://h\n"
    // The line that is wrong comes second, so that its place shows both coordinates.
    let isDuplicate = line.hasPrefix("name")
    let text =
      isDuplicate ? "routes:\n  - \(name)\n    \(line)\n\(upstream)" : "routes:\n  - \(line)\n    \(name)\n\(upstream)"
    #expect(problems(text).contains("weir.yml:" + expected))
    #expect(problems(text).count == (line.hasPrefix("upstrem") ? 2 : 1))
  }

  /// Any token is a method, so a slip can't be told from a word of somebody's own.
  @Test func unknownMethodsAreTakenWithAWarning() throws {
    let configuration = try read(
      """
      routes:
        - {name: a, upstream: "http://h", retry: {limit: 1, methods: [GTE, PROPFIND, X-OWN]}}
        - name: b
          upstream: http://h
          match: {pathPrefix: /b}
          retry:
            limit: 1
            methods: [GET, propfind]
      """)
    #expect(configuration.routes.first?.retry.methods == ["GTE", "PROPFIND", "X-OWN"])
    #expect(
      configuration.warnings.map { $0.description(file: "f", severity: "warning") } == [
        "f:2:65: warning: routes[0].retry.methods[0]: \"GTE\" is not a registered method; did you mean \"GET\"?",
        "f:2:80: warning: routes[0].retry.methods[2]: \"X-OWN\" is not a registered method; it is taken as written",
        "f:8:22: warning: routes[1].retry.methods[1]: \"propfind\" is not a registered method; "
          + "did you mean \"PROPFIND\"?",
      ])
  }

  @Test func retriesThatNeverHappenAreWarnedOf() throws {
    let configuration = try read(
      """
      routes:
        - {name: a, upstream: "http://h", retry: {statusCodes: [503]}}
        - {name: b, upstream: "http://h", match: {pathPrefix: /b}, retry: {limit: 2, methods: []}}
        - name: c
          upstream: http://h
          match: {pathPrefix: /c}
          retry: {limit: 2, budget: {ratio: 0, minimumPerSecond: 0.05, burst: 0.4}}
        - name: d
          upstream: http://h
          match: {pathPrefix: /d}
          retry: {limit: 2, budget: {ratio: 0, minimumPerSecond: 0.1, burst: 0}}
      """)
    #expect(
      configuration.warnings.map { $0.description(file: "f", severity: "warning") } == [
        "f:2:44: warning: routes[0].retry: retries nothing: limit is 0, its default; give a limit such as 2",
        "f:3:69: warning: routes[1].retry: retries nothing: methods is empty; "
          + "without the key, idempotent methods are retried",
        "f:7:12: warning: routes[2].retry: retries nothing: its budget never comes to one retry; "
          + "give it a ratio or more per second",
      ])
  }

  @Test func whatIsRightIsNotWarnedOf() throws {
    let methods = RegisteredMethod.names.sorted().joined(separator: ", ")
    let text = "routes: [{name: a, upstream: 'http://h', retry: {limit: 1, methods: [\(methods)]}}]"
    #expect(try read(text).warnings.isEmpty)
    #expect(KnownMethod.allCases.allSatisfy { $0 == .other || RegisteredMethod.names.contains($0.label) })
  }

  @Test(arguments: [
    (
      "a: 1",
      [
        "1:1: a: unknown key; known keys are accessLog, credentials, listeners, proxy, requestId, routes, telemetry, trace, upstreams",
        "1:1: routes: is missing; list at least one route",
      ]
    ),
    ("routes: []", ["1:9: routes: holds 0 routes; give 1 to 1000"]),
    ("routes:", ["1:8: routes: expected a list (- item), found nothing"]),
    ("routes: [null]", ["1:10: routes[0]: expected a mapping (key: value), found nothing"]),
    ("5", ["1:1: expected a mapping (key: value), found the number 5"]),
    (
      "routes:\n  - {}",
      [
        "2:5: routes[0].name: is missing; it labels the route's metrics and log lines",
        "2:5: routes[0].upstream: is missing; the URL that requests are sent to, such as http://127.0.0.1:9000, or an "
          + "entry of upstreams",
      ]
    ),
  ])
  func saysWhatIsWrongWithTheWhole(text: String, expected: [String]) {
    #expect(problems(text) == expected.map { "weir.yml:" + $0 })
  }

  @Test func reportsAllProblemsInTheOrderOfTheFile() {
    let text = """
      routes:
        - name: a
          upstream: http://h?x
          timeout: soon
        - name: a
          upstream: http://h
          match: {pathPrefix: /x/}
        - name: ""
          upstream: http://h
          match: {pathPrefix: /x}
          surprise: 1
      """
    #expect(
      problems(text) == [
        "weir.yml:3:15: routes[0].upstream: must have no query; requests bring their own",
        "weir.yml:4:14: routes[0].timeout: expected a duration such as 30s, 500ms or 1m30s, found the string \"soon\"",
        "weir.yml:5:11: routes[1].name: another route is named \"a\" (line 2); names must differ",
        "weir.yml:8:11: routes[2].name: must be 1 to 64 bytes of text without control characters",
        "weir.yml:10:12: routes[2].match: takes the same requests as route \"a\" (line 7, column 12)",
        "weir.yml:11:5: routes[2].surprise: unknown key; known keys are "
          + ReadRoute.mapping.keys.map(\.name).sorted().joined(separator: ", "),
      ])
  }

  func read(_ text: String) throws -> Configuration {
    try Configuration(parsing: Array(text.utf8), file: "weir.yml")
  }

  func problems(_ text: String) -> [String] {
    do {
      _ = try Configuration(parsing: Array(text.utf8), file: "weir.yml")
      return []
    } catch {
      return error.problems.map { $0.description(file: error.file) }
    }
  }
}
