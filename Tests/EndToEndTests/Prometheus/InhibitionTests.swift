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
        "WeirDestinationDown page", "WeirRouteFailing page", "WeirRetryStorm page", "WeirLatencyHigh ticket",
      ], told: "WeirUpstreamSilent page"),
    Cause(
      "three times as many requests as can be answered",
      [
        "WeirOverload ticket", "WeirOverload page", "WeirCallersGiveUp ticket", "WeirCallersGiveUp page",
        "WeirDestinationErrorBudgetBurn ticket", "WeirLatencyHigh ticket", "WeirRouteFailing page",
      ], told: "WeirOverload page"),
    Cause(
      "a fifth more than can be answered",
      [
        "WeirOverload ticket", "WeirCallersGiveUp ticket", "WeirCallersGiveUp page", "WeirLatencyHigh ticket",
        "WeirDestinationErrorBudgetBurn ticket",
      ], told: "WeirOverload ticket"),
    Cause(
      "half of the requests are refused, and some of the others fail",
      [
        "WeirOverload ticket", "WeirOverload page", "WeirDestinationErrorBudgetBurn page",
        "WeirDestinationErrorBudgetBurn ticket",
      ], told: "WeirOverload page"),
    Cause(
      "half of the requests fail, and some more are refused",
      [
        "WeirDestinationErrorBudgetBurn page", "WeirDestinationErrorBudgetBurn ticket", "WeirOverload ticket",
        "WeirCallersGiveUp ticket", "WeirCallersGiveUp page",
      ], told: "WeirDestinationErrorBudgetBurn page"),
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
      "429 after each pause",
      [
        "WeirRateLimited ticket", "WeirUpstreamPaused ticket", "WeirLatencyHigh ticket",
        "WeirDestinationErrorBudgetBurn ticket",
      ],
      told: "WeirRateLimited ticket"),
    Cause(
      "503 with Retry-After, which is obeyed",
      ["WeirUpstreamPaused ticket", "WeirLatencyHigh ticket", "WeirDestinationErrorBudgetBurn ticket"],
      told: "WeirUpstreamPaused ticket"),
    Cause(
      "a destination that is down",
      [
        "WeirDestinationDown page", "WeirDestinationErrorBudgetBurn page", "WeirDestinationErrorBudgetBurn ticket",
        "WeirCallersGiveUp ticket", "WeirCallersGiveUp page", "WeirRetriesRising ticket",
        "WeirRetryBudgetExhausted ticket", "WeirConnectSlow ticket", "WeirRouteFailing page", "WeirEndpointsOut ticket",
      ], told: "WeirDestinationDown page"),
    Cause(
      "an upstream without endpoints",
      [
        "WeirNoEndpoint page", "WeirDestinationDown page", "WeirRouteFailing page", "WeirDiscoveryFailing ticket",
        "WeirDestinationErrorBudgetBurn page", "WeirCallersGiveUp page",
      ], told: "WeirNoEndpoint page"),
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

  // MARK: Credentials

  /// A credential is used for two upstreams, for one of which another adapter fails too.
  @Test func aCredentialIsOneNotificationWhateverItsUpstreams() async throws {
    let server = try await Self.server()
    var credential = Self.labels("WeirAuthRefreshFailing page", of: "")
    credential.merge(["interceptor": "payments", "adapter": "payments"]) { $1 }
    var adapters = ["first", "second", "first"].map { Self.labels("WeirAdaptationFailing page", of: $0) }
    for (index, name) in ["payments", "payments", "signer"].enumerated() { adapters[index]["adapter"] = name }
    let expected = Set([credential, adapters[2]])
    try await server.fire([credential] + adapters)
    try await eventually("the credential is told of, and the other adapter") {
      Set(try await server.alerts().map(\.labels)) == expected
    }
  }

  // MARK: Clusters

  /// The same page of two clusters is two notifications, and a page of one cluster inhibits the tickets of that one only.
  @Test func clustersAreToldOfApart() async throws {
    let server = try await Self.server()
    let both = ["a", "b"].map { Self.labels("WeirUpstreamSilent page", of: "first", cluster: $0) }
    let page = Self.labels("WeirUpstreamSilent page", of: "second", cluster: "a")
    let tickets = ["a", "b"].map { Self.labels("WeirConnectSlow ticket", of: "second", cluster: $0) }
    try await server.fire(both + tickets + [page])
    let expected = Set(both + [page, tickets[1]])
    try await eventually("each is told of by itself, but for the ticket that the page explains") {
      let groups = try await server.groups()
      return groups.allSatisfy { $0.alerts.count == 1 && $0.labels["cluster"] == $0.alerts[0].labels["cluster"] }
        && Set(groups.flatMap(\.alerts).map(\.labels)) == expected
    }
  }

  @Test func noListOfLabelsForgetsTheCluster() throws {
    let lines = try PackageRoot.text(of: "deploy/alertmanager/alertmanager.yml").split(separator: "\n")
    let lists = lines.filter { $0.contains("equal: [") || $0.contains("group_by: [") }
    #expect(lists.count > 10)
    for list in lists { #expect(list.contains("cluster, job"), "\(list)") }
  }

  // MARK: Routes

  /// One upstream is down behind three routes. Another has no endpoint, and the last of its routes leads to others too.
  @Test func anUpstreamIsOneNotificationWhateverItsRoutes() async throws {
    let server = try await Self.server()
    let down = Self.labels("WeirDestinationDown page", of: "first")
    let routes = ["a", "b", "c"].map { Self.labels("WeirRouteFailing page", of: "first", route: $0) }
    let empty = Self.labels("WeirNoEndpoint page", of: "second")
    let others = [("d", "second"), ("e", "second"), ("f", "")].flatMap { (route, address) -> [[String: String]] in
      ["WeirNoEndpoint page", "WeirRouteFailing page"].map { Self.labels($0, of: address, route: route) }
    }
    try await server.fire([down] + routes + others)
    try await eventually("without an alert of the second, its routes are told of once each") {
      let told = try await server.alerts().map(\.labels)
      return told.count == 4 && told.count { $0["alertname"] == "WeirNoEndpoint" } == 3
    }
    try await server.fire([empty])
    try await eventually("both are told of once") { Set(try await server.alerts().map(\.labels)) == [down, empty] }
  }

  /// While one destination is down, a route to another one and a route with several upstreams fail by themselves.
  @Test func aRouteThatFailsByItselfIsToldOf() async throws {
    let server = try await Self.server()
    let down = Self.labels("WeirDestinationDown page", of: "first")
    let others = [
      Self.labels("WeirRouteFailing page", of: "second", route: "b"),
      Self.labels("WeirRouteFailing page", of: "", route: "c"),
    ]
    try await server.fire(others + [down, Self.labels("WeirRouteFailing page", of: "first", route: "a")])
    try await eventually("both are told of, and the destination") {
      Set(try await server.alerts().map(\.labels)) == Set(others + [down])
    }
    #expect(try await server.alerts().allSatisfy { $0.receivers.map(\.name) == ["pages"] })
  }

  private static func server() async throws -> AlertmanagerServer {
    try await AlertmanagerServer(config: "\(PackageRoot.path)/deploy/alertmanager/alertmanager.yml")
  }

  /// - Parameter address: The destination; empty for none.
  private static func labels(
    _ alert: String, of address: String, route: String? = nil, cluster: String? = nil
  ) -> [String: String] {
    let words = alert.split(separator: " ").map(String.init)
    var labels = ["alertname": words[0], "severity": words[1], "job": "weir"]
    if !address.isEmpty { labels.merge(["server_address": address, "server_port": "80"]) { $1 } }
    labels["route"] = route
    labels["cluster"] = cluster
    return labels
  }
}
