import Testing

@testable import WeirGateway

/// The keys of a route's `compression`.
@Suite struct CompressionConfigurationTests {
  private func text(_ compression: String) -> String {
    "routes:\n  - name: a\n    upstream: http://h\n    compression: \(compression)\n"
  }

  private func configuration(_ compression: String) throws -> Configuration {
    try Configuration(parsing: Array(text(compression).utf8), file: "f")
  }

  @Test func readsEveryKey() throws {
    let text =
      "{responses: gzip, types: [a/b, 'text/*'], minimumBytes: 5, level: 9, decodeResponses: true, decodeRequests: true}"
    var rules = CompressionRules()
    rules.compressesResponses = true
    rules.types = try [#require(MediaTypePattern("a/b")), #require(MediaTypePattern("text/*"))]
    (rules.minimumBytes, rules.level) = (5, 9)
    (rules.decodesResponses, rules.decodesRequests) = (true, true)
    #expect(try configuration(text).routes[0].compression == rules)
  }

  @Test func hasDefaults() throws {
    let rules = try #require(try configuration("{responses: gzip}").routes[0].compression)
    #expect(rules.compressesResponses && rules.level == 4 && rules.minimumBytes == 1024)
    #expect(!rules.decodesResponses && !rules.decodesRequests)
    #expect(try configuration("off").routes[0].compression == nil)
    #expect(try configuration("{responses: off, decodeRequests: true}").warnings.isEmpty)
  }

  @Test func warnsOfRulesThatDoNothing() throws {
    for text in ["{}", "{responses: off, level: 3}"] {
      #expect(
        try configuration(text).warnings.map { $0.description(file: "f") } == [
          "f:4:18: routes[0].compression: codes nothing; give responses, decodeResponses or decodeRequests"
        ])
    }
  }

  @Test(
    arguments: [
      ("{responses: br}", "4:30: routes[0].compression.responses: must be gzip or off"),
      (
        "{responses: true}",
        "4:30: routes[0].compression.responses: expected a string, found the boolean true; write it in quotes"
      ),
      ("{responses: gzip, level: 0}", "4:43: routes[0].compression.level: must be 1 to 9"),
      ("{responses: gzip, level: 10}", "4:43: routes[0].compression.level: must be 1 to 9"),
      ("{responses: gzip, minimumBytes: 0}", "4:50: routes[0].compression.minimumBytes: must be 1 to 1073741824"),
      ("{responses: gzip, types: []}", "4:43: routes[0].compression.types: holds 0 types; give 1 to 100"),
      (
        "{responses: gzip, types: [text/event-stream]}",
        "4:44: routes[0].compression.types[0]: event streams are never compressed"
      ),
      (
        "{responses: gzip, types: [json]}",
        "4:44: routes[0].compression.types[0]: must be a media type without parameters, such as application/json, text/* "
          + "or application/*+json"
      ),
      (
        "{decodeRequest: true}",
        "4:19: routes[0].compression.decodeRequest: unknown key; did you mean \"decodeRequests\"?"
      ),
      (
        "on",
        "4:18: routes[0].compression: expected a mapping (key: value) or off, found the string \"on\"; "
          + "write { responses: gzip }"
      ),
      (
        "{responses: gzip}\n    responseHeaders: {remove: [content-encoding]}",
        "4:18: routes[0].compression: responseHeaders has Content-Encoding, which says how bodies are coded here; leave "
          + "one of them out"
      ),
    ])
  func reports(text: String, problem: String) {
    #expect(Configuration.problems(of: self.text(text)) == [problem])
  }

  @Test func isOfNoUseWithoutAnUpstream() {
    let text = "routes: [{name: a, redirect: {scheme: https}, compression: {responses: gzip}}]"
    #expect(
      Configuration.problems(of: text) == [
        "1:60: routes[0].compression: is of no use with redirect, which sends nothing to an upstream"
      ])
  }

  @Test func belongsIntoRoutes() {
    let text = "compression: {responses: gzip}\nroutes: [{name: a, upstream: 'http://h', level: 4}]"
    #expect(
      Configuration.problems(of: text) == [
        "1:1: compression: unknown key; it belongs into the routes it is meant for",
        "2:42: routes[0].level: unknown key; it belongs into compression",
      ])
  }
}
