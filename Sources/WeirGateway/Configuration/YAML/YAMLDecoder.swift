/// Decodes a `Decodable` type from a YAML tree, and refuses every key that the type did not ask for.
///
/// A type that decodes its parts as `Located` values has all its problems reported at once; any other type stops
/// at its first one.
package struct YAMLDecoder {
  private let document: YAMLDocument
  private let quotesValues: Bool

  /// - Parameter quotesValues: whether the text of a problem may repeat a value: not where values are secrets.
  package init(_ document: YAMLDocument, quotesValues: Bool = true) {
    self.document = document
    self.quotesValues = quotesValues
  }

  /// The value, if it could be read at all, and every problem on the way: the value is only fit for use without any.
  package func decode<T: Decodable>(_ type: T.Type) -> (value: T?, problems: [ConfigurationProblem]) {
    let ledger = YAMLDecodingLedger(root: document.root, quotesValues: quotesValues)
    do {
      let value = try T(from: YAMLNodeDecoder(node: document.root, path: ConfigurationPath(), ledger: ledger))
      return (value, document.problems + ledger.problems + ledger.unknownKeys())
    } catch {
      return (nil, document.problems + ledger.problems + [ledger.problem(from: error)])
    }
  }
}

/// What one decoding has seen: the problems that did not stop it, and for each mapping the keys it was asked for.
final class YAMLDecodingLedger {
  private struct Record {
    let path: ConfigurationPath
    let entries: [YAMLNode.Entry]
    var asked: Set<String> = []
  }

  let root: YAMLNode
  let quotesValues: Bool
  private(set) var problems: [ConfigurationProblem] = []
  private var records: [Int: Record] = [:]
  private var order: [Int] = []

  init(root: YAMLNode, quotesValues: Bool) {
    self.root = root
    self.quotesValues = quotesValues
  }

  /// `T`, or nil and its problem on the list. The keys of mappings that were left half-way are not judged.
  func attempt<T>(_ body: () throws -> T) -> T? {
    let begun = order.count
    do {
      return try body()
    } catch {
      for id in order[begun...] { records[id] = nil }
      order.removeSubrange(begun...)
      problems.append(problem(from: error))
      return nil
    }
  }

  func open(_ node: YAMLNode, entries: [YAMLNode.Entry], path: ConfigurationPath) {
    guard records[node.id] == nil else { return }
    records[node.id] = Record(path: path, entries: entries)
    order.append(node.id)
  }

  func ask(_ node: YAMLNode, for key: String) {
    records[node.id]?.asked.insert(key)
  }

  func unknownKeys() -> [ConfigurationProblem] {
    order.compactMap { records[$0] }.flatMap { record in
      let unknown = record.entries.filter { !record.asked.contains($0.key) }
      guard !unknown.isEmpty else { return [ConfigurationProblem]() }
      let absent = record.asked.subtracting(record.entries.map(\.key))
      let known = "known keys are " + record.asked.sorted().joined(separator: ", ")
      return unknown.enumerated().map { index, entry in
        // To guess takes its time, and those behind are not shown.
        let guess = index < ConfigurationError.maximumCount ? suggestion(for: entry.key, among: absent) : nil
        let hint = guess.map { "did you mean \(quoted($0))?" } ?? known
        return ConfigurationProblem(
          at: entry.keyPosition, path: record.path.key(entry.key), "unknown key; \(hint)")
      }
    }
  }

  func problem(from error: any Error) -> ConfigurationProblem {
    guard let error = error as? DecodingError else {
      return error as? ConfigurationProblem
        ?? ConfigurationProblem(at: root.position, path: ConfigurationPath(), "\(error)")
    }
    switch error {
    case .keyNotFound(let key, let context):
      let path = ConfigurationPath(context.codingPath)
      return ConfigurationProblem(at: position(of: path), path: path.key(key.stringValue), "is missing")
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      let path = ConfigurationPath(context.codingPath)
      return ConfigurationProblem(at: position(of: path), path: path, context.debugDescription)
    @unknown default:
      return ConfigurationProblem(at: root.position, path: ConfigurationPath(), "\(error)")
    }
  }

  /// The place of the deepest node on the path that exists.
  private func position(of path: ConfigurationPath) -> SourcePosition {
    var node = root
    for step in path.steps {
      guard let child = node.child(step) else { break }
      node = child
    }
    return node.position
  }
}

/// A decoder at one node.
struct YAMLNodeDecoder: Decoder {
  let node: YAMLNode
  let path: ConfigurationPath
  let ledger: YAMLDecodingLedger

  var codingPath: [any CodingKey] { path.steps.map(YAMLCodingKey.init) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .mapping(let entries) = node.content else { throw mismatch("a mapping (key: value)") }
    ledger.open(node, entries: entries, path: path)
    return KeyedDecodingContainer(YAMLKeyedContainer(decoder: self, entries: entries))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .sequence(let elements) = node.content else { throw mismatch("a list (- item)") }
    return YAMLUnkeyedContainer(decoder: self, elements: elements)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    YAMLScalarContainer(decoder: self)
  }

  var isNull: Bool {
    if case .scalar(let scalar) = node.content { scalar.value == .null } else { false }
  }

  var summary: String { node.summary(quotingValue: ledger.quotesValues) }

  func mismatch(_ expected: String) -> ConfigurationProblem {
    ConfigurationProblem(at: node.position, path: path, "expected \(expected), found \(summary)")
  }

  func child(_ node: YAMLNode, _ step: ConfigurationPath.Step) -> Self {
    Self(node: node, path: ConfigurationPath(path.steps + [step]), ledger: ledger)
  }
}

struct YAMLCodingKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ step: ConfigurationPath.Step) {
    switch step {
    case .key(let name): (stringValue, intValue) = (name, nil)
    case .index(let index): (stringValue, intValue) = ("\(index)", index)
    }
  }

  init(stringValue: String) { self.init(.key(stringValue)) }

  init(intValue: Int) { self.init(.index(intValue)) }
}
