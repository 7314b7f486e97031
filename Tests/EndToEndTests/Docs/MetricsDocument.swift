import WeirMetrics
import WeirTestSupport

/// docs/metrics.md, read: one entry per line of its tables.
struct MetricsDocument {
  struct Entry: Equatable {
    var part: String
    var kind: String
    var labels: [String]
    var unit: String
    var meaning: String
  }

  private(set) var entries: [String: Entry] = [:]
  private(set) var buckets: [String: [Double]] = [:]
  /// Names that stand in two lines of one kind.
  private(set) var repeated: [String] = []

  private static let abbreviations = ["D": ["server_address", "server_port"], "M": ["http_request_method"]]

  init() throws {
    var part = ""
    for line in try PackageRoot.text(of: "docs/metrics.md").split(separator: "\n") {
      if line.hasPrefix("## ") { part = String(line.dropFirst(3)) }
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).map(Self.trimmed)
      guard line.hasPrefix("| `"), cells.count > 3 else { continue }
      let name = Self.bare(cells[1])
      if part == "Buckets" {
        let bounds = cells[2].split(separator: " ").map { Double($0) ?? .nan }
        if buckets.updateValue(bounds, forKey: name) != nil { repeated.append(name) }
      } else if cells.count == 7 {
        let labels = cells[3].split(separator: " ").flatMap { Self.abbreviations[String($0)] ?? [Self.bare($0)] }
        let entry = Entry(part: part, kind: cells[2], labels: labels, unit: cells[4], meaning: cells[5])
        if entries.updateValue(entry, forKey: name) != nil { repeated.append(name) }
      } else {
        repeated.append("a line of \(cells.count - 2) cells: \(line)")
      }
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }

  private static func bare(_ text: some StringProtocol) -> String {
    String(text.filter { $0 != "`" })
  }
}
