import Foundation

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
