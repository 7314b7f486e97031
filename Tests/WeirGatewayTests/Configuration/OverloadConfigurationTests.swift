import Foundation
import Testing
import Weir

@testable import WeirGateway

/// The keys of load control and of circuits.
@Suite struct OverloadConfigurationTests {
  private static let mapping = "routes[0].overload: expected a mapping (key: value) or off, found "
  private static let silence = "routes[0].overload.silence: "
  private static let duration = "expected a duration such as 30s, 500ms or 1m30s or off, found "

  /// The texts say what to write for what was meant.
  @Test(arguments: [
    ("overload: on", mapping + "the string \"on\"; it is on by default: leave the key out, or write {}"),
    ("overload: true", mapping + "the boolean true; it is on by default: leave the key out, or write {}"),
    ("overload: false", mapping + "the boolean false; write off"),
    (
      "circuitBreaker: true",
      "routes[0].circuitBreaker: expected a mapping (key: value) or off, found the boolean true; "
        + "write {} for the defaults"
    ),
    ("overload: {silence: false}", silence + duration + "the boolean false"),
    ("overload: {silence: 0}", silence + "must be 500ms to 60s or off"),
  ])
  func onAndOffInOtherWords(key: String, text: String) {
    let found = problems("routes:\n  - name: a\n    upstream: http://h\n    \(key)\n")
    #expect(found.count == 1 && found.first?.hasSuffix(": \(text)") ?? false, "\(found)")
  }

  @Test func loadControlOfAllRoutesHasNoKey() {
    let found = problems("overload: {wait: 1s}\nroutes: [{name: a, upstream: 'http://h'}]\n")
    #expect(found == ["f:1:1: overload: unknown key; it belongs into the routes it is meant for"])
  }

  /// A default that would contradict a key follows it.
  @Test func defaultsFollowTheKeysBesideThem() throws {
    let found = try read("routes: [{name: a, upstream: 'http://h', overload: {wait: 50ms, minimum: 20}}]")
    #expect(
      found.routes.map(\.overload) == [OverloadSettings(wait: 0.05, waitOverloaded: 0.05, initial: 20, minimum: 20)])
  }

  @Test func keysThatAreGoneSayWhatIsInTheirPlace() {
    let found = problems(
      """
      routes:
        - name: a
          upstream: http://h
          circuitBreaker: {openFor: 5s, minimumRequests: 9, halfOpenProbes: 2}
          adaptiveConcurrency: {minimum: 4}
          rateLimits: [{name: a, rate: 1/s, scope: local}]
      """)
    let circuit =
      "unknown key; leave it out: a circuit lets a share of the requests through, which follows their failures"
    #expect(
      found == [
        "f:4:22: routes[0].circuitBreaker.openFor: " + circuit,
        "f:4:55: routes[0].circuitBreaker.halfOpenProbes: " + circuit,
        "f:5:5: routes[0].adaptiveConcurrency: unknown key; " + ReadRoute.concurrencyIsGone,
        "f:6:39: routes[0].rateLimits[0].scope: unknown key; the limit is this gateway's",
      ])
  }

  @Test(arguments: [
    "adaptiveConcurrency: {}\nroutes: [{name: a, upstream: 'http://h'}]",
    "upstreams: [{name: u, endpoints: ['10.0.0.1:1'], adaptiveConcurrency: {}}]\nroutes: [{name: a, upstream: u}]",
  ])
  func aKeyThatIsGoneSaysSoEverywhere(text: String) {
    #expect(problems(text).map { $0.hasSuffix("unknown key; " + ReadRoute.concurrencyIsGone) } == [true])
  }

  /// Two routes, the second of which has another path, and whether their load control differs.
  @Test(arguments: [
    ("overload: {wait: 1s}", "overload: {wait: 1s}", false), ("timeout: 1s", "timeout: 2s", false),
    ("timeout: 1s", "overload: {}", false), ("overload: {wait: 1500ms}", "timeout: 1s", false),
    ("overload: off", "overload: off", false),
    ("overload: {wait: 1s}", "overload: {wait: 2s}", true), ("overload: {wait: 1s}", "timeout: 1s", true),
    ("overload: off", "timeout: 1s", true), ("overload: {}", "overload: off", true),
    ("overload: {priority: true}", "overload: {priority: false}", true),
    // A value that is invalid by itself is reported once, and not compared.
    ("overload: 5", "timeout: 1s", false), ("timeout: 1s", "overload: {wait: 61s}", false),
    ("overload: {wait: 61s, minimum: 4}", "timeout: 1s", false),
  ])
  func routesToOneUpstreamShareItsLoadControl(first: String, second: String, isProblem: Bool) {
    let text = """
      routes:
        - {name: a, upstream: "http://h/a", match: {pathPrefix: /a}, \(first)}
        - {name: other, upstream: "http://h:81", overload: {wait: 9s}}
        - {name: b, upstream: "http://h:80/b", match: {pathPrefix: /b}, \(second)}
      """
    let expected =
      "f:4:5: routes[2].overload: must be the same as that of route \"a\", which has the same upstream"
    #expect(problems(text).filter { $0.contains("must be the same") } == (isProblem ? [expected] : []))
  }

  @Test(arguments: [
    ("http://127.0.0.1:80", "http://127.1", true), ("http://h.example", "http://H.example.", true),
    ("http://[::1]", "http://[0:0:0:0:0:0:0:1]:80/base", true), ("http://0x7f.1", "http://127.0.0.1", true),
    ("http://h", "https://h", false), ("http://h", "http://h:81", false), ("http://h", "http://g", false),
  ])
  func anUpstreamInAnotherSpellingIsTheSame(first: String, second: String, isSame: Bool) {
    let text = """
      routes:
        - {name: a, upstream: "\(first)", match: {pathPrefix: /a}}
        - {name: b, upstream: "\(second)", overload: off}
      """
    #expect(problems(text).count == (isSame ? 1 : 0), "\(problems(text))")
  }

  @Test func aRouteWithoutANameIsAnEarlierOne() {
    let text = """
      routes:
        - {name: "", upstream: "http://h", match: {pathPrefix: /a}}
        - {name: b, upstream: "http://h", overload: off}
      """
    #expect(
      problems(text).contains(
        "f:3:5: routes[1].overload: must be the same as that of an earlier route, which has the same upstream"))
  }

  private func read(_ text: String) throws -> Configuration { try Configuration(parsing: Array(text.utf8), file: "f") }

  private func problems(_ text: String) -> [String] {
    do {
      _ = try read(text)
      return []
    } catch let error as ConfigurationError {
      return error.problems.map { $0.description(file: error.file) }
    } catch {
      return ["\(error)"]
    }
  }
}
