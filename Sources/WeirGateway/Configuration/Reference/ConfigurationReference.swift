/// The keys of the configuration file. The tables of docs/gateway.md and docs/upstreams.md and the manual page
/// `weir.yml(5)` have these texts.
enum ConfigurationReference {
  /// A key, with texts in Markdown.
  struct Key: Equatable, Sendable {
    /// The path without the places in lists: `match.host`.
    let name: String
    /// The kind of value.
    let form: String
    /// The value that a missing key stands for, or the rule for keys that must be there. May be empty.
    let standard: String
    /// Limits and meaning.
    let text: String

    init(_ name: String, _ form: String, _ standard: String, _ text: String) {
      self.name = name
      self.form = form
      self.standard = standard
      self.text = text
    }

    /// The row of the documents' tables.
    var row: String {
      "| `\(name)` |" + [form, standard, text].map { $0.isEmpty ? " |" : " \($0) |" }.joined()
    }
  }

  struct Section: Sendable {
    /// The heading in the manual page.
    let title: String
    /// The place of the keys in the file.
    let place: String
    let keys: [Key]
  }

  /// A table of a document.
  struct Table: Sendable {
    /// The document's name in docs.
    let document: String
    let sections: [Section]

    var keys: [Key] { sections.flatMap(\.keys) }
  }

  /// All tables, in the order in which the documents have them.
  static let tables = [
    Table(
      document: "gateway.md",
      sections: [
        Section(title: "The file", place: "at the top of the file", keys: file),
        Section(title: "Routes: which requests", place: "in each of routes", keys: matching),
        Section(title: "Routes: where to", place: "in each of routes", keys: actions),
        Section(title: "Routes: fields, time and addresses", place: "in each of routes", keys: fields),
        Section(title: "Routes: failures and load", place: "in each of routes", keys: failures),
        Section(title: "Routes: bodies, tunnels and limits", place: "in each of routes", keys: bodies),
      ]),
    Table(
      document: "gateway.md", sections: [Section(title: "Listeners", place: "at the top of the file", keys: listeners)]),
    Table(
      document: "upstreams.md", sections: [Section(title: "Upstreams", place: "in each of upstreams", keys: upstreams)]),
    Table(
      document: "upstreams.md",
      sections: [Section(title: "Routes to upstreams", place: "in each of routes", keys: namedUpstreams)]),
  ]
}
