import Testing
import WeirTestSupport

/// The shipped configuration of Alertmanager makes one notification of the alerts that fire for one cause.
@Suite(.needs(.alertmanager, .curl)) struct InhibitionTests {
  struct Cause: CustomTestStringConvertible {
    let testDescription: String
    /// Alerts about one destination, with their severities.
    let firing: [String]
    let told: String

    init(_ description: String, _ firing: [String], told: String) {
      testDescription = description
      self.firing = firing
      self.told = told
    }
  }

  private static let causes = [
    Cause(
      "a hang",
      [
        "WeirUpstreamSilent page", "WeirOverload ticket", "WeirOverload page", "WeirCallersGiveUp ticket",
        "WeirCallersGiveUp page", "WeirDestinationErrorBudgetBurn page", "WeirDestinationErrorBudgetBurn ticket",
        "WeirDestinationDown page", "WeirRetryStorm page", "WeirLatencyHigh ticket",
      ], told: "WeirUpstreamSilent page"),
    Cause(
      "three times as many requests as can be answered",
      [
        "WeirOverload ticket", "WeirOverload page", "WeirCallersGiveUp ticket", "WeirCallersGiveUp page",
        "WeirDestinationErrorBudgetBurn page", "WeirDestinationErrorBudgetBurn ticket", "WeirLatencyHigh ticket",
      ], told: "WeirOverload page"),
    Cause(
      "a fifth more than can be answered",
      [
        "WeirOverload ticket", "WeirCallersGiveUp ticket", "WeirCallersGiveUp page", "WeirLatencyHigh ticket",
        "WeirDestinationErrorBudgetBurn page", "WeirDestinationErrorBudgetBurn ticket",
      ], told: "WeirOverload ticket"),
    Cause(
      "all answers are 429",
      [
        "WeirRateLimited page", "WeirRateLimited ticket", "WeirRetriesRising ticket", "WeirRetryBudgetExhausted ticket",
      ],
      told: "WeirRateLimited page"),
    Cause(
      "some answers are 429",
      ["WeirRateLimited ticket", "WeirRetriesRising ticket", "WeirRetryBudgetExhausted ticket"],
      told: "WeirRateLimited ticket"),
    Cause(
      "a destination that is down",
      [
        "WeirDestinationDown page", "WeirDestinationErrorBudgetBurn page", "WeirDestinationErrorBudgetBurn ticket",
        "WeirCallersGiveUp ticket", "WeirCallersGiveUp page", "WeirRetriesRising ticket",
        "WeirRetryBudgetExhausted ticket", "WeirConnectSlow ticket",
      ], told: "WeirDestinationDown page"),
    Cause(
      "a brown-out",
      [
        "WeirDestinationErrorBudgetBurn page", "WeirDestinationErrorBudgetBurn ticket", "WeirRetriesRising ticket",
        "WeirRetryBudgetExhausted ticket", "WeirLatencyHigh ticket",
      ], told: "WeirDestinationErrorBudgetBurn page"),
  ]

  @Test(arguments: causes) func oneCauseIsOneNotification(cause: Cause) async throws {
    let server = try await Self.server()
    try await server.fire(cause.firing.map { Self.labels($0, of: "first") })
    try await eventually("\(cause.testDescription) is told once") {
      try await server.alerts().map { "\($0.labels["alertname"] ?? "") \($0.labels["severity"] ?? "")" } == [cause.told]
    }
    let receiver = cause.told.hasSuffix(" page") ? "pages" : "tickets"
    #expect(try await server.alerts().map { $0.receivers.map(\.name) } == [[receiver]])
  }

  /// A destination's trouble hides no alert of another destination, nor of another job about the same destination.
  @Test func othersAreToldOfAllTheSame() async throws {
    let server = try await Self.server()
    var others = [Self.labels("WeirOverload ticket", of: "second"), Self.labels("WeirCallersGiveUp page", of: "first")]
    others[1]["job"] = "another"
    let expected = Set(others + [Self.labels("WeirUpstreamSilent page", of: "first")])
    try await server.fire(
      others + ["WeirUpstreamSilent page", "WeirOverload page"].map { Self.labels($0, of: "first") })
    try await eventually("all three are told of") { Set(try await server.alerts().map(\.labels)) == expected }
  }

  private static func server() async throws -> AlertmanagerServer {
    try await AlertmanagerServer(config: "\(PackageRoot.path)/deploy/alertmanager/alertmanager.yml")
  }

  private static func labels(_ alert: String, of address: String) -> [String: String] {
    let words = alert.split(separator: " ").map(String.init)
    return [
      "alertname": words[0], "severity": words[1], "job": "weir", "server_address": address, "server_port": "80",
    ]
  }
}
