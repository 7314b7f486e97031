import Foundation
import Testing
import WeirTestSupport

@testable import WeirGateway

@Suite struct AccessLogConfigurationTests {
  private static let routes =
    "routes: [{name: a, respond: {status: 200}}, {name: b, match: {pathPrefix: /b}, respond: {status: 200}}]\n"

  private static func read(_ text: String) throws -> Configuration {
    try Configuration(parsing: Array((text + routes).utf8), file: "weir.yml")
  }

  private static func problem(_ text: String) -> String? {
    do {
      _ = try read(text)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func everythingIsRead() throws {
    #expect(try Self.read("").accessLog == nil)
    #expect(try Self.read("accessLog: off\n").accessLog == nil)
    let least = try #require(try Self.read("accessLog: { to: stderr }\n").accessLog)
    #expect(least == AccessLogSettings(to: .standardError))
    #expect(least.format == .json && least.fields.isEmpty && least.sampleSuccesses == 1)
    let directory = try TemporaryDirectory()
    let all = try #require(
      try Self.read(
        """
        accessLog:
          to: \(directory.path)/log
          format: json
          fields: [query, user_agent, referer, header X-Tenant]
          sampleSuccesses: 0.25

        """
      ).accessLog)
    #expect(all.target == .file("\(directory.path)/log"))
    #expect(all.fields == [.query, .userAgent, .referer, .header("X-Tenant")])
    #expect(all.sampleSuccesses == 0.25)
    #expect(
      try Self.read("accessLog: { to: stdout, format: combined, fields: [query] }\n").accessLog?.format == .combined)
  }

  @Test func aRouteMayBeLeftOut() throws {
    let text =
      "routes: [{name: a, accessLog: off, upstream: 'http://h'}, {name: b, match: {pathPrefix: /b}, respond: {status: 200}}]"
    let routes = try Configuration(parsing: Array(text.utf8), file: "weir.yml").routes
    #expect(routes.map(\.hasAccessLog) == [false, true])
    let wrong = "routes: [{name: a, accessLog: {to: stderr}, respond: {status: 200}}]"
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(parsing: Array(wrong.utf8), file: "weir.yml")
    }
    #expect(
      error?.description.contains(
        "weir.yml:1:31: routes[0].accessLog: can only be off in a route; where and how lines are written is said beside routes"
      ) == true)
  }

  @Test(arguments: [
    ("accessLog: {}\n", "1:12: accessLog.to: is missing; give /path/of/a/file, stderr or stdout"),
    ("accessLog: on\n", "1:12: accessLog: expected a mapping (key: value) or off, found"),
    ("accessLog: { to: log }\n", "1:18: accessLog.to: expected the absolute path of a file, stderr or stdout"),
    (
      "accessLog: { to: /nowhere/log }\n",
      "1:18: accessLog.to: can't be made in \"/nowhere\": No such file or directory"
    ),
    ("accessLog: { to: /usr }\n", "1:18: accessLog.to: is a directory; give the path of a file in it"),
    ("accessLog: { to: stderr, format: xml }\n", "1:34: accessLog.format: "),
    ("accessLog: { to: stderr, sampleSuccesses: 1.5 }\n", "1:43: accessLog.sampleSuccesses: must be 0 to 1"),
    (
      "accessLog: { to: stderr, fields: [cookie] }\n",
      "1:35: accessLog.fields[0]: give query, user_agent, referer, or header"
    ),
    ("accessLog: { to: stderr, fields: ['header a b'] }\n", "1:35: accessLog.fields[0]: give query"),
    (
      "accessLog: { to: stderr, fields: [header X-A, header x_a] }\n",
      "1:47: accessLog.fields[1]: is there twice, as header_x_a"
    ),
    (
      "accessLog: { to: stderr, format: combined, fields: [header X-A] }\n",
      "1:53: accessLog.fields[0]: has no place in combined; write format: json"
    ),
    (
      "accessLog: { to: stderr, path: /x }\n",
      "1:26: accessLog.path: unknown key; known keys are fields, format, sampleSuccesses, to"
    ),
  ]) func problemsSayWhatToChange(text: String, problem: String) {
    let error = Self.problem(text) ?? ""
    #expect(error.contains("weir.yml:" + problem), "\(error)")
  }
}
