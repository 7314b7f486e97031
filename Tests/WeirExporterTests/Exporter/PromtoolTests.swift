import Foundation
import Testing
import WeirExporter
import WeirMetrics

private let promtool = "/usr/bin/promtool"

/// What Prometheus' own checker says of a page. Skipped where promtool isn't installed.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: promtool)))
struct PromtoolTests {
  @Test func aWholePage() async throws {
    let registry = Registry()
    _ = try MetricsMonitor(registry: registry)
    let hostile = try registry.counter("hostile_total", help: "A \\ and\na \"line\".", labels: "value")
    for value in ["", "\"", "\\", "\n", "a\u{0}b", "\u{1F600}", "{le=\"1\"} 2\n# EOF"] {
      hostile.with(value).increment()
    }
    let exporter = try Exporter(registry: registry, listenAddress: "127.0.0.1:0").start()
    // The second page also tells of the first.
    _ = try PageClient.get(exporter.address)
    let page = try #require(try PageClient.get(exporter.address))
    await exporter.stop(grace: 1)
    #expect(page.body.count > 2000)
    #expect(try Self.check(page.body) == "")
  }

  /// What promtool complains about; empty when it is content.
  private static func check(_ page: [UInt8]) throws -> String {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("weir-page-\(UUID().uuidString)")
    try Data(page).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let output = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: promtool)
    process.arguments = ["check", "metrics"]
    process.standardInput = try FileHandle(forReadingFrom: file)
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let problems = String(decoding: text, as: UTF8.self)
    return process.terminationStatus == 0 ? problems : "status \(process.terminationStatus): \(problems)"
  }
}
