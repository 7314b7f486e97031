import Foundation
import Testing

@testable import WeirGateway

/// docs/gateway.md is the reference of the configuration file and of the flags.
@Suite struct GatewayDocumentTests {
  private let text: String

  init() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    text = try String(contentsOf: root.appending(path: "docs/gateway.md"), encoding: .utf8)
  }

  /// The reader itself is asked which keys it knows: it names them to whoever writes another.
  @Test func namesEveryKey() throws {
    let asking =
      "{0: 0, routes: [{0: 0, match: {0: 0, headers: {a: {0: 0}}, query: {a: {0: 0}}}, headers: {0: 0}, responseHeaders: {0: 0}, retry: {0: 0, budget: {0: 0}}, circuitBreaker: {0: 0}, adaptiveConcurrency: {0: 0}, overload: {0: 0}, hedge: {0: 0}, destinationPolicy: {0: 0}, upstream: {0: 0, tls: {0: 0}}}, {redirect: {0: 0}}, {respond: {0: 0}}]}"
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration(parsing: Array(asking.utf8), file: "gateway.md")
    }
    var keys: [String] = []
    for problem in error?.problems ?? [] {
      guard let known = problem.message.split(separator: "known keys are ").dropFirst().first else { continue }
      let mapping = ConfigurationPath(Array(problem.path.steps.dropFirst(2).dropLast()).filter { $0 != .key("a") })
      let names = known.split(separator: ", ").map(String.init)
      keys += names.map { mapping.key($0).description }
    }
    #expect(Set(keys).count == 86)
    for key in Set(keys).sorted() { #expect(text.contains("| `\(key)` |"), "\(key)") }
  }

  @Test func namesEveryFlagAndOwnOutcome() {
    for flag in Flag<ServeOptions>.all { #expect(text.contains("| `\(flag.name)` |"), "\(flag.name)") }
    for flag in Flag<ProbeOptions>.all { #expect(text.contains("`\(flag.name)`"), "\(flag.name)") }
    for outcome in [GatewayOutcome.unrouted, .refused, .loop, .answered] {
      #expect(text.contains("| `\(outcome.label)` |"), "\(outcome.label)")
    }
  }

  @Test func itsExamplesAreRight() throws {
    let examples = text.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first }
    let names = try examples.map { example in
      let configuration = try Configuration(parsing: Array(example.utf8), file: "gateway.md")
      #expect(configuration.warnings.isEmpty)
      return configuration.routes.map(\.name)
    }
    #expect(names == [["payments"], ["orders", "canary", "tenants", "docs", "to-https", "closed"]])
  }
}
