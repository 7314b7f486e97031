import Foundation
import Synchronization
import Testing
import Weir
import WeirTestSupport

/// The articles of the documentation, and pages without an example of their own: every listing is in a source file that is compiled here, whatever its indentation.
@Suite("Articles") struct ArticleTests {
  static let catalogue = "Sources/Weir/Weir.docc"

  /// The directories with the sources of the listings. script/integrations compiles the services.
  static let sourceDirectories =
    ["Tests/EndToEndTests/Articles", "Tests/EndToEndTests/Readme"]
    + ["Hummingbird", "Vapor", "WithoutBridges"].map { "Integrations/Services/\($0)" }

  static let articles = [
    "Adapters", "AlamofireNames", "Bodies", "FirstRequest", "FromAlamofire", "Monitors", "Production", "Retries",
    "TimeLimits", "Trust",
    "Weir",
  ]

  private static func files(_ directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(PackageRoot.path)/\(directory)").sorted()
  }

  /// The lines without indentation and empty ones.
  private static func normal(_ text: some StringProtocol) -> String {
    text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }.joined(separator: "\n")
  }

  @Test("All of them are looked at") func all() throws {
    #expect(try Self.files(Self.catalogue) == Self.articles.map { "\($0).md" })
  }

  @Test(
    "Each listing is compiled",
    arguments: articles.map { "\(catalogue)/\($0).md" } + [
      "docs/cookies.md", "docs/caching.md", "docs/authentication.md", "docs/services.md",
    ])
  func listings(_ page: String) throws {
    var sources = ""
    for directory in Self.sourceDirectories {
      for file in try Self.files(directory) where file.hasSuffix(".swift") {
        sources += Self.normal(try PackageRoot.text(of: "\(directory)/\(file)")) + "\n"
      }
    }
    let text = try PackageRoot.text(of: page)
    for part in text.components(separatedBy: "```swift\n").dropFirst() {
      let listing = try #require(part.components(separatedBy: "```").first)
      #expect(sources.contains(Self.normal(listing)), "\(listing)")
    }
  }

  @Test("Every page of the package that they name is there", arguments: articles)
  func pages(_ article: String) throws {
    let text = try PackageRoot.text(of: "\(Self.catalogue)/\(article).md")
    for match in text.matches(of: /`((docs|deploy|dashboards|script)\/[a-z\/.]*)`/) {
      #expect(FileManager.default.fileExists(atPath: "\(PackageRoot.path)/\(match.output.1)"), "\(match.output.1)")
    }
  }

  private static func sources() throws -> String {
    let directory = URL(fileURLWithPath: PackageRoot.path).appendingPathComponent("Sources/Weir")
    let files = try #require(FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
    return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
      .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
  }

  private static func words(of text: some StringProtocol) -> Set<Substring> {
    Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map { Substring($0) })
  }

  @Test("Names that are the same, or weir's own, are there")
  func namesAreThere() throws {
    let words = Self.words(of: try Self.sources())
    let page = try PackageRoot.text(of: "\(Self.catalogue)/AlamofireNames.md")
    let lines = page.matches(of: /(?m)^\| (.*) \| (?:same|weir's own)/)
    #expect(lines.count > 40)
    for match in lines {
      for name in match.output.1.matches(of: /`([^`(]*)[^`]*`/) {
        let base = try #require(name.output.1.split(separator: ".").last)
        #expect(words.contains(base), "\(name.output.1)")
      }
    }
  }

  @Test("Each public type has its line among the names")
  func everyTypeIsNamed() throws {
    let page = Self.words(of: try PackageRoot.text(of: "\(Self.catalogue)/AlamofireNames.md"))
    let declaration =
      /(?m)^(?:@\w+ )*(?:public|open) (?:final |indirect )?(?:class|struct|enum|protocol|typealias|actor) (\w+)/
    let types = try Self.sources().matches(of: declaration)
    #expect(types.count > 100)
    for match in types {
      #expect(page.contains(match.output.1), "\(match.output.1)")
    }
  }

  @Test("The first client and the monitor of the articles work")
  func client() async throws {
    let json = #"{"celsius": 21.5}"#
    let server = try ScriptedServer(
      .answering("HTTP/1.1 200 OK\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)"))
    let weather = FirstRequest.Weather(base: "http://127.0.0.1:\(server.port)")
    #expect(try await weather.report(of: "Bern").celsius == 21.5)

    let told = Mutex<[String]>([])
    let monitor = SlowRequests(slowerThan: 0) { text in told.withLock { $0.append(text) } }
    let session = Session(eventMonitors: [monitor])
    _ = await Listings().explain(session.request(server.url))
    try await eventually("the monitor has told") { told.withLock { !$0.isEmpty } }
    #expect(told.withLock { $0 } == ["http://127.0.0.1:\(server.port): success after 1 attempts"])
  }
}
