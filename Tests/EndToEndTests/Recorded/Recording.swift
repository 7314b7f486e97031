import Foundation
import Testing

/// A text file beside these tests that holds what the program or the libraries did when it was recorded.
///
/// With `WEIR_RECORD=1` in the environment the file is written anew; without it the text is compared with the file.
struct Recording {
  let name: String

  init(_ name: String) {
    self.name = name
  }

  private var path: String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Files/\(name).txt").path
  }

  private static var isWriting: Bool { ProcessInfo.processInfo.environment["WEIR_RECORD"] == "1" }

  /// Compares the text with the file, and shows where they differ first.
  func check(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    if Self.isWriting {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      return
    }
    let recorded = try String(contentsOfFile: path, encoding: .utf8)
    guard recorded != text else { return }
    Issue.record(
      "\(name) differs from its recording:\n\(Self.difference(recorded, text))", sourceLocation: sourceLocation)
  }

  /// Lines that were removed and inserted, each change with the last heading (`###`) before it.
  static func difference(_ recorded: String, _ text: String, limit: Int = 60) -> String {
    let old = recorded.components(separatedBy: "\n"), new = text.components(separatedBy: "\n")
    let difference = new.difference(from: old)
    let changes = difference.removals + difference.insertions
    var lines: [(offset: Int, sign: String, line: String)] = changes.map { change in
      switch change {
      case .remove(let offset, let line, _): (offset, "-", "\(heading(offset, old))\(line)")
      case .insert(let offset, let line, _): (offset, "+", "\(heading(offset, new))\(line)")
      }
    }
    lines.sort { ($0.offset, $1.sign) < ($1.offset, $0.sign) }
    let shown = lines.prefix(limit).map { "\($0.sign) \($0.line)" }
    let rest = lines.count > limit ? ["… and \(lines.count - limit) further lines"] : []
    return (shown + rest).joined(separator: "\n")
  }

  private static func heading(_ offset: Int, _ lines: [String]) -> String {
    let heading = lines[...min(offset, lines.count - 1)].last { $0.hasPrefix("### ") }
    return heading.map { "[\($0.dropFirst(4))] " } ?? ""
  }
}

/// Names that stand for ports.
struct PortNames {
  private var names: [String: String] = [:]

  mutating func name(_ name: String, port: Int) {
    names["\(port)"] = name
  }

  subscript(port: Substring) -> String { names[String(port)] ?? String(port) }

  /// The text with names for the ports in addresses and messages.
  func replaced(in text: String) -> String {
    text.replacing(#/(:| port )(\d{4,5})/#) { "\($0.1)\(self[$0.2])" }
  }
}
