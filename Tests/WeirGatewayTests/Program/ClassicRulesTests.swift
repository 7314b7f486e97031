import Testing
import WeirExporter
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// The table against the rules that are shipped, and those against their native form.
@Suite struct ClassicRulesTests {
  private struct Rule {
    let name: String
    var expression = ""
    /// The other lines, without a link that an anchor may stand for.
    var rest: [Substring] = []

    static func all(in files: String...) throws -> [Rule] {
      var rules: [Rule] = []
      for file in files {
        var isExpression = false
        for line in try PackageRoot.text(of: "deploy/prometheus/rules/\(file).yml").split(separator: "\n") {
          if let begin = line.wholeMatch(of: #/ {6}- (?:record|alert): (\S+)/#) {
            rules.append(Rule(name: String(begin.1)))
          } else if line.hasPrefix("        "), !rules.isEmpty {
            if !line.hasPrefix("         ") { isExpression = line.contains("expr:") }
            if isExpression {
              rules[rules.count - 1].expression += line + "\n"
            } else if !line.contains("dashboard_url:") {
              rules[rules.count - 1].rest.append(line)
            }
          }
        }
      }
      return rules
    }

    /// Whether it reads a histogram's classic series.
    func readsClassic(_ histogram: String) throws -> Bool {
      try expression.contains(Regex("\\b\(histogram)_(bucket|sum|count)\\b"))
    }
  }

  @Test func theTableHasTheRulesThatReadClassicSeries() throws {
    let registry = Registry()
    _ = try GatewayMetrics(registry, client: MetricsMonitor(registry: registry))
    let rules = try Rule.all(in: "recording", "alerts")
    let table = Dictionary(uniqueKeysWithValues: ClassicRules.byHistogram.map { ($0.key, $0.value) })
    for histogram in registry.histogramNames {
      let reading = try rules.filter { try $0.readsClassic(histogram) }.map(\.name).sorted()
      #expect(reading == table[histogram] ?? [], "\(histogram)")
    }
    #expect(Set(table.keys).isSubset(of: registry.histogramNames))
  }

  @Test func eachOfThemHasANativeForm() throws {
    let (classic, native) = (try Rule.all(in: "recording", "alerts"), try Rule.all(in: "native"))
    #expect(native.map(\.name).sorted() == ClassicRules.byHistogram.flatMap(\.value).sorted())
    for rule in native {
      for (histogram, names) in ClassicRules.byHistogram {
        #expect(try !rule.readsClassic(histogram), "\(rule.name)")
        guard names.contains(rule.name) else { continue }
        #expect(try rule.expression.contains(Regex("\\b\(histogram)\\b")), "\(rule.name)")
        let before = try classic.first { try $0.name == rule.name && $0.readsClassic(histogram) }
        #expect(rule.rest == before?.rest, "\(rule.name)")
      }
      #expect(!rule.expression.contains(#/\ble\b/#), "\(rule.name)")
    }
  }

  @Test func namesTheRulesOfChosenHistograms() {
    #expect(ClassicRules.reading(.none).isEmpty)
    #expect(ClassicRules.reading(.all).count == ClassicRules.byHistogram.count)
    let chosen = ClassicRules.reading(.named(["weir_event_loop_lag_seconds", "weir_request_attempts"]))
    #expect(chosen.map(\.histogram) == ["weir_event_loop_lag_seconds"])
    #expect(chosen.map(\.rules) == [["WeirEventLoopStalled"]])
  }
}
