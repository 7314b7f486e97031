import Testing

@testable import WeirGateway

/// The keys `rateLimits`, `concurrency` and `bodyBytes` of routes.
@Suite struct LimitConfigurationTests {
  private static func route(_ keys: String, action: String = "upstream: \"http://h\"") throws -> Route? {
    let text = "routes:\n  - {name: r, \(action), \(keys)}\n"
    return try Configuration(parsing: Array(text.utf8), file: "weir.yml").routes.first
  }

  @Test func withoutTheKeysThereAreNone() throws {
    let route = try Self.route("timeout: 5s")
    #expect(route?.limits == RouteLimits())
    #expect(route?.bodyBytes == nil)
  }

  @Test func defaults() throws {
    let route = try Self.route("rateLimits: [{name: a, rate: 1000/m}], concurrency: [{limit: 5}], bodyBytes: 1")
    var limit = RateLimit("a", RequestRate(1000, per: 60))
    (limit.burst, limit.key, limit.enforces) = (17, .client(prefix6: 64), true)
    #expect(route?.limits.rates == [limit])
    #expect(route?.limits.concurrency == [ConcurrencyLimit(5, key: .client(prefix6: 64))])
    #expect(route?.bodyBytes == 1)
  }

  @Test(
    arguments: [
      ("100/s", RequestRate(100), 100), ("5/h", RequestRate(5, per: 3600), 1), ("1/s", RequestRate(1), 1),
      ("60000000/m", RequestRate(60_000_000, per: 60), 1_000_000),
      ("3600000000/h", RequestRate(3_600_000_000, per: 3600), 1_000_000),
    ])
  func rates(text: String, rate: RequestRate, burst: Int) throws {
    let limit = try Self.route("rateLimits: [{name: a, rate: \(text)}]")?.limits.rates.first
    #expect(limit?.rate == rate)
    #expect(limit?.burst == burst)
  }

  @Test(
    arguments: [
      ("key: route", LimitKey.route), ("key: client", .client(prefix6: 64)),
      ("key: header X-Tenant", .header("x-tenant")), ("key: client, clientPrefix6: 48", .client(prefix6: 48)),
      ("clientPrefix6: 128", .client(prefix6: 128)),
    ])
  func keys(text: String, key: LimitKey) throws {
    let limits = try Self.route("rateLimits: [{name: a, rate: 1/s, burst: 1000000, enforce: false, \(text)}]")?.limits
    #expect(limits?.rates.first?.key == key)
    #expect(limits?.rates.first?.enforces == false)
    #expect(limits?.rates.first?.burst == 1_000_000)
  }

  @Test func aRouteThatAnswersItselfMayHaveLimits() throws {
    let limits = try Self.route(
      "rateLimits: [{name: a, rate: 1/s}, {name: b, rate: 1/m}], concurrency: [{limit: 1}, {limit: 9, key: route}]",
      action: "respond: {status: 204}")?.limits
    #expect(limits?.labels.map(\.limit) == ["a", "b", "concurrency:client", "concurrency:route"])
  }

  private static let rate = "expected a rate such as 100/s, 1000/m or 5/h, found"
  private static let key = "must be route, client, user or header and a field's name, such as header X-Tenant"

