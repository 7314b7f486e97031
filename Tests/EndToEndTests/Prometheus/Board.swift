import Foundation
import WeirTestSupport

/// A dashboard of dashboards/, as far as tests look at it.
struct Board: Decodable {
  /// Their uids, which are the names of their files too.
  static let uids = ["weir-client", "weir-destination", "weir-gateway"]

  let uid: String
  let title: String
  let templating: Templating
  let annotations: Annotations
  let links: [Link]
  let panels: [Panel]

  struct Templating: Decodable {
    let list: [Variable]
  }

  struct Annotations: Decodable {
    let list: [Annotation]
  }

  struct Annotation: Decodable {
    let datasource: Source
    let expr: String
  }

  struct Source: Decodable, Equatable {
    let type: String
    let uid: String
  }

  /// To another board, or a page.
  struct Link: Decodable {
    let url: String
    let keepTime: Bool
  }

  struct Variable: Decodable {
    let name: String
    let type: String
    let datasource: Source?
    let multi: Bool?
    let allValue: String?
    let query: JSON
  }

  init(_ uid: String) throws {
    self = try JSONDecoder().decode(Board.self, from: Data(try Self.text(of: uid).utf8))
  }

  static func text(of uid: String) throws -> String { try PackageRoot.text(of: "dashboards/\(uid).json") }

  /// All that stands in it.
  static func json(of uid: String) throws -> JSON {
    try JSONDecoder().decode(JSON.self, from: Data(try text(of: uid).utf8))
  }

  var variables: [Variable] { templating.list }

  /// Those of collapsed rows too.
  var everything: [Panel] { panels + panels.flatMap { $0.panels ?? [] } }

  /// What shows something, in the order in which it is seen.
  var content: [Panel] { panels.flatMap { $0.isRow ? $0.panels ?? [] : [$0] } }

  var collapsedRows: Set<String> { Set(panels.filter { $0.collapsed == true }.map(\.title)) }
}

/// A panel of a dashboard, or a row of them.
struct Panel: Decodable {
  let id: Int
  let type: String
  let title: String
  let description: String?
  let gridPos: Place
  let collapsed: Bool?
  let panels: [Panel]?
  let datasource: Board.Source?
  let targets: [Target]?
  let fieldConfig: FieldConfig?
  let transformations: [Transformation]?

  var isRow: Bool { type == "row" }

  struct Place: Decodable {
    let x: Int
    let y: Int
    let w: Int
    let h: Int

    func overlaps(_ other: Place) -> Bool {
      x < other.x + other.w && other.x < x + w && y < other.y + other.h && other.y < y + h
    }
  }

  struct Target: Decodable {
    let refId: String
    let datasource: Board.Source
    let expr: String
    let legendFormat: String?
  }

  struct FieldConfig: Decodable {
    let defaults: Defaults
    let overrides: [Override]
  }

  struct Defaults: Decodable {
    let unit: String?
    let decimals: Int?
    let links: [DataLink]?
  }

  struct DataLink: Decodable {
    let url: String
  }

  struct Override: Decodable {
    let matcher: Matcher
    let properties: [Property]

    struct Matcher: Decodable {
      let options: String
    }

    struct Property: Decodable {
      let id: String
      let value: JSON
    }
  }

  struct Transformation: Decodable {
    let id: String
    let options: Options

    struct Options: Decodable {
      let excludeByName: [String: Bool]?
      let renameByName: [String: String]?
    }
  }

  /// The columns of a table that hold its queries' numbers, by their names; nil for what is no table of such.
  var valueColumns: [String]? {
    guard type == "table", let organize = transformations?.last(where: { $0.id == "organize" })?.options else {
      return nil
    }
    return organize.renameByName?.filter { $0.key.hasPrefix("Value") }.map(\.value) ?? []
  }

  /// The labels that links of its series, or of a table's rows, lead on with.
  var linkedLabels: Set<String> {
    let urls = (fieldConfig?.defaults.links ?? []).map(\.url) + (fieldConfig?.overrides ?? []).flatMap(\.linkURLs)
    return Set(urls.flatMap { $0.matches(of: /\$\{__(?:field\.labels|data\.fields)\.(\w+)/) }.map { String($0.1) })
  }
}

extension Panel.Override {
  fileprivate var linkURLs: [String] {
    properties.filter { $0.id == "links" }.flatMap { $0.value.strings(named: "url") }
  }
}

/// Any JSON.
indirect enum JSON: Decodable {
  case text(String)
  case list([JSON])
  case object([String: JSON])
  case other

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([JSON].self) {
      self = .list(list)
    } else if let object = try? container.decode([String: JSON].self) {
      self = .object(object)
    } else {
      self = .other
    }
  }

  var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  subscript(key: String) -> JSON? {
    if case .object(let object) = self { object[key] } else { nil }
  }

  /// All texts in it, however deep.
  var strings: [String] {
    switch self {
    case .text(let text): [text]
    case .list(let list): list.flatMap(\.strings)
    case .object(let object): object.values.flatMap(\.strings)
    case .other: []
    }
  }

  /// The texts in it that are values of this key, however deep.
  func strings(named key: String) -> [String] {
    switch self {
    case .text, .other: []
    case .list(let list): list.flatMap { $0.strings(named: key) }
    case .object(let object):
      [object[key]?.text].compactMap { $0 } + object.values.flatMap { $0.strings(named: key) }
    }
  }
}
