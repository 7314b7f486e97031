/// A value of a configuration file: reads it, and says where it stands when something is wrong with it.
///
/// What can't be read is nil and goes on the list of findings, and reading goes on, so that one run reports everything
/// that is wrong. What was read is only fit for use if nothing was found wrong.
struct ConfigurationReader {
  let node: YAMLNode
  let path: ConfigurationPath
  let findings: ConfigurationFindings

  init(_ node: YAMLNode, path: ConfigurationPath = ConfigurationPath(), _ findings: ConfigurationFindings) {
    self.node = node
    self.path = path
    self.findings = findings
  }

  /// Whether it is the word that turns something off which is on without it.
  var isOff: Bool {
    if case .scalar(let scalar) = node.content { scalar.value == .string("off") } else { false }
  }

  var isNull: Bool {
    if case .scalar(let scalar) = node.content { scalar.value == .null } else { false }
  }

  /// - Parameter problem: what is wrong with a value, if anything.
  func read<Value>(as kind: ConfigurationKind<Value>, unless problem: (Value) -> String? = { _ in nil }) -> Value? {
    guard case .scalar(let scalar) = node.content else {
      mismatch(kind.name)
      return nil
    }
    guard let value = kind.read(scalar.value) else {
      mismatch(kind.name, hint: isNull ? "" : kind.hint)
      return nil
    }
    guard let text = problem(value) else { return value }
    report(text)
    return nil
  }

  /// A list's.
  func elements() -> [Self]? {
    guard case .sequence(let nodes) = node.content else {
      mismatch("a list (- item)")
      return nil
    }
    return nodes.enumerated().map { Self($1, path: path.index($0), findings) }
  }

  /// A mapping's whose keys are the user's own, in the order of the file.
  func entries() -> [(key: String, value: Self)]? {
    guard case .mapping(let entries) = node.content else {
      mismatch("a mapping (key: value)")
      return nil
    }
    return entries.map { ($0.key, Self($0.value, path: path.key($0.key), findings)) }
  }

  /// Has `body` take the keys of a mapping; those that it does not ask for are unknown.
  ///
  /// - Parameter orOff: whether the word `off` may stand there too; nil for it.
  func mapping<Value>(orOff: Bool = false, _ body: (inout ConfigurationKeys) -> Value?) -> Value? {
    if orOff, isOff { return nil }
    guard case .mapping(let entries) = node.content else {
      mismatch("a mapping (key: value)\(orOff ? " or off" : "")")
      return nil
    }
    var keys = ConfigurationKeys(of: self, entries)
    let value = body(&keys)
    findings.unknownKeys += keys.unknown()
    return value
  }

  /// - Parameter key: one of the mapping's that is not there.
  func report(_ message: String, key: String? = nil) {
    findings.problems.append(
      ConfigurationProblem(at: node.position, path: key.map(path.key) ?? path, message))
  }

  func problem(_ message: String) -> ConfigurationProblem {
    ConfigurationProblem(at: node.position, path: path, message)
  }

  private func mismatch(_ expected: String, hint: String = "") {
    report("expected \(expected), found \(node.summary(quotingValue: findings.quotesValues))\(hint)")
  }
}

/// The keys of a mapping, taken by name.
struct ConfigurationKeys {
  private let mapping: ConfigurationReader
  private let entries: [YAMLNode.Entry]
  private var asked: Set<String> = []

  fileprivate init(of mapping: ConfigurationReader, _ entries: [YAMLNode.Entry]) {
    self.mapping = mapping
    self.entries = entries
  }

  /// Nil without the key. A key without a value is there: whoever writes `timeout:` means something by it, so it is read
  /// as a value, of the wrong type.
  mutating func take(_ key: String) -> ConfigurationReader? {
    asked.insert(key)
    guard let entry = entries.first(where: { $0.key == key }) else { return nil }
    return ConfigurationReader(entry.value, path: mapping.path.key(key), mapping.findings)
  }

  mutating func take<Value>(
    _ key: String, as kind: ConfigurationKind<Value>, unless problem: (Value) -> String? = { _ in nil }
  ) -> Value? {
    take(key)?.read(as: kind, unless: problem)
  }

  /// - Parameter what: what the key is for.
  mutating func take(_ key: String, required what: String) -> ConfigurationReader? {
    if let value = take(key) { return value }
    mapping.report("is missing; \(what)", key: key)
    return nil
  }

  fileprivate func unknown() -> [ConfigurationProblem] {
    let unknown = entries.filter { !asked.contains($0.key) }
    guard !unknown.isEmpty else { return [] }
    let absent = asked.subtracting(entries.map(\.key))
    let known = "known keys are " + asked.sorted().joined(separator: ", ")
    return unknown.enumerated().map { index, entry in
      // To guess takes its time, and those behind are not shown.
      let guess = index < ConfigurationError.maximumCount ? suggestion(for: entry.key, among: absent) : nil
      let hint = guess.map { "did you mean \(quoted($0))?" } ?? known
      return ConfigurationProblem(at: entry.keyPosition, path: mapping.path.key(entry.key), "unknown key; \(hint)")
    }
  }
}

/// What is wrong with a file, as far as it has been read.
final class ConfigurationFindings {
  /// Whether error texts may repeat values.
  let quotesValues: Bool
  fileprivate(set) var problems: [ConfigurationProblem] = []
  fileprivate(set) var unknownKeys: [ConfigurationProblem] = []

  init(quotesValues: Bool) {
    self.quotesValues = quotesValues
  }
}

/// What a scalar is read as. Types are kept apart: a number is no string, `yes` is no boolean.
struct ConfigurationKind<Value> {
  /// As in "expected a whole number".
  let name: String
  /// What error texts add when a scalar of another kind is there.
  var hint = ""
  let read: (YAMLScalar.Value) -> Value?
}

extension ConfigurationKind<String> {
  static var string: Self {
    Self(name: "a string", hint: "; write it in quotes") { if case .string(let value) = $0 { value } else { nil } }
  }
}

extension ConfigurationKind<Bool> {
  static var boolean: Self {
    Self(name: "true or false") { if case .bool(let value) = $0 { value } else { nil } }
  }
}

extension ConfigurationKind<Int> {
  static var integer: Self {
    Self(name: "a whole number") { if case .integer(let value) = $0 { value } else { nil } }
  }
}

extension ConfigurationKind<Double> {
  static var number: Self {
    Self(name: "a number") { scalar in
      switch scalar {
      case .integer(let value): Double(value)
      case .float(let value): value
      case .null, .bool, .string: nil
      }
    }
  }
}

extension ConfigurationKind<Duration> {
  static var duration: Self {
    Self(name: "a duration such as 30s, 500ms or 1m30s") { scalar in
      switch scalar {
      case .integer(let seconds): ConfigurationDuration.duration(seconds: Double(seconds))
      case .float(let seconds): ConfigurationDuration.duration(seconds: seconds)
      case .string(let text): ConfigurationDuration.parse(text)
      case .null, .bool: nil
      }
    }
  }
}
