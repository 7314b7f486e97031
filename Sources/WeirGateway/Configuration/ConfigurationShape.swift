/// The values that a key may have, as documents and the schema say it.
indirect enum ConfigurationShape: Sendable {
  case boolean
  case integer(ClosedRange<Int>)
  case number(ClosedRange<Double>)
  /// A time in seconds.
  case duration(ClosedRange<Double>)
  /// One of these words. One that reads as a number may be one.
  case words([String])
  /// A text that a regular expression describes; nil: any text.
  case text(String?)
  case list(of: ConfigurationShape, ClosedRange<Int>)
  /// A mapping whose keys the user chooses.
  case entries(of: ConfigurationShape, ClosedRange<Int>)
  /// A mapping of these keys. They are asked for late, as entries hold shapes of others.
  case mapping(@Sendable () -> ConfigurationOutline)
  case either([ConfigurationShape])
  /// The shape, by a name that tells more.
  case named(String, ConfigurationShape)

  static let off = words(["off"])
}

/// The keys of a mapping, and which of them go together.
struct ConfigurationOutline {
  var keys: [Key]
  var rules: [ConfigurationRule]

  /// A key in words.
  struct Key {
    let name: String
    let shape: ConfigurationShape
    let isRequired: Bool
    /// The value that a missing key stands for, as the file would have it; nil if that can't be written.
    let standard: String?
    /// The same in Markdown, or the rule for a key that must be there. May be empty.
    let standardText: String
    /// The meaning, in Markdown. May be empty.
    let text: String
    /// Whether the keys in its value are described here.
    let isDetailed: Bool
  }
}

extension ConfigurationShape {
  /// The kind of value, in Markdown: `duration or off`.
  var kind: String {
    switch self {
    case .boolean: "boolean"
    case .integer: "integer"
    case .number: "number"
    case .duration: "duration"
    case .words(let words): words.count == 1 ? "`\(words[0])`" : "text"
    case .text: "text"
    case .list: "list"
    case .entries: "name: value"
    case .mapping: "mapping"
    case .either(let shapes): Self.joined(shapes.map(\.kind), by: "or")
    case .named(let name, _): name
    }
  }

  /// The range of values, in Markdown; empty if there is none to speak of.
  var limits: String {
    switch self {
    case .boolean, .text, .mapping: ""
    case .integer(let range): Self.text(of: range)
    case .number(let range):
      "\(ConfigurationDuration.text(range.lowerBound)) to \(ConfigurationDuration.text(range.upperBound))"
    case .duration(let range): Self.text(of: range)
    case .words(let words): words.count == 1 ? "" : Self.joined(words.map { "`\($0)`" }, by: "or")
    case .list(.named(let nouns, _), let counts): Self.number(counts) + (counts.upperBound < .max ? " \(nouns)" : "")
    case .list(let element, let counts):
      [Self.number(counts), element.limits].filter { !$0.isEmpty }.joined(separator: " of ")
    case .entries(_, let counts): Self.number(counts)
    // The texts of such keys tell how long a list may be.
    case .either(let shapes): Self.joined(shapes.filter { !$0.isList }.map(\.limits).filter { !$0.isEmpty }, by: "or")
    case .named(_, let shape): shape.limits
    }
  }

  private var isList: Bool {
    switch self {
    case .list: true
    case .named(_, let shape): shape.isList
    default: false
    }
  }

  private static func text(of range: ClosedRange<Int>) -> String {
    range.lowerBound == range.upperBound ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
  }

  /// How many there may be: no words if that is any number.
  private static func number(_ counts: ClosedRange<Int>) -> String {
    if counts.upperBound == .max { return counts.lowerBound == 0 ? "" : "\(counts.lowerBound) or more" }
    return counts.lowerBound == 0 ? "up to \(counts.upperBound)" : text(of: counts)
  }

  private static func text(of range: ClosedRange<Double>) -> String {
    let most = ConfigurationDuration.text(seconds: range.upperBound)
    if range.lowerBound == ConfigurationDuration.least { return "more than 0, at most \(most)" }
    return "\(ConfigurationDuration.text(seconds: range.lowerBound)) to \(most)"
  }

  static func joined(_ texts: [String], by word: String) -> String {
    guard let last = texts.last, texts.count > 1 else { return texts.first ?? "" }
    return "\(texts.dropLast().joined(separator: ", ")) \(word) \(last)"
  }
}

extension ConfigurationShape {
  /// The mappings that a value may be, or hold in its list.
  var outlines: [ConfigurationOutline] {
    switch self {
    case .mapping(let outline): [outline()]
    case .list(let element, _), .entries(let element, _): element.outlines
    case .either(let shapes): shapes.flatMap(\.outlines)
    case .named(_, let shape): shape.outlines
    case .boolean, .integer, .number, .duration, .words, .text: []
    }
  }
}

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

/// A table of the configuration's keys, as docs/configuration.md and the manual page have it.
struct KeyTable {
  /// The heading.
  let title: String
  /// The place of the keys in the file.
  let place: String
  let rows: [ConfigurationOutline.Row]

  /// All tables, in the order in which the document has them.
  static var all: [KeyTable] {
    let file = KeyTable(title: "The file", place: "at the top of the file", rows: ReadFile.mapping.outline.rows())
    let routes = ReadRoute.sections.map { title, keys in
      let mapping = ConfigurationMapping(ReadRoute(), keys: { keys })
      return KeyTable(title: title, place: "in each of routes", rows: mapping.outline.rows())
    }
    let listeners = ListenerSettings.mapping.outline.rows(in: "listeners")
    return [file] + routes + [
      KeyTable(title: "Listeners", place: "at the top of the file", rows: listeners),
      KeyTable(title: "Upstreams", place: "in each of upstreams", rows: ReadUpstream.mapping.outline.rows()),
      KeyTable(title: "Credentials", place: "in each of credentials", rows: ReadCredential.mapping.outline.rows()),
    ]
  }
}
