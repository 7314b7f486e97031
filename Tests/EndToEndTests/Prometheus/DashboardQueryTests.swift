import Testing
import WeirTestSupport

/// What the dashboards ask, in a real Prometheus.
@Suite(.needs(.prometheus, .curl, .weir), .prometheus { try await BoardFixture.shared.value.prometheus })
struct DashboardQueryTests {
  /// What is chosen in the variables of a board.
  enum Choice: String, CaseIterable {
    /// `All`, where that can be chosen. Of jobs, Grafana lists those that it has found.
    case all
    /// One value, or two, of each.
    case chosen

    func values(_ uid: String, _ fixture: BoardFixture) -> [String: String] {
      var values = [
        "job": "weir", "instance": ".*", "route": ".*", "upstream": ".*", "port": fixture.port, "operation": ".*",
      ]
      values["destination"] = uid == "weir-client" && self == .all ? ".*" : BoardFixture.host
      guard self == .chosen else { return values }
      let both = [fixture.service, fixture.gateway].map { $0.replacing(".", with: "\\\\.") }
      let instances = [
        "weir-client": both[0], "weir-destination": both.joined(separator: "|"), "weir-gateway": both[1],
      ]
      values["instance"] = instances[uid]
      values["route"] = "shop|dead"
      values["upstream"] = BoardFixture.pool
      return values
    }
  }

  /// An expression as Grafana would send it.
  private func filled(_ expression: String, _ values: [String: String]) -> String {
    var expression = expression.replacing("$__rate_interval", with: "5m")
    for (name, value) in values { expression = expression.replacing("$\(name)\"", with: "\(value)\"") }
    #expect(!expression.contains(/\$[a-z_{]/), "a variable that this test doesn't know: \(expression)")
    return expression
  }

  private static let cases = Board.uids.flatMap { uid in Choice.allCases.map { (uid, $0) } }

  /// Rows that may stay empty have data here too.
  @Test(arguments: cases) func everyQueryHasData(uid: String, choice: Choice) async throws {
    let fixture = try await BoardFixture.shared.value
    let prometheus = fixture.prometheus, values = choice.values(uid, fixture)
    for panel in try Board(uid).content {
      for target in panel.targets ?? [] {
        let query = filled(target.expr, values)
        // There is no yesterday here, but for its grammar.
        if query.contains(" offset 1d") { _ = try await prometheus.query(query, at: fixture.time) }
        let found = try await prometheus.query(query.replacing(" offset 1d", with: ""), at: fixture.time)
        // The rate is known only while requests wait for a place, and none waits here, nor for a turn by a pace.
        let isKnown = !query.contains(/weir_service_rate|weir_pace_wait|weir_upstream_pause/)
        #expect(!isKnown || found.values.contains { $0.isFinite }, "\(panel.title): \(query) gives \(found)")
        // Of what lies behind a click, each line must know which it is.
        let labels = panel.valueColumns == [] ? ["job"] : panel.linkedLabels
        for series in found.keys {
          let known = Set(series.keys)
          #expect(labels.isSubset(of: known), "\(panel.title) has links by \(labels), and \(query) gives \(series)")
        }
      }
    }
  }

  @Test(arguments: Board.uids) func annotationsHaveData(uid: String) async throws {
    let fixture = try await BoardFixture.shared.value
    for annotation in try Board(uid).annotations.list {
      let query = filled(annotation.expr, Choice.all.values(uid, fixture))
      #expect(try await !fixture.prometheus.query(query, at: fixture.time).isEmpty)
    }
  }

  @Test(arguments: cases) func variablesHaveValues(uid: String, choice: Choice) async throws {
    let fixture = try await BoardFixture.shared.value
    let variables = try Board(uid).variables.filter { $0.type == "query" }
    #expect(variables.count >= 3)
    for variable in variables {
      let definition = try #require(variable.query["query"]?.text, "\(variable.name)")
      let parts = try #require(definition.wholeMatch(of: /label_values\((.+), (\w+)\)/), "\(definition)")
      let query = "count by (\(parts.2)) (\(filled(String(parts.1), choice.values(uid, fixture))))"
      let found = try await fixture.prometheus.query(query, at: fixture.time)
      let values = Set(found.keys.compactMap { $0[String(parts.2)] }.filter { !$0.isEmpty })
      #expect(values.isSuperset(of: expected(of: variable.name, uid, choice, fixture)), "\(query) gives \(values)")
    }
  }

