import Foundation
import Testing

@testable import WeirGateway

/// docs/configuration.md is the reference of the configuration file and of the flags.
///
/// With `WEIR_RECORD=1` in the environment its tables of keys are written anew from the entries of keys.
@Suite struct GatewayDocumentTests {
  /// The documents with examples of the configuration file.
  static let documents = [
    "gateway", "routes", "bounds", "upstreams", "streams", "listeners", "limits", "running", "logs", "configuration",
    "proxies",
  ].map { "\($0).md" }

  private let folder = URL(filePath: #filePath).appending(path: "../../../../docs").standardized

  private func text(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  @Test func itsTablesAreThoseOfTheReference() throws {
    var tables = KeyTable.all[...]
    var lines: [Substring] = []
    var isInTable = false
    let document = try text("configuration.md")
    var heading: Substring = ""
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if isInTable, line.hasPrefix("| ") { continue }
      lines.append(line)
      if line.hasPrefix("## ") { heading = line.dropFirst(3) }
      isInTable = line.hasPrefix("|---") && lines.dropLast().last?.hasPrefix("| key | type |") == true
      guard isInTable, let table = tables.popFirst() else { continue }
      #expect(table.title == heading)
      lines += table.rows.map { $0.line[...] }
    }
    #expect(tables.isEmpty)
    if ProcessInfo.processInfo.environment["WEIR_RECORD"] == "1" {
      try lines.joined(separator: "\n")
        .write(to: folder.appending(path: "configuration.md"), atomically: true, encoding: .utf8)
    } else {
      let old = document.split(separator: "\n", omittingEmptySubsequences: false)
      for (line, new) in zip(old, lines) where line != new { #expect(line == new) }
      #expect(old.count == lines.count)
    }
  }

  @Test func namesEveryFlagAndOwnOutcome() throws {
    let text = try text("configuration.md")
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
    let texts = try Self.documents.map(text).joined()
    let examples = texts.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first }
    let names = try examples.map { example in
      let configuration = try Configuration(parsing: Array(example.utf8), file: "weir.yml")
      #expect(configuration.warnings.isEmpty)
      return configuration.routes.map(\.name)
    }
    #expect(
      names == [
        ["payments"], ["orders", "canary", "tenants", "docs", "to-https", "closed"], ["github", "cloud", "tunnels"],
        ["pay"], ["downloads"], ["chat"], ["tunnels"], ["texts"], ["all"], ["search"],
        ["reports", "admin", "no-admin"], ["shop", "health"], ["traced"], ["orders", "pay", "maps"],
      ])
  }
}
