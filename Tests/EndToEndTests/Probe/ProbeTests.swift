import Testing
import Weir
import WeirTestSupport

/// The probe page beside blackbox_exporter 0.23: the same names, types, labels and values, but for times.
@Suite(.enabled(if: Tool.blackboxExporter.isInstalled, "\(Tool.blackboxExporter.isMissing)"), .serialized)
struct ProbeTests {
  @Test(arguments: ProbeCase.all)
  func equals(probe: ProbeCase) async throws {
    let fixture = try await ProbeFixture.shared.value
    let pages = try await fixture.pages(probe)
    let weir = ProbeText(pages.weir), blackbox = ProbeText(pages.blackbox)
    let log = weir == blackbox ? "" : try await fixture.log(probe)
    #expect(weir == blackbox, "\(log)")
    #expect(weir.helped == Set(weir.types.keys))
    #expect(blackbox.helped == Set(blackbox.types.keys))
  }

  @Test func aDebugPageShowsNoSecret() async throws {
    let fixture = try await ProbeFixture.shared.value
    let basic = try #require(ProbeCase.all.first { $0.name == "basic" })
    let page = try await fixture.log(basic)
    #expect(page.hasPrefix("Logs for the probe:\n"))
    #expect(page.contains("Metrics that would have been returned:\n# HELP probe_dns_lookup_time_seconds "))
    #expect(page.contains("Module configuration:\nprober: http\n"))
    #expect(page.contains("password: <secret>\n"))
    #expect(!page.contains("password: secret") && !page.contains("YWxpY2U6c2VjcmV0"))
  }
}

/// A page of metrics without the values of times.
private struct ProbeText: Equatable {
  /// The series and their values; those of times are 0.
  var series: [String: Double] = [:]
  var types: [String: String] = [:]
  var helped: Set<String> = []

  private static let times = ["probe_duration_seconds", "probe_dns_lookup_time_seconds", "probe_http_duration_seconds"]

  init(_ text: String) {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 3).map(String.init)
      if words.count > 2, words[1] == "HELP" {
        helped.insert(words[2])
      } else if words.count > 3, words[1] == "TYPE" {
        types[words[2]] = words[3]
      } else if let space = line.lastIndex(of: " ") {
        let name = String(line[..<space])
        let isTime = Self.times.contains { name == $0 || name.hasPrefix("\($0){") }
        series[name] = isTime ? 0 : Double(line[space...].dropFirst()) ?? .nan
      } else {
        series[String(line)] = .nan
      }
    }
  }

  static func == (left: Self, right: Self) -> Bool { left.series == right.series && left.types == right.types }
}
