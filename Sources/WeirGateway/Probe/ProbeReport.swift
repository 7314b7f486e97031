package import WeirCurl

/// The results of one request, for people to read.
package struct ProbeReport: Sendable, Equatable {
  /// `200 OK over HTTP/1.1`, or the reason why there was no response.
  package var outcome: String
  /// Named facts, shown above the table in this order.
  package var facts: [(name: String, value: String)]
  /// The phases, shown one after the other, as they happen within one attempt.
  package var phases: PhaseDurations
  package var total: Duration

  package init(outcome: String, facts: [(name: String, value: String)], phases: PhaseDurations, total: Duration) {
    self.outcome = outcome
    self.facts = facts
    self.phases = phases
    self.total = total
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.outcome == right.outcome && left.phases == right.phases && left.total == right.total
      && left.facts.elementsEqual(right.facts, by: ==)
  }

  /// The report as text: facts, then a row per phase with its place in the whole as a bar of `width` characters.
  package func text(width: Int = 40) -> String {
    let width = min(max(width, 10), 200)
    var lines = [Self.printable(outcome)]
    let factWidth = facts.map(\.name.count).max() ?? 0
    for fact in facts { lines.append("\(Self.pad(fact.name, factWidth))  \(Self.printable(fact.value))") }
    let stretches = stretches
    guard !stretches.isEmpty else { return lines.joined(separator: "\n") + "\n" }
    let rows = stretches.map { [$0.name, Self.milliseconds($0.start), Self.milliseconds($0.duration)] }
    let table = [["phase", "start", "time"]] + rows + [["total", "", Self.milliseconds(total)]]
    let widths = (0..<3).map { column in table.map { $0[column].count }.max() ?? 0 }
    let bars = [""] + stretches.map { bar($0, width: width) } + [""]
    lines.append("")
    for (row, bar) in zip(table, bars) {
      let cells = [Self.pad(row[0], widths[0]), Self.pad(row[1], -widths[1]), Self.pad(row[2], -widths[2])]
      lines.append(Self.trimmed("\(cells.joined(separator: "  "))  \(bar)"))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// `start` counts from the request's own start.
  private typealias Stretch = (name: String, start: Duration, duration: Duration)

  private var stretches: [Stretch] {
    var stretches: [Stretch] = []
    var start = Duration.zero
    phases.forEach { phase, seconds in
      stretches.append((phase.name, start, .seconds(seconds)))
      start += .seconds(seconds)
    }
    return stretches
  }

  private func bar(_ stretch: Stretch, width: Int) -> String {
    guard total > .zero, stretch.duration > .zero else { return "" }
    let begin = min(max(stretch.start / total, 0), 1)
    let end = min(max((stretch.start + stretch.duration) / total, begin), 1)
    let first = min(Int(begin * Double(width)), width - 1)
    // A phase that took any time at all gets a mark.
    let last = max(Int((end * Double(width)).rounded()), first + 1)
    return String(repeating: " ", count: first) + String(repeating: "#", count: last - first)
  }

  /// `0.120 ms`, right-aligned by the table.
  static func milliseconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let microseconds = seconds.multipliedReportingOverflow(by: 1_000_000)
    let count = microseconds.overflow ? Int64.max : microseconds.partialValue &+ attoseconds / 1_000_000_000_000
    let fraction = String(abs(count % 1000))
    let sign = count < 0 && count > -1000 ? "-" : ""
    return "\(sign)\(count / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) ms"
  }

  /// Pads at the end, or at the beginning for a negative width.
  private static func pad(_ text: String, _ width: Int) -> String {
    let padding = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? padding + text : text + padding
  }

  private static func trimmed(_ line: String) -> String {
    var line = line[...]
    while line.last == " " { line.removeLast() }
    return String(line)
  }

  /// The text without control characters: a server must not steer the terminal.
  private static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) ? "\u{fffd}" : $0 }))
  }
}
