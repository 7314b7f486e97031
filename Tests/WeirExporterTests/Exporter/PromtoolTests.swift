import Testing
import WeirExporter
import WeirMetrics
import WeirTestSupport

/// What Prometheus' own checker says of a page. Skipped where promtool isn't installed.
@Suite(.enabled(if: Tool.promtool.isInstalled))
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
    let checked = try await Tool.promtool.runToEnd(
      ["check", "metrics"], input: String(decoding: page.body, as: UTF8.self))
    #expect(checked.status == .exited(0) && checked.output == "", "\(checked.output)")
  }
}
