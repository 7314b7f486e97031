import Foundation
import Testing
import WeirTestSupport

/// The order of the folders of Weir, in ARCHITECTURE.md and in the sources, as script/layers sees it.
@Suite struct LayersTests {
  private static let layers = Tool("script/layers", at: ["\(PackageRoot.path)/script/layers"])
  private static let python = Tool(named: "python3")

  /// A copy of the sources and of the page with their order, to which files can be added.
  private struct Tree {
    let directory: TemporaryDirectory
    /// From the top to the bottom.
    let folders: [String]

    init() throws {
      directory = try TemporaryDirectory()
      let page = try PackageRoot.text(of: "ARCHITECTURE.md")
      try directory.file("ARCHITECTURE.md", page)
      try FileManager.default.copyItem(atPath: "\(PackageRoot.path)/Sources", toPath: "\(directory.path)/Sources")
      let lines = page.split(separator: "\n").drop { $0 != "### Layers inside Weir" }.dropFirst()
      folders = lines.prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| `") }.compactMap {
        $0.split(separator: "`").dropFirst().first.map(String.init)
      }
    }

    func add(_ text: String, to folder: String, as file: String = "Added.swift") throws {
      let path = try directory.directory("Sources/Weir/\(folder)")
      try text.write(toFile: "\(path)/\(file)", atomically: false, encoding: .utf8)
    }

    /// What the script says of the tree; nil: nothing is wrong.
    func problems() async throws -> String? {
      let (status, output) = try await LayersTests.layers.runToEnd(["--root", directory.path])
      return status == .exited(0) ? nil : output
    }
  }

  @Test(.needs(layers, python)) func theSourcesKeepTheOrder() async throws {
    let tree = try Tree()
    #expect(tree.folders.count > 4)
    #expect(try await tree.problems() == nil)
  }

  @Test(.needs(layers, python)) func aTypeFromAboveIsTold() async throws {
    let tree = try Tree()
    let top = try #require(tree.folders.first)
    let bottom = try #require(tree.folders.last)
    try tree.add("struct AddedAbove {}\n", to: top)
    try tree.add("// AddedAbove\n\nlet addedBelow = \"AddedAbove \\(AddedAbove.self)\"\n", to: bottom)
    let problems = try #require(try await tree.problems())
    let line = "Sources/Weir/\(bottom)/Added.swift:3: \(bottom) uses \(top) (AddedAbove), which is above it\n"
    #expect(problems.contains(line), "\(problems)")
    #expect(!problems.contains("Added.swift:1"))
  }

  @Test(.needs(layers, python)) func whatIsBelowMayBeUsed() async throws {
    let tree = try Tree()
    let top = try #require(tree.folders.first)
    let bottom = try #require(tree.folders.last)
    try tree.add("struct AddedBelow {\n  func addedBelow() {}\n}\n", to: bottom)
    try tree.add("func addedAbove(_ below: [AddedBelow]) {\n  below.first?.addedBelow()\n}\n", to: top)
    #expect(try await tree.problems() == nil)
  }

  @Test(.needs(layers, python)) func aFolderThatIsNotListedIsTold() async throws {
    let tree = try Tree()
    try tree.add("struct Added {}\n", to: "Attic")
    let problems = try #require(try await tree.problems())
    #expect(problems.contains("Sources/Weir/Attic: Attic is not in the list of ARCHITECTURE.md\n"), "\(problems)")
  }

  @Test(.needs(layers, python)) func aListedFolderThatIsNotThereIsTold() async throws {
    let tree = try Tree()
    let bottom = try #require(tree.folders.last)
    try FileManager.default.removeItem(atPath: "\(tree.directory.path)/Sources/Weir/\(bottom)")
    let problems = try #require(try await tree.problems())
    #expect(problems.contains("ARCHITECTURE.md: Weir has no folder \(bottom) with Swift files\n"), "\(problems)")
  }

  @Test(.needs(layers, python)) func aCoreOfFiveIsTold() async throws {
    let tree = try Tree()
    let page = "### Layers inside Weir\n\n| folder | what it holds |\n|---|---|\n"
    let rows = tree.folders.prefix(5).map { "| `\($0)` (core) | what names the others |\n" }.joined()
    try tree.directory.file("ARCHITECTURE.md", page + rows)
    let problems = try #require(try await tree.problems())
    #expect(problems.contains("the core has 5 folders; at most 4 may name each other"), "\(problems)")
  }
}
