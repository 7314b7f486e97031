import Testing
import WeirTransport

@testable import WeirGateway

/// The key `pace` of routes and of entries of `upstreams`.
@Suite struct PaceConfigurationTests {
  private static func text(_ pace: String) -> String {
    "routes:\n  - name: a\n    upstream: http://h\n    pace: \(pace)\n"
  }

  private static func read(_ text: String) throws -> Configuration {
    try Configuration(parsing: Array(text.utf8), file: "f")
  }

  @Test(
    arguments: [
      (
        "{rate: 50/s, burst: 5, obey: [rateLimit], wait: 10s}",
        PaceSettings(rate: 50, burst: 5, obey: [.rateLimit], wait: 10)
      ),
      ("{obey: [rateLimit, retryAfter]}", PaceSettings(obey: [.retryAfter, .rateLimit])),
      ("{}", PaceSettings(rate: nil, burst: 1, obey: [.retryAfter], wait: 2)), ("off", nil),
      ("{wait: 0s}", PaceSettings(wait: 0)), ("{wait: 1m}", PaceSettings(wait: 60)),
      ("{rate: 90/m, obey: []}", PaceSettings(rate: 1.5, obey: [])), ("{rate: 9/h}", PaceSettings(rate: 0.0025)),
      ("{rate: 1000000/s, burst: 1000000}", PaceSettings(rate: 1_000_000, burst: 1_000_000)),
      ("{rate: 3600000000/h}", PaceSettings(rate: 1_000_000)), ("{rate: 1/h}", PaceSettings(rate: 1.0 / 3600)),
    ] as [(String, PaceSettings?)])
  func values(pace: String, expected: PaceSettings?) throws {
    let configuration = try Self.read(Self.text(pace))
    #expect(configuration.routes.map(\.pace) == [expected])
    #expect(configuration.warnings.isEmpty)
    #expect(try Self.read(Self.text(pace)) == configuration)
    let entry = "upstreams: [{name: u, endpoints: ['127.0.0.1:1'], pace: \(pace)}]\nroutes: [{name: a, upstream: u}]"
    #expect(try Self.read(entry).upstreams.map(\.pace) == [expected])
  }

  @Test func withoutTheKeyThereIsNone() throws {
    let text = "upstreams: [{name: u, endpoints: ['127.0.0.1:1']}]\nroutes: [{name: a, upstream: u}]"
    let configuration = try Self.read(text)
    #expect(configuration.routes.map(\.pace) == [nil])
    #expect(configuration.upstreams.map(\.pace) == [nil])
  }

  /// A reload takes each change of a key.
  @Test(arguments: [
    "{rate: 2/s}", "{rate: 1/s, burst: 2}", "{rate: 1/s, obey: []}", "{rate: 1/s, wait: 1s}", "{}", "off",
  ])
  func configurationsWithOtherKeysDiffer(pace: String) throws {
    #expect(try Self.read(Self.text(pace)) != Self.read(Self.text("{rate: 1/s}")))
  }

  private static let rate = "expected a rate such as 100/s, 1000/m or 5/h, found"
  private static let mapping = "expected a mapping (key: value) or off, found"

  @Test(
    arguments: [
      ("on", "11: routes[0].pace: \(mapping) the string \"on\"; write {} for the defaults"),
      ("false", "11: routes[0].pace: \(mapping) the boolean false; write off"),
      ("50/s", "11: routes[0].pace: is a rate alone; write { rate: 50/s }"),
      ("5/h", "11: routes[0].pace: is a rate alone; write { rate: 5/h }"),
      ("50/d", "11: routes[0].pace: \(mapping) the string \"50/d\""),
      ("50", "11: routes[0].pace: \(mapping) the number 50"),
      ("{rate: 50}", "18: routes[0].pace.rate: \(rate) the number 50"),
      ("{rate: 50/d}", "18: routes[0].pace.rate: \(rate) the string \"50/d\""),
      ("{rate: 1.5/s}", "18: routes[0].pace.rate: \(rate) the string \"1.5/s\""),
      ("{rate: off}", "18: routes[0].pace.rate: \(rate) the string \"off\""),
      ("{rate: 0/s}", "18: routes[0].pace.rate: must be 1/h to 1000000/s"),
      ("{rate: 1000001/s}", "18: routes[0].pace.rate: must be 1/h to 1000000/s"),
      ("{rate: 60000001/m}", "18: routes[0].pace.rate: must be 1/h to 1000000/s"),
      ("{burst: 0}", "19: routes[0].pace.burst: must be 1 to 1000000"),
      ("{burst: 1000001}", "19: routes[0].pace.burst: must be 1 to 1000000"),
      ("{wait: 60001ms}", "18: routes[0].pace.wait: must be 0s to 60s"),
      ("{obey: retryAfter}", "18: routes[0].pace.obey: expected a list (- item), found the string \"retryAfter\""),
      ("{obey: [429]}", "19: routes[0].pace.obey[0]: expected a string, found the number 429; write it in quotes"),
      ("{obey: [retry-after]}", "19: routes[0].pace.obey[0]: give one of retryAfter, rateLimit"),
      ("{obey: [rateLimit, rateLimit]}", "30: routes[0].pace.obey[1]: \"rateLimit\" is already in this list (line 4)"),
      ("{perSecond: 5}", "12: routes[0].pace.perSecond: unknown key; known keys are burst, obey, rate, wait"),
    ])
  func problems(pace: String, expected: String) {
    #expect(Configuration.problems(of: Self.text(pace)) == ["4:\(expected)"])
  }

