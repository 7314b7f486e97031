import Foundation
import Testing

@testable import WeirGateway

/// docs/gateway.md and docs/upstreams.md are the reference of the configuration file and of the flags.
///
/// With `WEIR_RECORD=1` in the environment their tables of keys are written anew from the entries of keys.
@Suite struct GatewayDocumentTests {
  private let folder = URL(filePath: #filePath).appending(path: "../../../../docs").standardized
  private let text: String
  private let upstreams: String

  init() throws {
    text = try String(contentsOf: folder.appending(path: "gateway.md"), encoding: .utf8)
    upstreams = try String(contentsOf: folder.appending(path: "upstreams.md"), encoding: .utf8)
  }

  @Test(arguments: ["gateway.md", "upstreams.md"]) func itsTablesAreThoseOfTheReference(name: String) throws {
    var tables = KeyTable.all.filter { $0.document == name }[...]
    var lines: [Substring] = []
    var isInTable = false
    let document = name == "gateway.md" ? text : upstreams
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if isInTable, line.hasPrefix("| ") { continue }
      lines.append(line)
      isInTable = line.hasPrefix("|---") && lines.dropLast().last?.hasPrefix("| key | type |") == true
      if isInTable { lines += tables.popFirst()?.sections.flatMap(\.rows).map { $0.line[...] } ?? [] }
    }
    #expect(tables.isEmpty)
    if ProcessInfo.processInfo.environment["WEIR_RECORD"] == "1" {
      try lines.joined(separator: "\n").write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
    } else {
      let old = document.split(separator: "\n", omittingEmptySubsequences: false)
      for (line, new) in zip(old, lines) where line != new { #expect(line == new) }
      #expect(old.count == lines.count)
    }
  }

  @Test func namesEveryFlagAndOwnOutcome() {
    for flag in HelpTopic.serve.flags { #expect(text.contains("| `\(flag.name)` |"), "\(flag.name)") }
    for flag in HelpTopic.probe.flags { #expect(text.contains("`\(flag.name)`"), "\(flag.name)") }
    for outcome in [
      GatewayOutcome.unrouted, .refused, .loop, .answered, .noEndpoint, .busy, .rateLimited, .tooLarge, .forbidden,
      .unauthorized,
    ] {
      #expect(text.contains("| `\(outcome.label)` |"), "\(outcome.label)")
    }
  }

  @Test func itsExamplesAreRight() throws {
    let examples = (text + upstreams).split(separator: "```yaml\n").dropFirst().compactMap {
      $0.split(separator: "```").first
    }
    let names = try examples.map { example in
      let configuration = try Configuration(parsing: Array(example.utf8), file: "gateway.md")
      #expect(configuration.warnings.isEmpty)
      return configuration.routes.map(\.name)
    }
    #expect(
      names == [
        ["payments"], ["orders", "canary", "tenants", "docs", "to-https", "closed"], ["texts"], ["downloads"], ["chat"],
        ["search"],
        ["all"], ["reports", "admin", "no-admin"], ["shop", "health"], ["traced"], ["pay"],
      ])
  }
}
