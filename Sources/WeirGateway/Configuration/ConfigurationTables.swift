extension ConfigurationOutline {
  /// A key of a document's table.
  struct Row: Equatable {
    /// The path without the places in lists: `match.host`.
    let name: String
    /// The kind of value.
    let kind: String
    /// The value that a missing key stands for, or the rule for a key that must be there. May be empty.
    let standard: String
    /// Limits and meaning.
    let text: String

    /// The line of the table.
    var line: String {
      "| `\(name)` |" + [kind, standard, text].map { $0.isEmpty ? " |" : " \($0) |" }.joined()
    }
  }

  /// The keys and those in their values, each behind the one that it is in.
  func rows(in place: String = "") -> [Row] {
    keys.flatMap { key -> [Row] in
      let name = place.isEmpty ? key.name : "\(place).\(key.name)"
      let text = [key.shape.limits, key.text].filter { !$0.isEmpty }.joined(separator: "; ")
      let row = Row(name: name, kind: key.shape.kind, standard: key.standardText, text: text)
      return [row] + (key.isDetailed ? key.shape.outlines.flatMap { $0.rows(in: name) } : [])
    }
  }
}

/// A table of the configuration's keys, as documents and the manual page have it.
struct KeyTable {
  struct Section {
    /// The heading in the manual page.
    let title: String
    /// The place of the keys in the file.
    let place: String
    let rows: [ConfigurationOutline.Row]
  }

  /// The document's name in docs.
  let document: String
  let sections: [Section]

  /// All tables, in the order in which the documents have them.
  static var all: [KeyTable] {
    let routes = ReadRoute.sections.map { title, keys in
      let rows = ConfigurationMapping(ReadRoute(), keys: { keys }).outline.rows()
      return Section(title: title, place: "in each of routes", rows: rows)
    }
    let file = Section(title: "The file", place: "at the top of the file", rows: ReadFile.mapping.outline.rows())
    let listeners = ListenerSettings.mapping.outline.rows(in: "listeners")
    let upstreams = ReadUpstream.mapping.outline.rows()
    return [
      KeyTable(document: "gateway.md", sections: [file] + routes.dropLast()),
      KeyTable(
        document: "gateway.md",
        sections: [Section(title: "Listeners", place: "at the top of the file", rows: listeners)]),
      KeyTable(
        document: "upstreams.md",
        sections: [Section(title: "Upstreams", place: "in each of upstreams", rows: upstreams)]),
      KeyTable(document: "upstreams.md", sections: routes.suffix(1)),
    ]
  }
}