  @Test(
    arguments: [
      ("rateLimits: 5", "rateLimits: expected a list (- item), found the number 5"),
      ("rateLimits: []", "rateLimits: holds 0 limits; give 1 to 4"),
      ("concurrency: []", "concurrency: holds 0 limits; give 1 to 2"),
      (
        "concurrency: [{limit: 1}, {limit: 1, key: route}, {limit: 2, key: header a}]",
        "concurrency: holds 3 limits; give 1 to 2"
      ),
      ("rateLimits: [{rate: 1/s}]", "rateLimits[0].name: is missing; it labels the limit's metrics"),
      ("rateLimits: [{name: a}]", "rateLimits[0].rate: is missing; such as 100/s, 1000/m or 5/h"),
      (
        "concurrency: [{key: route}]",
        "concurrency[0].limit: is missing; the number of requests that may be under way at one time"
      ),
      (
        "rateLimits: [{name: a b, rate: 1/s}]",
        "rateLimits[0].name: must be 1 to 64 letters, digits, hyphens, underscores and dots"
      ),
      (
        "rateLimits: [{name: a, rate: 1/s}, {name: a, rate: 2/s}]",
        "rateLimits[1]: another limit of this route is named \"a\" (line 2); names must differ"
      ),
      (
        "concurrency: [{limit: 1, key: header A}, {limit: 2, key: header a}]",
        "concurrency[1]: another limit of this route has the same key (line 2); keys must differ"
      ),
      ("rateLimits: [{name: a, rate: 5}]", "rateLimits[0].rate: \(rate) the number 5"),
      ("rateLimits: [{name: a, rate: 5/d}]", "rateLimits[0].rate: \(rate) the string \"5/d\""),
      ("rateLimits: [{name: a, rate: -5/s}]", "rateLimits[0].rate: \(rate) the string \"-5/s\""),
      ("rateLimits: [{name: a, rate: 5/s/s}]", "rateLimits[0].rate: \(rate) the string \"5/s/s\""),
      ("rateLimits: [{name: a, rate: /s}]", "rateLimits[0].rate: \(rate) the string \"/s\""),
      ("rateLimits: [{name: a, rate: 0/s}]", "rateLimits[0].rate: must be 1/h to 1000000/s"),
      ("rateLimits: [{name: a, rate: 1000001/s}]", "rateLimits[0].rate: must be 1/h to 1000000/s"),
      ("rateLimits: [{name: a, rate: 99999999999999999999/h}]", "rateLimits[0].rate: must be 1/h to 1000000/s"),
      ("rateLimits: [{name: a, rate: 1/s, burst: 0}]", "rateLimits[0].burst: must be 1 to 1000000"),
      ("rateLimits: [{name: a, rate: 1/s, key: ip}]", "rateLimits[0].key: \(key)"),
      ("rateLimits: [{name: a, rate: 1/s, key: header}]", "rateLimits[0].key: \(key)"),
      ("rateLimits: [{name: a, rate: 1/s, key: header a b}]", "rateLimits[0].key: \(key)"),
      ("rateLimits: [{name: a, rate: 1/s, clientPrefix6: 16}]", "rateLimits[0].clientPrefix6: must be 32 to 128"),
      (
        "rateLimits: [{name: a, rate: 1/s, key: route, clientPrefix6: 64}]",
        "rateLimits[0].clientPrefix6: only the key client has addresses"
      ),
      (
        "rateLimits: [{name: a, rate: 1/s, enforce: off}]",
        "rateLimits[0].enforce: expected true or false, found the string \"off\""
      ),
      ("concurrency: [{limit: 0}]", "concurrency[0].limit: must be 1 to 100000"),
      ("concurrency: [{limit: 100001}]", "concurrency[0].limit: must be 1 to 100000"),
      (
        "concurrency: [{limit: 1, burst: 2}]",
        "concurrency[0].burst: unknown key; known keys are clientPrefix6, enforce, key, limit"
      ),
      (
        "rateLimits: [{name: a, rate: 1/s, brust: 1}]",
        "rateLimits[0].brust: unknown key; did you mean \"burst\"?"
      ),
      ("bodyBytes: 0", "bodyBytes: must be 1 to 1099511627776"),
      ("bodyBytes: 1m", "bodyBytes: expected a whole number, found the string \"1m\""),
    ])
  func problems(keys: String, problem: String) {
    let error = #expect(throws: ConfigurationError.self) { try Self.route(keys) }
    let texts = error?.problems.map { "\($0.path): \($0.message)" }
    #expect(texts == ["routes[0].\(problem)"])
    #expect(error?.problems.first?.position?.line == 2)
  }

  /// The key `user` is for routes that ask for names.
  @Test func aKeyNeedsItsUsers() {
    let error = #expect(throws: ConfigurationError.self) {
      try Self.route("rateLimits: [{name: a, rate: 1/s, key: user}], concurrency: [{limit: 1, key: user}]")
    }
    let message = "nobody is asked for a name here; give the route auth, or choose another key"
    #expect(error?.problems.map(\.message) == [message, message])
  }

  @Test func aRouteThatAnswersItselfTakesNoBody() {
    let error = #expect(throws: ConfigurationError.self) {
      try Self.route("bodyBytes: 5", action: "respond: {status: 204}")
    }
    #expect(
      error?.problems.map(\.message) == ["is of no use with respond, which sends nothing to an upstream"])
  }

  @Test func besideRoutesTheyAreMisplaced() {
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(
        parsing: Array("rateLimits: []\nroutes: [{name: r, upstream: \"http://h\"}]\n".utf8), file: "weir.yml")
    }
    #expect(error?.problems.map(\.message) == ["unknown key; it belongs into the routes it is meant for"])
  }
}
