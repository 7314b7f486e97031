import Foundation
import Testing
import WeirTestSupport

/// docs/runbooks.md against the rules; AlertTests run its queries.
@Suite struct RunbookTests {
  /// A part of the page under a heading of the second level, and the queries in it.
  struct Section {
    let title: String
    let queries: [String]
  }

  static func sections() throws -> [Section] {
    try PackageRoot.text(of: "docs/runbooks.md").components(separatedBy: "\n## ").dropFirst().map { text in
      let title = text.prefix { $0 != "\n" }
      let queries = text.matches(of: #/```promql\n([\s\S]*?)```/#).map { String($0.output.1) }
      return Section(title: String(title), queries: queries)
    }
  }

  private static func alertNames() throws -> Set<String> {
    Set(
      try PackageRoot.text(of: "deploy/prometheus/rules/alerts.yml").matches(of: #/- alert: (\w+)/#)
        .map { String($0.output.1) })
  }

  @Test func eachAlertHasASection() throws {
    let titles = try Self.sections().map(\.title)
    #expect(Set(titles).subtracting(try Self.alertNames()) == ["A destination in trouble"])
    #expect(try Self.alertNames().subtracting(titles) == [])
    #expect(titles.count == Set(titles).count)
  }

  /// The link of each alert leads to its section.
  @Test func linksLeadToSections() throws {
    let rules = try PackageRoot.text(of: "deploy/prometheus/rules/alerts.yml")
    for rule in rules.components(separatedBy: "- alert: ").dropFirst() {
      let name = rule.prefix { $0 != "\n" }
      #expect(rule.contains("runbook_url: '{{ $externalLabels.runbook_base }}#\(name.lowercased())'"), "\(name)")
    }
  }

  @Test func queriesAreForTheirAlertAndHideWhatDidNotHappen() throws {
    for section in try Self.sections() {
      for query in section.queries {
        #expect(query.contains(#/ (>|>=|==) (0|1|0\.1)\s/#), "\(section.title): \(query)")
        let state = "alertstate=\"firing\"}[1h])"
        let selector =
          section.title.hasPrefix("Weir")
          ? "last_over_time(ALERTS{alertname=\"\(section.title)\", \(state)" : "last_over_time(ALERTS{\(state)"
        #expect(query.contains(selector), "\(section.title): \(query)")
      }
    }
  }
}
