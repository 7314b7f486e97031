import Foundation
import Testing
import WeirTestSupport

/// Gateways in trouble, seen by a real Prometheus with the rules that are shipped, ten times as quick as on a real day,
/// and by a real Alertmanager with the configuration that is shipped.
struct AlertFixture {
  /// Set within a suite that has the trait ``AlertScope``.
  @TaskLocal static var current: Task<AlertFixture, any Error>?

  /// That of the suite that runs now.
  static var running: AlertFixture {
    get async throws {
      guard let current else { throw PeerError("no fixture: the suite has no .alertFixture") }
      return try await current.value
    }
  }

  let prometheus: PrometheusServer
  let alertmanager: AlertmanagerServer
  private let outages: [Outage]
  private let rules: QuickRules

  init() async throws {
    outages = [
      try await .dead("dead", perSecond: 0.8), try await .dead("dead-busy", perSecond: 5),
      try await .slow("slow", perSecond: 2), try await .retriedByCallers("retried", perSecond: 14.5),
      try await .stormy("stormy", perSecond: 5), try await .killed("killed", every: 6, perSecond: 5),
      try await .misconfigured("misconfigured", perSecond: 1), try await .hung("hung", perSecond: 5),
      try await .busy("overloaded", perSecond: 60), try await .busy("healthy", perSecond: 16),
      try await .limited("refused", ofTen: 10, perSecond: 5), try await .limited("limited", ofTen: 5, perSecond: 5),
      try await .withoutToken("tokenless", perSecond: 1),
    ]
    rules = try QuickRules()
    alertmanager = try await AlertmanagerServer(config: "\(PackageRoot.path)/deploy/alertmanager/alertmanager.yml")
    prometheus = try await PrometheusServer(
      jobs: Dictionary(uniqueKeysWithValues: outages.map { ($0.job, [$0.metricsPort]) }), rules: rules.files,
      alertmanager: alertmanager.port)
  }

  /// The lines of a job's gateway about its upstream.
  func lines(of job: String) -> [String] { outages.filter { $0.job == job }.flatMap(\.lines) }

  /// Names and receivers of what Alertmanager tells, by job.
  func told() async throws -> [String: Set<String>] {
    try await alertmanager.alerts().reduce(into: [:]) { told, alert in
      for receiver in alert.receivers {
        told[alert.labels["job"] ?? "", default: []].insert("\(alert.labels["alertname"] ?? "") to \(receiver.name)")
      }
    }
  }

  func told(of job: String) async throws -> Set<String> { try await told()[job] ?? [] }
}

/// Starts what is in trouble before a suite, and ends it after it: it takes its share of the processor.
struct AlertScope: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await AlertFixture.$current.withValue(Task { try await AlertFixture() }) { try await function() }
  }
}

extension Trait where Self == AlertScope {
  static var alertFixture: Self { Self() }
}

@Suite(
  .serialized, .needs(.prometheus, .alertmanager, .curl), .alertFixture, .timeLimit(.minutes(10 * QuickRules.slowness)))
struct AlertTests {
  /// Their routes fail too, which is no other page.
  private static let down: Set = ["WeirDestinationDown to pages"]

  private static let expected: [String: Set<String>] = [
    "dead": down, "dead-busy": down, "slow": down,
    "retried": down.union(["WeirCallersRetry to tickets"]),
    "stormy": down.union(["WeirRetryStorm to pages"]),
    "misconfigured": ["WeirConfigReloadFailed to tickets"],
    "hung": ["WeirUpstreamSilent to pages"], "overloaded": ["WeirOverload to pages"],
    "refused": ["WeirRateLimited to pages"], "limited": ["WeirRateLimited to tickets"],
    "tokenless": ["WeirAuthRefreshFailing to pages"],
  ]

