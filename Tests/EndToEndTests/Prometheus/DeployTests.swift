import Testing
import WeirTestSupport

/// What is shipped for Prometheus.
@Suite(.needs(.promtool)) struct DeployTests {
  @Test(arguments: [
    ["config", "prometheus.yml"], ["config", "fleet.yml"], ["rules", "rules/recording.yml"],
    ["rules", "rules/alerts.yml"], ["rules", "rules/native.yml"],
  ])
  func promtoolAcceptsThem(arguments: [String]) async throws {
    try await Tool.promtool.run(["check", arguments[0], "\(PackageRoot.path)/deploy/prometheus/\(arguments[1])"])
  }
}