  private func expected(of name: String, _ uid: String, _ choice: Choice, _ fixture: BoardFixture) -> Set<String> {
    switch name {
    case "job": ["weir"]
    case "instance": uid == "weir-gateway" ? [fixture.gateway] : [fixture.service, fixture.gateway]
    case "destination": [BoardFixture.host, "127.0.0.1"]
    case "port": [fixture.port]
    case "operation": ["GET /ok"]
    case "route": ["shop", "dead", "pool"]
    case "upstream": [BoardFixture.pool]
    default: ["something that this test doesn't know"]
    }
  }

  /// A panel, and what of a label is above zero in it.
  struct Lines: CustomTestStringConvertible {
    let uid: String
    let title: String
    let label: String
    let values: Set<String>

    init(_ uid: String, _ title: String, _ label: String, _ values: Set<String>) {
      self.uid = uid
      self.title = title
      self.label = label
      self.values = values
    }

    var testDescription: String { "\(uid): \(title)" }
  }

  @Test(arguments: [
    Lines(
      "weir-client", "Requests by destination", "server_address", [BoardFixture.host, "127.0.0.1", BoardFixture.pool]),
    Lines("weir-client", "Destinations", "server_address", [BoardFixture.host, "127.0.0.1", BoardFixture.pool]),
    Lines("weir-client", "Answers of 429 by destination", "server_address", ["127.0.0.1"]),
    Lines("weir-client", "Callers that gave up by destination", "server_address", ["127.0.0.1"]),
    Lines("weir-client", "Open circuits by destination", "server_address", ["127.0.0.1"]),
    Lines("weir-destination", "Requests by outcome", "outcome", ["success", "http_error", "adaptation_failed"]),
    Lines("weir-destination", "Attempts by answer", "http_response_status_code", ["200"]),
    Lines("weir-destination", "Attempts by method", "http_request_method", ["GET", "POST"]),
    Lines(
      "weir-destination", "Phases, p99", "phase",
      ["queue", "resolve", "connect", "send", "processing", "transfer", "serialization"]),
    Lines("weir-destination", "Retries by reason", "reason", ["503"]),
    Lines("weir-destination", "Denied by reason", "reason", ["budget", "policy"]),
    Lines("weir-destination", "State of the upstream", "state", ["normal"]),
    Lines("weir-destination", "Circuit", "state", ["closed"]),
    Lines("weir-destination", "Hedges by result", "result", ["lost"]),
    Lines("weir-destination", "Adapter failures", "reason", ["error"]),
    Lines("weir-destination", "Redirects by status", "http_response_status_code", ["302"]),
    Lines("weir-gateway", "Requests by status", "http_response_status_code", ["200", "404", "429", "502", "503"]),
    Lines("weir-gateway", "Whose failures", "error_type", ["503", "transport_error", "rejected", "adaptation_failed"]),
    Lines("weir-gateway", "Requests without a route", "outcome", ["no_route"]),
    Lines("weir-gateway", "Callers' retries by route", "route", ["shop"]),
    Lines("weir-gateway", "Callers that gave up by route", "route", ["shop"]),
    Lines("weir-gateway", "Available endpoints by upstream", "upstream", [BoardFixture.pool]),
    Lines("weir-gateway", "Attempts by endpoint", "upstream", [BoardFixture.pool]),
    Lines("weir-gateway", "Failing attempts by endpoint", "upstream", [BoardFixture.pool]),
    Lines("weir-gateway", "Refreshes by outcome", "outcome", ["success", "failure"]),
    Lines("weir-gateway", "Requests without a token by reason", "reason", ["error", "invalid_client"]),
    Lines("weir-gateway", "Reloads", "job", ["weir"]),
  ])
  func aPanelHasTheLinesThatMoved(lines: Lines) async throws {
    let fixture = try await BoardFixture.shared.value
    let panel = try #require(try Board(lines.uid).content.first { $0.title == lines.title })
    let target = try #require(panel.targets?.first)
    let query = filled(target.expr, Choice.all.values(lines.uid, fixture))
    let found = try await fixture.prometheus.query("(\(query)) > 0", at: fixture.time)
    #expect(Set(found.keys.compactMap { $0[lines.label] }) == lines.values, "\(query) gives \(found)")
  }
}
