import Foundation
import Testing
import WeirTestSupport

@testable import WeirExporter

/// The status page in Chromium, by Tests/Peers/browser.py.
@Suite(.slow, .timeLimit(.minutes(5))) struct StatusBrowserTests {
  private static let chromium = Tool(named: "chromium")
  private static let python = Tool("websockets", at: ["\(PackageRoot.path)/.build/test-venv/bin/python"])
  private static let package = Tool("websockets", at: ["\(PackageRoot.path)/.build/test-venv/bin/websockets"])

  /// The page and its JSON at two moments, and where they lie.
  private static func files(_ first: StatusReport, _ next: StatusReport) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    for (name, report) in [("first", first), ("next", next)] {
      try directory.file("\(name).html", String(decoding: StatusPage.html(report), as: UTF8.self))
      try directory.file("\(name).json", String(decoding: StatusJSON.bytes(report), as: UTF8.self))
    }
    let hostile = StatusSamples.huge("</script><script>alert(1)</script><img src=x onload=\"alert(1)\" style='left:0'>")
    try directory.file("hostile.html", String(decoding: StatusPage.html(hostile), as: UTF8.self))
    try directory.file("policy", StatusPage.securityPolicy)
    return directory
  }

  private static func run(
    _ verb: String, _ directory: TemporaryDirectory, _ arguments: String...
  ) async throws -> String {
    let script = "\(PackageRoot.path)/Tests/Peers/browser.py"
    let peer = try Peer(python, [script, verb, try chromium.path, directory.path] + arguments)
    guard try await peer.waitForExit() == .exited(0) else { throw PeerError(peer.output) }
    return peer.output
  }

  @Test(.enabled(if: chromium.isInstalled && package.isInstalled))
  func isReadableAtAnyWidthAndKeepsToItself() async throws {
    var next = StatusSamples.troubled
    next.problems.removeLast()
    next.now += 2
    for index in next.routes.indices { next.routes[index].traffic.last10s.requests += 17 }
    let directory = try Self.files(StatusSamples.troubled, next)
    #expect(try await Self.run("check", directory) == "all is well\n")
  }

  /// Not a test: `WEIR_SHOOT=docs/images script/test --filter StatusBrowserTests` makes the pictures of docs/status.md.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["WEIR_SHOOT"] != nil))
  func pictures() async throws {
    let images = try #require(ProcessInfo.processInfo.environment["WEIR_SHOOT"])
    let directory = try Self.files(StatusSamples.troubled, StatusSamples.troubled)
    _ = try await Self.run("shoot", directory, "1280", "light", "\(images)/status.png", "1900")
    _ = try await Self.run("shoot", directory, "390", "dark", "\(images)/status-390.png", "1900")
  }
}
