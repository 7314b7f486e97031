import Testing
import WeirTransport

@testable import WeirGateway

/// The keys that bound attempts and say which are repeated: `attemptTimeout`, and those of `retry` and its `backoff`.
@Suite struct AttemptConfigurationTests {
  private static func text(_ keys: String) -> String {
    "routes:\n  - name: a\n    upstream: http://h\n    \(keys)\n"
  }

  private static func route(_ keys: String) throws -> Route {
    try #require(try Configuration(parsing: Array(text(keys).utf8), file: "f").routes.first)
  }

  @Test func readsEveryKey() throws {
    let keys =
      "limit: 2, keptBytes: 1048576, backoff: {base: 20ms, maximum: 1s}, idempotencyKey: true, causes: [timeout, connect]"
    let route = try Self.route("attemptTimeout: 1500ms\n    retry: {\(keys)}")
    #expect(route.attemptTimeout == 1.5)
    #expect(route.retry.keptBytes == 1 << 20)
    #expect(route.retry.backoff == RouteBackoff(base: 0.02, maximum: 1))
    #expect(route.retry.idempotencyKey)
    #expect(route.retry.causes == [.connect, .timeout])
  }

  @Test func defaults() throws {
    for keys in ["timeout: 5s", "retry: {limit: 1, backoff: {}}"] {
      let route = try Self.route(keys)
      #expect(route.attemptTimeout == nil)
      #expect(route.retry.keptBytes == 65536)
      #expect(route.retry.backoff == RouteBackoff(base: 0.1, maximum: 10))
      #expect(!route.retry.idempotencyKey)
      #expect(route.retry.causes == [.connect, .lost, .timeout, .status])
    }
  }