  /// All are in trouble at the same time, and are watched together.
  @Test func troubleIsTold() async throws {
    let fixture = try await AlertFixture.running
    var told: [String: Set<String>] = [:]
    var since: [String: Int] = [:]
    // What is told has to stay so for longer than rules take to change their mind.
    for _ in 0..<300 * QuickRules.slowness
    where !Self.expected.keys.allSatisfy({ since[$0, default: 0] >= 15 * QuickRules.slowness }) {
      told = try await fixture.told()
      for (job, expected) in Self.expected {
        since[job] = told[job, default: []] == expected ? since[job, default: 0] + 1 : 0
      }
      try await letPass(1)
    }
    for (job, expected) in Self.expected { #expect(told[job, default: []] == expected, "\(job)") }
  }

  /// By now it has been killed several times; what it is told of elsewhere would have been told here.
  @Test func noTroubleIsNotTold() async throws {
    let fixture = try await AlertFixture.running
    try await eventually("all the others are told of", within: QuickRules.seconds(180)) {
      for job in ["dead", "slow", "retried", "stormy"] where try await fixture.told(of: job).isEmpty { return false }
      let kills = try await fixture.prometheus.value("changes(process_start_time_seconds{job=\"killed\"}[5m])")
      return kills ?? 0 >= 5
    }
    let told = try await fixture.told(of: "killed")
    #expect(told == [])
  }

  /// A gateway at 80 % of what its upstream can do, watched until the gateways in trouble have their notifications.
  @Test func healthyLoadIsNotToldOf() async throws {
    let fixture = try await AlertFixture.running
    try await eventually("the others are told of", within: QuickRules.seconds(180)) {
      for job in ["hung", "overloaded", "refused", "limited"] where try await fixture.told(of: job).isEmpty {
        return false
      }
      return true
    }
    #expect(try await fixture.told(of: "healthy") == [])
    #expect(fixture.lines(of: "healthy") == [])
  }

  /// Each kind of trouble has a line in the gateway's log too.
  @Test(arguments: [
    ("hung", "upstream is silent"), ("overloaded", "upstream overloaded"), ("refused", "upstream limits requests"),
    ("limited", "upstream limits requests"),
  ])
  func troubleHasALine(job: String, message: String) async throws {
    let fixture = try await AlertFixture.running
    try await eventually("\(job) has its line", within: QuickRules.seconds(60)) {
      fixture.lines(of: job).contains { $0.contains("msg=\"\(message)\"") }
    }
  }

  /// Sections of alerts that fire there show something by each of their queries.
  @Test func queriesOfTheRunbooksAnswer() async throws {
    let fixture = try await AlertFixture.running
    let firing: Set = [
      "A destination in trouble", "WeirDestinationDown", "WeirRouteFailing", "WeirDestinationErrorBudgetBurn",
      "WeirRetryStorm", "WeirRetryBudgetExhausted", "WeirCallersRetry", "WeirConfigReloadFailed",
    ]
    for section in try RunbookTests.sections() {
      for query in section.queries {
        // Prometheus refuses what it can't read, and what matches one with many.
        let values = try await fixture.prometheus.query(query)
        guard firing.contains(section.title) else { continue }
        try await eventually("\(section.title) answers \(query), now with \(values)", within: QuickRules.seconds(120)) {
          try await !fixture.prometheus.query(query).isEmpty
        }
      }
    }
  }

  @Test func allQuickRulesAreHealthy() async throws {
    let rules = try await AlertFixture.running.prometheus.rules()
    #expect(rules.count > 40)
    for rule in rules { #expect(rule.lastError ?? "" == "", "\(rule)") }
  }

  @Test func durationsAreDividedAndNothingElse() {
    let rules = "expr: rate(a[2m]) > 0.2 and b[2m:15s] offset 1d > 14.4 * c[1h]\nfor: 15m\nrecord: a:b:rate5m"
    #expect(
      QuickRules.quick(rules, factor: 10)
        == "expr: rate(a[12s]) > 0.2 and b[12s:1500ms] offset 8640s > 14.4 * c[360s]\nfor: 90s\nrecord: a:b:rate5m")
  }
}
