/// One value of a form while it is encoded. Containers write into the node that they were made for, and the last value
/// written counts: a container of another kind replaces what is there with its first key or element, not before.
final class FormNode {
  enum Content {
    case empty
    case text(String)
    case array([FormNode])
    case object(Members)
  }

  /// Keys and their values, in the order of the keys' first appearance.
  struct Members {
    private(set) var all: [(key: String, node: FormNode)] = []
    private var positions: [String: Int] = [:]

    subscript(_ key: String) -> FormNode? { positions[key].map { all[$0].node } }

    /// A repeated key keeps the place of its first appearance.
    mutating func set(_ key: String, to node: FormNode) {
      if let position = positions[key] {
        all[position].node = node
      } else {
        positions[key] = all.count
        all.append((key, node))
      }
    }
  }

  private(set) var content = Content.empty

  /// Sets the text; returns false if the node already holds something.
  func setText(_ text: String) -> Bool {
    guard case .empty = content else { return false }
    content = .text(text)
    return true
  }

  /// Makes an empty node an object.
  func beginObject() {
    if case .empty = content { content = .object(Members()) }
  }

  /// Makes an empty node an array.
  func beginArray() {
    if case .empty = content { content = .array([]) }
  }

  /// Returns a new child under a key; it replaces an existing one.
  func setChild(forKey key: String) -> FormNode {
    let node = FormNode()
    var members = Members()
    if case .object(let present) = content { members = present }
    // Drops the other reference to the members, which would otherwise be copied.
    content = .empty
    members.set(key, to: node)
    content = .object(members)
    return node
  }

  /// The child under a key, if there is one.
  func child(forKey key: String) -> FormNode? {
    guard case .object(let members) = content else { return nil }
    return members[key]
  }

  /// Returns a new child at the end.
  func appendChild() -> FormNode {
    let node = FormNode()
    var children: [FormNode] = []
    if case .array(let present) = content { children = present }
    content = .empty
    children.append(node)
    content = .array(children)
    return node
  }

  var childCount: Int {
    guard case .array(let children) = content else { return 0 }
    return children.count
  }
}

extension FormNode: CustomStringConvertible {
  var description: String {
    switch content {
    case .empty: "nothing"
    case .text(let text): text.debugDescription
    case .array(let nodes): "[\(nodes.map(\.description).joined(separator: ", "))]"
    case .object(let members): "[\(members.all.map { "\($0.key): \($0.node)" }.joined(separator: ", "))]"
    }
  }
}

/// Writes a tree of nodes as `key=value` pairs.
struct FormSerializer {
  let options: URLEncodedFormEncoder
  let escaper: PercentEscaper

  func text(of root: FormNode) -> String {
    guard case .object(let members) = root.content else { return "" }
    return joined(members.all.map { text(of: $0.node, path: $0.key) }, sorted: options.alphabetizeKeyValuePairs)
  }

  private func text(of node: FormNode, path: String) -> String {
    switch node.content {
    case .empty: ""
    case .text(let text): "\(escaped(options.keyEncoding.encode(path)))=\(escaped(text))"
    case .object(let members):
      joined(
        members.all.map { text(of: $0.node, path: path + options.keyPathEncoding.encode($0.key)) },
        sorted: options.alphabetizeKeyValuePairs)
    // The elements keep their order, which is a part of the value.
    case .array(let nodes):
      joined(
        nodes.enumerated().map { text(of: $1, path: options.arrayEncoding.encode(path, atIndex: $0)) }, sorted: false)
    }
  }

  /// Joins the texts of a level; an empty array or object adds nothing.
  private func joined(_ texts: [String], sorted: Bool) -> String {
    let present = texts.filter { !$0.isEmpty }
    return (sorted ? present.sorted() : present).joined(separator: "&")
  }

  private func escaped(_ text: String) -> String {
    escaper.escape(text, spaceAsPlus: options.spaceEncoding == .plusReplaced)
  }
}

extension EncodingError {
  static func misuse(at codingPath: [any CodingKey], _ text: String) -> EncodingError {
    .invalidValue(text, Context(codingPath: codingPath, debugDescription: text))
  }
}

/// Encodes one value into one node.
struct FormNodeEncoder: Encoder {
  let node: FormNode
  let codingPath: [any CodingKey]
  /// The options for writing values.
  let options: URLEncodedFormEncoder

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(FormKeyedContainer(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    FormUnkeyedContainer(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    FormSingleValueContainer(encoder: self)
  }

  /// An encoder for a child of this encoder's node.
  func nested(_ node: FormNode, key: any CodingKey) -> FormNodeEncoder {
    FormNodeEncoder(node: node, codingPath: codingPath + [key], options: options)
  }

  /// Encodes any value; types that have an option are written by that option.
  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let value as Bool: try encode(text: options.boolEncoding.encode(value))
    case let value as String: try encode(text: value)
    case let value as Date: try encode(value)
    case let value as Data: try encode(value)
    case let value as Decimal: try encode(text: value.description)
    // A URL encodes itself with keys, as base and relative part; a form needs its text, as JSON does.
    case let value as URL: try encode(text: value.absoluteString)
    default: try value.encode(to: self)
    }
  }

  func encode(text: String) throws {
    guard node.setText(text) else {
      throw EncodingError.misuse(at: codingPath, "A second value was encoded where one was already.")
    }
  }

  private func encode(_ date: Date) throws {
    switch options.dateEncoding {
    case .deferredToDate: try date.encode(to: self)
    case .secondsSince1970: try encode(text: date.timeIntervalSince1970.description)
    case .millisecondsSince1970: try encode(text: (date.timeIntervalSince1970 * 1000).description)
    case .iso8601: try encode(text: date.formatted(.iso8601))
    case .formatted(let formatter): try encode(text: formatter.string(from: date))
    case .custom(let encode): try self.encode(text: try encode(date))
    }
  }

  private func encode(_ data: Data) throws {
    switch options.dataEncoding {
    case .deferredToData: try data.encode(to: self)
    case .base64: try encode(text: data.base64EncodedString())
    case .custom(let encode): try self.encode(text: try encode(data))
    }
  }
}
