import Foundation
import Testing

/// The files with the recorded table: `table.txt` has all rows, of the libcurl that it names in its first line, and
/// `table-VERSION.txt` those rows that differ with another version.
///
/// With `WEIR_RECORD=1` in the environment the file of the engine's version is written anew, without it the rows are
/// compared. After a change to `table.txt` the other version must be recorded anew, too, by
/// `WEIR_RECORD=1 script/test --libcurl backports --filter EngineRecordingTests`.
struct EngineRecording {
  private let version: String

  init(_ engine: EngineUnderTest) {
    version = engine.version
  }

  static var isWriting: Bool { ProcessInfo.processInfo.environment["WEIR_RECORD"] == "1" }

  /// Whether there is a recording of this version, or one is to be made.
  var exists: Bool { Self.isWriting || isFirst || (try? read("table-\(version)")) != nil }

  func check(_ table: EngineTable, sourceLocation: SourceLocation = #_sourceLocation) throws {
    if Self.isWriting { return try write(table) }
    var recorded = EngineTable(try read("table"))
    if !isFirst {
      let different = EngineTable(try read("table-\(version)"))
      recorded.rows = recorded.rows.map { different[$0.name] ?? $0 }
    }
    #expect(recorded.rows.map(\.name) == table.rows.map(\.name), "the rows", sourceLocation: sourceLocation)
    for row in table.rows {
      guard let known = recorded[row.name], known != row else { continue }
      Issue.record(
        "\(row.name) differs from its recording:\n\(Self.difference(known.text, row.text))",
        sourceLocation: sourceLocation)
    }
  }

  private func write(_ table: EngineTable) throws {
    let base = try? read("table")
    if base == nil || isFirst { return try write(firstLine + table.text, to: "table") }
    let recorded = EngineTable(base ?? "")
    let different = table.rows.filter { recorded[$0.name] != $0 }
    let text = "# The rows that differ with \(name).\n\n" + EngineTable(rows: different).text
    try write(text, to: "table-\(version)")
  }

  /// Whether the table of all rows is of this version.
  private var isFirst: Bool { (try? read("table").hasPrefix(firstLine)) ?? false }

  private var firstLine: String { "# Recorded with \(name).\n\n" }

  private var name: String {
    version.hasPrefix("own-") ? "our own engine, on libcurl \(version.dropFirst(4))" : "libcurl \(version)"
  }

  private func read(_ name: String) throws -> String {
    try String(contentsOfFile: path(name), encoding: .utf8)
  }

  private func write(_ text: String, to name: String) throws {
    try text.write(toFile: path(name), atomically: true, encoding: .utf8)
  }

  private func path(_ name: String) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Recorded/\(name).txt").path
  }

  /// The lines that are gone and those that are new, in their order.
  private static func difference(_ recorded: String, _ text: String) -> String {
    let old = recorded.components(separatedBy: "\n")
    let difference = text.components(separatedBy: "\n").difference(from: old)
    let changes = difference.removals + difference.insertions
    var lines: [(offset: Int, text: String)] = changes.map { change in
      switch change {
      case .remove(let offset, let line, _): (offset, "- \(line)")
      case .insert(let offset, let line, _): (offset, "+ \(line)")
      }
    }
    lines.sort { ($0.offset, $1.text) < ($1.offset, $0.text) }
    return lines.map(\.text).joined(separator: "\n")
  }
}

/// The recorded table: a text for each case.
struct EngineTable {
  struct Row: Equatable, Sendable {
    let name: String
    let text: String
  }

  var rows: [Row] = []

  init(rows: [Row]) {
    self.rows = rows
  }

  /// Reads a table. Lines before the first heading (`###`) are comments.
  init(_ text: String) {
    var lines = text.components(separatedBy: "\n").drop { !$0.hasPrefix(Self.mark) }
    while let heading = lines.popFirst() {
      let body = lines.prefix { !$0.hasPrefix(Self.mark) }
      lines = lines.dropFirst(body.count)
      let text = body.prefix(body.lastIndex { !$0.isEmpty }.map { $0 + 1 - body.startIndex } ?? 0)
      rows.append(
        Row(name: String(heading.dropFirst(Self.mark.count)), text: text.map { $0 + "\n" }.joined()))
    }
  }

  private static let mark = "### "

  var text: String { rows.map { "\(Self.mark)\($0.name)\n\($0.text)\n" }.joined() }

  subscript(name: String) -> Row? { rows.first { $0.name == name } }
}