  @Test func theLongestDelayFollowsTheFirst() throws {
    #expect(
      try Self.route("retry: {limit: 1, backoff: {base: 1m}}").retry.backoff == RouteBackoff(base: 60, maximum: 60))
    #expect(
      try Self.route("retry: {limit: 1, backoff: {base: 10s}}").retry.backoff == RouteBackoff(base: 10, maximum: 10))
  }

  /// The edges of what is right.
  @Test(arguments: [
    "attemptTimeout: 10ms", "attemptTimeout: 29.999s", "timeout: 1d\n    attemptTimeout: 86399s",
    "attemptTimeout: 1s\n    hedge: {after: 999ms}", "attemptTimeout: 1s\n    hedge: {quantile: 0.9}",
    "retry: {limit: 1, keptBytes: 0}", "retry: {limit: 1, keptBytes: 16777216}",
    "retry: {limit: 1, backoff: {base: 1ms, maximum: 1ms}}", "retry: {limit: 1, backoff: {base: 60s, maximum: 60s}}",
    "retry: {limit: 1, causes: [connect, lost, timeout, status]}", "retry: {limit: 1, causes: [lost]}",
  ])
  func whatIsRight(keys: String) throws {
    let text = Self.text(keys)
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    #expect(configuration.warnings.isEmpty)
    #expect(try Configuration(parsing: Array(text.utf8), file: "f") == configuration)
  }

  private static let duration = "expected a duration such as 30s, 500ms or 1m30s, found"

  @Test(
    arguments: [
      ("attemptTimeout: 9ms", ["4:21: routes[0].attemptTimeout: must be 10ms to 1d"]),
      ("attemptTimeout: 2d", ["4:21: routes[0].attemptTimeout: must be 10ms to 1d"]),
      (
        "attemptTimeout: off",
        ["4:21: routes[0].attemptTimeout: leave the key out; without it attempts have no time of their own"]
      ),
      ("attemptTimeout: 30s", ["4:21: routes[0].attemptTimeout: must be less than the route's timeout, 30s"]),
      (
        "timeout: 2s\n    attemptTimeout: 2500ms",
        ["5:21: routes[0].attemptTimeout: must be less than the route's timeout, 2s"]
      ),
      (
        "attemptTimeout: 200ms\n    hedge: {after: 200ms}",
        ["5:20: routes[0].hedge.after: must be less than the route's attemptTimeout, 200ms"]
      ),
      (
        "attemptTimeout: 40s\n    hedge: {after: 30s}",
        [
          "4:21: routes[0].attemptTimeout: must be less than the route's timeout, 30s",
          "5:20: routes[0].hedge.after: must be less than the route's timeout, 30s",
        ]
      ),
      // Nothing is compared with a time that could not be read.
      (
        "timeout: soon\n    attemptTimeout: 40s\n    hedge: {after: 40s}",
        ["4:14: routes[0].timeout: \(duration) the string \"soon\""]
      ),
      (
        "attemptTimeout: soon\n    hedge: {after: 1s}",
        ["4:21: routes[0].attemptTimeout: \(duration) the string \"soon\""]
      ),
    ])
  func timesOfAttempts(keys: String, expected: [String]) {
    #expect(Configuration.problems(of: Self.text(keys)) == expected)
  }

  @Test(
    arguments: [
      ("keptBytes: -1", "24: routes[0].retry.keptBytes: must be 0 to 16777216"),
      ("keptBytes: 16777217", "24: routes[0].retry.keptBytes: must be 0 to 16777216"),
      (
        "keptBytes: 64Ki",
        "24: routes[0].retry.keptBytes: expected a whole number, found the string \"64Ki\""
      ),
      (
        "backoff: off",
        "22: routes[0].retry.backoff: expected a mapping (key: value), found the string \"off\""
      ),
      ("backoff: {base: 0}", "29: routes[0].retry.backoff.base: must be 1ms to 60s"),
      ("backoff: {maximum: 61s}", "32: routes[0].retry.backoff.maximum: must be 1ms to 60s"),
      ("backoff: {base: 2s, maximum: 1s}", "42: routes[0].retry.backoff.maximum: must be at least base, 2s"),
      ("backoff: {maximum: 50ms}", "32: routes[0].retry.backoff.maximum: must be at least base, 100ms"),
      ("backoff: {factor: 2}", "23: routes[0].retry.backoff.factor: unknown key; known keys are base, maximum"),
      (
        "idempotencyKey: yes",
        "29: routes[0].retry.idempotencyKey: expected true or false, found the string \"yes\""
      ),
      (
        "causes: []", "21: routes[0].retry.causes: holds no cause, so nothing is retried; leave the key out for all"
      ),
      (
        "causes: connect",
        "21: routes[0].retry.causes: expected a list (- item), found the string \"connect\""
      ),
      ("causes: [connect, tls]", "31: routes[0].retry.causes[1]: give one of connect, lost, timeout, status"),
      (
        "causes: [503]", "22: routes[0].retry.causes[0]: expected a string, found the number 503; write it in quotes"
      ),
      ("causes: [lost, lost]", "28: routes[0].retry.causes[1]: \"lost\" is already in this list (line 4)"),
    ])
  func keysOfRetry(keys: String, expected: String) {
    #expect(Configuration.problems(of: Self.text("retry: {\(keys)}")) == ["4:\(expected)"])
  }

  @Test(arguments: ["backoff: {}", "causes: [lost]", "idempotencyKey: true", "keptBytes: 1"])
  func keysOfRetryBelongThere(line: String) throws {
    let key = try #require(line.split(separator: ":").first)
    #expect(
      Configuration.problems(of: Self.text(line)) == ["4:5: routes[0].\(key): unknown key; it belongs into retry"])
  }

  @Test(arguments: [
    ("attemptTimeout", "it belongs into the route, beside timeout"),
    ("perTryTimeout", "it is attemptTimeout, beside timeout"),
  ])
  func theTimeOfAttemptsIsNoKeyOfRetry(key: String, hint: String) {
    #expect(
      Configuration.problems(of: Self.text("retry: {limit: 1, \(key): 1s}"))
        == ["4:23: routes[0].retry.\(key): unknown key; \(hint)"])
  }

  @Test func theTimeOfAttemptsBelongsIntoRoutes() {
    #expect(
      Configuration.problems(of: "attemptTimeout: 1s\n" + Self.text("timeout: 5s"))
        == ["1:1: attemptTimeout: unknown key; it belongs into the routes it is meant for"])
  }

  @Test(arguments: [
    "attemptTimeout: 2s", "retry: {limit: 1, keptBytes: 2}", "retry: {limit: 1, backoff: {base: 2ms}}",
    "retry: {limit: 1, backoff: {maximum: 2s}}", "retry: {limit: 1, idempotencyKey: true}",
    "retry: {limit: 1, causes: [lost]}",
  ])
  func configurationsWithOtherKeysDiffer(keys: String) throws {
    let limit = try Self.route("retry: {limit: 1}")
    let none = try Self.route("timeout: 30s")
    #expect(try Self.route(keys) != (keys.hasPrefix("retry") ? limit : none))
  }

  // MARK: Warnings

  /// The warnings of a route with a `retry` in line 7.
  private static func warnings(_ upstream: String, _ retry: String, _ line: String) throws -> [String] {
    let text = """
      upstreams: [{name: u, endpoints: ["127.0.0.1:1"]}, {name: v, endpoints: ["127.0.0.1:1"], credential: c}]
      credentials: [{name: c, bearer: token}]
      routes:
        - {name: all, match: {path: /all}, upstream: [{name: u}, {name: v}]}
        - name: r
          upstream: \(upstream)
          retry: \(retry)
          \(line)
      """
    return try Configuration(parsing: Array(text.utf8), file: "f").warnings.map { $0.description(file: "f") }
  }

  private static let both = "[{name: u}, {name: v}]"
  private static let fallback = "fallback: {upstream: u}"

  /// Keys that need no limit, as a fallback, a credential or a hedge uses them.
  @Test(
    arguments: [
      ("http://h", "{keptBytes: 1000000}", fallback), ("http://h", "{limit: 0, keptBytes: 1}", fallback),
      ("http://h", "{idempotencyKey: true, methods: [GET]}", fallback),
      ("http://127.0.0.1", "{keptBytes: 1}", "credential: c"), ("v", "{keptBytes: 1}", ""),
      (both, "{keptBytes: 1}", ""), ("http://h", "{budget: off, unlessRetried: false}", "hedge: {after: 1s}"),
      ("http://h", "{limit: 1, methods: [], idempotencyKey: true}", ""),
      ("http://h", "{limit: 1, statusCodes: [], causes: [status, lost]}", ""),
      ("http://h", "{limit: 1, statusCodes: [503], causes: [status]}", ""),
    ])
  func whatServesSomethingIsNotWarnedOf(upstream: String, retry: String, line: String) throws {
    #expect(try Self.warnings(upstream, retry, line) == [])
  }

  @Test(
    arguments: [
      ("http://h", "{keptBytes: 1000000}", ""), ("http://h", "{idempotencyKey: true}", ""),
      ("http://h", "{backoff: {base: 1s}}", fallback), ("http://h", "{causes: [connect]}", fallback),
      ("http://h", "{keptBytes: 1, statusCodes: [503]}", fallback), ("http://h", "{}", fallback),
      ("http://h", "{limit: 0}", fallback), ("http://h", "{budget: off}", fallback),
      ("http://h", "{keptBytes: 1}", "fallback: {respond: {status: 503}}"), ("u", "{keptBytes: 1}", ""),
      ("v", "{idempotencyKey: true}", ""), ("http://h", "{keptBytes: 1}", "hedge: {after: 1s}"),
    ])
  func retriesWithoutALimitAreWarnedOf(upstream: String, retry: String, line: String) throws {
    #expect(
      try Self.warnings(upstream, retry, line)
        == ["f:7:12: routes[1].retry: retries nothing: limit is 0, its default; give a limit such as 2"])
  }

  @Test(
    arguments: [
      (
        "{limit: 1, statusCodes: [503], causes: [connect]}",
        "36: routes[1].retry.statusCodes: has no effect: causes has no status, so no response is retried"
      ),
      (
        "{limit: 1, finalResponseFields: [X-A], causes: [lost, timeout]}",
        "44: routes[1].retry.finalResponseFields: has no effect: causes has no status, so no response is retried"
      ),
      (
        "{limit: 1, statusCodes: [], causes: [status]}",
        "12: routes[1].retry: retries nothing: causes has status alone, and statusCodes is empty"
      ),
    ])
  func causesRuleOutKeys(retry: String, warning: String) throws {
    #expect(try Self.warnings("http://h", retry, "") == ["f:7:\(warning)"])
  }

  private static let silent = ", {name: w, endpoints: ['127.0.0.1:1'], silenceTimeout: 1s}"

  /// Upstreams to which a route leads, further entries, keys of the route, and whether an attempt can time out there.
  @Test(
    arguments: [
      ("'http://h'", "", "timeout: 5s", false), ("'http://h'", "", "silenceTimeout: off", false),
      ("'http://h'", "", "streaming: true", false), ("u", "", "timeout: 5s", false),
      ("w", silent, "silenceTimeout: off", false), (both, silent, "timeout: 5s", false),
      ("'http://h'", "", "attemptTimeout: 1s", true), ("'http://h'", "", "silenceTimeout: 1s", true),
      ("w", silent, "timeout: 5s", true), ("[{name: u}, {name: w}]", silent, "timeout: 5s", true),
      ("u", silent, "fallback: {upstream: w}", true), ("u", "", "attemptTimeout: 1s", true),
    ])
  func withoutTimesNothingTimesOut(upstream: String, entry: String, line: String, canTimeOut: Bool) throws {
    for (causes, isSole) in [("timeout", true), ("timeout, status", true), ("timeout, lost", false)] {
      let text = """
        upstreams: [{name: u, endpoints: ['127.0.0.1:1']}, {name: v, endpoints: ['127.0.0.1:1']}\(entry)]
        routes:
          - {name: all, match: {path: /all}, upstream: [{name: u}, {name: v}\(entry.isEmpty ? "" : ", {name: w}")]}
          - {name: r, upstream: \(upstream), \(line), retry: {limit: 1, statusCodes: [], causes: [\(causes)]}}
        """
      let warnings = try Configuration(parsing: Array(text.utf8), file: "f").warnings.map { $0.description(file: "f") }
      let idle = "nothing can time out; give attemptTimeout or silenceTimeout, or other causes"
      let told = warnings.filter { $0.hasSuffix("routes[1].retry: retries nothing: \(idle)") }
      #expect(told.count == (isSole && !canTimeOut ? 1 : 0), "\(causes): \(warnings)")
    }
  }

  private static let crowded = "leaves no room for a second attempt"

  /// Only times that leave no room for two attempts are warned of, and only if a late one would be retried.
  @Test(
    arguments: [
      ("{limit: 1}", "attemptTimeout: 16s", "30s"), ("{limit: 3}", "attemptTimeout: 1501ms, timeout: 3s", "3s"),
      ("{limit: 1, causes: [timeout]}", "timeout: 2s, attemptTimeout: 1.5s", "2s"),
      ("{limit: 1, causes: [connect, timeout]}", "timeout: 300ms, attemptTimeout: 200ms", "300ms"),
      ("{limit: 1}", "attemptTimeout: 15s", nil), ("{limit: 3}", "attemptTimeout: 1100ms, timeout: 2.2s", nil),
      ("{limit: 1}", "attemptTimeout: 0.1s, timeout: 0.2s", nil), ("{limit: 10}", "attemptTimeout: 14s", nil),
      ("{limit: 1, causes: [connect, lost]}", "attemptTimeout: 29s", nil), ("{limit: 1}", "timeout: 1s", nil),
      ("{keptBytes: 1}", "attemptTimeout: 29s, \(fallback)", nil),
    ] as [(String, String, String?)])
  func twoAttemptsFitIntoTheTimeout(retry: String, times: String, timeout: String?) throws {
    let line = times.replacing(", ", with: "\n    ")
    let warnings = try Self.warnings("http://h", retry, line)
    let expected = timeout.map { "routes[1].attemptTimeout: the route's timeout, \($0), \(Self.crowded)" }
    #expect(warnings.filter { $0.contains(Self.crowded) }.count == (expected == nil ? 0 : 1), "\(warnings)")
    if let expected { #expect(warnings.contains { $0.hasSuffix(expected) }, "\(warnings)") }
  }

  @Test(
    arguments: [
      ("{limit: 1, keptBytes: 1001}", "bodyBytes: 1000", true),
      ("{keptBytes: 1001}", "bodyBytes: 1000\n    \(fallback)", true),
      ("{limit: 1, keptBytes: 1000}", "bodyBytes: 1000", false), ("{limit: 1}", "bodyBytes: 1000", false),
      ("{limit: 1, keptBytes: 16777216}", "", false),
    ])
  func bodiesThatNeverComeAreNotKept(retry: String, line: String, isWarnedOf: Bool) throws {
    let text = "routes[1].retry.keptBytes: is more than the route's bodyBytes, 1000; larger bodies get 413"
    let warnings = try Self.warnings("http://h", retry, line).map { $0.drop { $0 != " " }.dropFirst() }
    #expect(warnings == (isWarnedOf ? [text[...]] : []))
  }
}