  @Test(arguments: [
    (
      "{obey: []}", "11: routes[0].pace: does nothing: there is no rate, and obey is empty; write off, or leave it out"
    ),
    (
      "{obey: [], burst: 2, wait: 1s}",
      "11: routes[0].pace: does nothing: there is no rate, and obey is empty; write off, or leave it out"
    ),
    ("{burst: 2}", "19: routes[0].pace.burst: has no effect without rate"),
  ])
  func whatDoesNothingIsWarnedOf(pace: String, warning: String) throws {
    #expect(try Self.read(Self.text(pace)).warnings.map { $0.description(file: "f") } == ["f:4:\(warning)"])
  }

  @Test func anEntryThatDoesNothingIsWarnedOf() throws {
    let text = "upstreams: [{name: u, endpoints: ['127.0.0.1:1'], pace: {burst: 2}}]\nroutes: [{name: a, upstream: u}]"
    #expect(
      try Self.read(text).warnings.map { $0.description(file: "f") }
        == ["f:1:65: upstreams[0].pace.burst: has no effect without rate"])
  }

  /// Two routes, the second of which has another path, and whether their pace differs.
  @Test(arguments: [
    ("pace: {rate: 1/s}", "pace: {rate: 60/m}", false), ("timeout: 1s", "pace: off", false),
    ("pace: {}", "pace: {burst: 1, obey: [retryAfter], wait: 2000ms}", false),
    ("pace: {obey: [rateLimit, retryAfter]}", "pace: {obey: [retryAfter, rateLimit]}", false),
    ("pace: {}", "timeout: 1s", true), ("timeout: 1s", "pace: {}", true), ("pace: {}", "pace: off", true),
    ("pace: {rate: 1/s}", "pace: {rate: 2/s}", true), ("pace: {rate: 1/s}", "pace: {rate: 1/s, burst: 2}", true),
    ("pace: {obey: [rateLimit]}", "pace: {obey: [retryAfter]}", true), ("pace: {wait: 1s}", "pace: {wait: 3s}", true),
    // A value that is invalid by itself is reported once, and not compared; that of another key is no hindrance.
    ("pace: 5", "timeout: 1s", false), ("timeout: 1s", "pace: {wait: 61s}", false),
    ("pace: {}, overload: 5", "timeout: 1s", true),
  ])
  func routesToOneUpstreamShareItsPace(first: String, second: String, isProblem: Bool) {
    let text = """
      routes:
        - {name: a, upstream: "http://h/a", match: {pathPrefix: /a}, \(first)}
        - {name: other, upstream: "http://h:81", pace: {rate: 9/s}}
        - {name: b, upstream: "http://h:80/b", match: {pathPrefix: /b}, \(second)}
      """
    let expected = "4:5: routes[2].pace: must be the same as that of route \"a\", which has the same upstream"
    #expect(
      Configuration.problems(of: text).filter { $0.contains("must be the same") } == (isProblem ? [expected] : []))
  }

  @Test func itBelongsIntoRoutesAndEntries() {
    #expect(
      Configuration.problems(of: "pace: {}\nroutes: [{name: a, upstream: 'http://h'}]")
        == ["1:1: pace: unknown key; it belongs into the routes it is meant for"])
    #expect(
      Configuration.problems(of: "routes: [{name: a, upstream: 'http://h', obey: []}]")
        == ["1:42: routes[0].obey: unknown key; it belongs into pace"])
  }

  @Test func itsTableHasTheDefaults() {
    let rows = ReadRoute.mapping.outline.rows().filter { $0.name.hasPrefix("pace") }
    #expect(
      rows.map { "\($0.name): \($0.kind), \($0.standard)" } == [
        "pace: mapping or `off`, `off`", "pace.rate: rate, none", "pace.burst: integer, `1`",
        "pace.obey: list, retryAfter", "pace.wait: duration, `2s`",
      ])
    #expect(ReadUpstream.mapping.outline.rows().filter { $0.name.hasPrefix("pace") }.map(\.name) == ["pace"])
  }
}
