import Foundation
import Testing

@Suite("README")
struct ReadmeTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  @Test("The embedding example is the one that compiles here, in under 15 lines")
  func example() throws {
    let source = try String(
      contentsOf: root.appending(path: "Tests/EndToEndTests/Readme/EmbeddingExample.swift"), encoding: .utf8)
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    let marked = try #require(
      source.split(separator: "  // README begins\n").last?.split(separator: "  // README ends").first)
    let lines = marked.split(separator: "\n", omittingEmptySubsequences: false).map {
      $0.hasPrefix("  ") ? $0.dropFirst(2) : $0
    }
    let example = "```swift\nimport Weir\nimport WeirExporter\n\n" + lines.joined(separator: "\n") + "```\n"
    #expect(readme.contains(example))
    #expect(example.split(separator: "\n").count - 2 < 15)
  }

  @Test(
    "Every file that the texts at the root point at is there",
    arguments: [
      "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
    ])
  func links(file: String) throws {
    let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
    let targets = text.matches(of: /\]\(([^)#:]+)\)/).map { String($0.output.1) }
    for target in targets {
      #expect(FileManager.default.fileExists(atPath: root.appending(path: target).path), "\(target)")
    }
  }
}
