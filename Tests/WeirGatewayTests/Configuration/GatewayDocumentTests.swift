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

  /// The decoder itself is asked which keys it knows.
  @Test func namesEveryKey() throws {
    let keys =
      ConfigurationDocument.keys + RouteDocument.keys + MatchDocument.keys.map { "match.\($0)" }
      + HeadersDocument.keys.map { "headers.\($0)" } + RetryDocument.keys.map { "retry.\($0)" }
    #expect(keys.count == 15)
    for key in keys { #expect(text.contains("| `\(key)` |"), "\(key)") }
  }

  @Test func namesEveryFlagAndOwnOutcome() {
    for flag in Flag<ServeOptions>.all { #expect(text.contains("| `\(flag.name)` |"), "\(flag.name)") }
    for flag in Flag<ProbeOptions>.all { #expect(text.contains("`\(flag.name)`"), "\(flag.name)") }
    for outcome in [GatewayOutcome.unrouted, .refused, .loop, .answered] {
      #expect(text.contains("| `\(outcome.label)` |"), "\(outcome.label)")
    }
  }

  @Test func itsExampleIsRight() throws {
    let example = try #require(text.split(separator: "```yaml\n").dropFirst().first?.split(separator: "```").first)
    let configuration = try Configuration(parsing: Array(example.utf8), file: "gateway.md")
    #expect(configuration.routes.map(\.name) == ["payments"])
  }
}

extension Decodable {
  /// The names of the stored properties, which are the keys; an empty document decodes as each of these types.
  fileprivate static var keys: [String] {
    guard let value = try? JSONDecoder().decode(Self.self, from: Data("{}".utf8)) else { return [] }
    return Mirror(reflecting: value).children.compactMap(\.label)
  }
}
