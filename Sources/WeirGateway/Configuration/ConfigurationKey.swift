/// A key of the configuration file: its name, what its value may be, where that goes, and what a missing one stands for.
/// The reader, the tables of documents, the manual page and the schema are made of such entries; the files of the metrics
/// address, probes, credentials and endpoints are read by such entries alone.
struct Key<Target>: Sendable {
  /// The meaning of a missing key.
  enum Missing: Sendable {
    /// The value that the target has anyway.
    case own
    /// The same, or what the text says in Markdown.
    case ownOr(String)
    /// A rule, in Markdown.
    case words(String)
    /// Nothing: the key has to be there. The text says what for.
    case required(String)
  }

  let name: String
  let shape: ConfigurationShape
  let missing: Missing
  /// The meaning, in Markdown. May be empty.
  let text: String
  let isDetailed: Bool
  /// Puts a value into the target. Returns whether it fits.
  fileprivate let take: @Sendable (ConfigurationReader, inout Target) -> Bool
  /// The target's own value as the file would have it; nil if it can't be written.
  fileprivate let own: @Sendable (Target) -> String?
}

extension Key {
  /// - Parameters:
  ///   - form: What the value may be.
  ///   - place: The property that gets the value.
  ///   - text: The meaning, in Markdown, without kind, range and default.
  ///   - isDetailed: Whether the keys in the value are described with it.
  init<Value>(
    _ name: String, _ form: ConfigurationForm<Value>, _ place: any WritableKeyPath<Target, Value> & Sendable,
    _ text: String = "", missing: Missing = .own, isDetailed: Bool = true
  ) {
    self.init(name, form, text, missing: missing, isDetailed: isDetailed, own: { $0[keyPath: place] }) {
      $0[keyPath: place] = $1
    }
  }

  /// A value that is nil where the key is missing.
  init<Value>(
    _ name: String, _ form: ConfigurationForm<Value>, _ place: any WritableKeyPath<Target, Value?> & Sendable,
    _ text: String = "", missing: Missing = .own, isDetailed: Bool = true
  ) {
    self.init(name, form, text, missing: missing, isDetailed: isDetailed, own: { $0[keyPath: place] }) {
      $0[keyPath: place] = $1
    }
  }

  /// A mapping whose keys change the value that the target has.
  init<Part>(
    _ name: String, _ mapping: ConfigurationMapping<Part>, in place: any WritableKeyPath<Target, Part> & Sendable,
    _ text: String = ""
  ) {
    self.init(name, mapping.shape, text, missing: .words("")) { reader, target in
      guard let entries = reader.mappingEntries() else { return false }
      _ = mapping.read(reader, entries, into: &target[keyPath: place])
      return true
    }
  }

  /// A key whose value `put` puts into the target.
  init<Value>(
    _ name: String, _ form: ConfigurationForm<Value>, _ text: String = "", missing: Missing = .own,
    isDetailed: Bool = true,
    own: @escaping @Sendable (Target) -> Value? = { _ in nil },
    put: @escaping @Sendable (inout Target, Value) -> Void
  ) {
    self.init(
      name: name, shape: form.shape, missing: missing, text: text, isDetailed: isDetailed,
      take: { reader, target in
        guard let value = form.read(reader) else { return false }
        put(&target, value)
        return true
      },
      own: { own($0).flatMap(form.text) })
  }

  /// A key that `take` reads. It returns whether the value fits.
  init(
    _ name: String, _ shape: ConfigurationShape, _ text: String = "", missing: Missing = .own,
    take: @escaping @Sendable (ConfigurationReader, inout Target) -> Bool
  ) {
    self.init(name: name, shape: shape, missing: missing, text: text, isDetailed: true, take: take, own: { _ in nil })
  }

  /// A key that is known, but has no use here.
  init(refused name: String, _ problem: String) {
    self.init(name, .text(nil)) { reader, _ in
      reader.report(problem)
      return false
    }
  }

  /// A key that is read when the others are known, as ``ConfigurationGiven`` has it.
  init(late name: String, _ shape: ConfigurationShape, _ text: String = "", missing: Missing = .own) {
    self.init(name, shape, text, missing: missing) { _, _ in true }
  }

  /// A value in Markdown, or the elements of a list.
  private static func words(for value: String) -> String {
    guard value.hasPrefix("["), value.hasSuffix("]") else { return "`\(value)`" }
    let elements = value.dropFirst().dropLast()
    return elements.contains("*") ? "`\(elements.replacing(", ", with: "`, `"))`" : String(elements)
  }

  /// The key in words.
  fileprivate func described(in target: Target) -> ConfigurationOutline.Key {
    var standard: String?
    var words = ""
    let isRequired = if case .required = missing { true } else { false }
    switch missing {
    case .own:
      standard = own(target).flatMap { ["", "[]"].contains($0) ? nil : $0 }
      words = standard.map(Self.words(for:)) ?? "none"
    case .ownOr(let text):
      standard = own(target)
      words = "`\(standard ?? "")`, or \(text)"
    case .words(let text): words = text
    case .required: words = "required"
    }
    return ConfigurationOutline.Key(
      name: name, shape: shape, isRequired: isRequired, standard: standard, standardText: words, text: text,
      isDetailed: isDetailed)
  }
}

/// Makes a list of entries, each of which the compiler looks at by itself.
@resultBuilder enum KeyList<Target> {
  static func buildExpression(_ key: Key<Target>) -> [Key<Target>] { [key] }
  static func buildExpression(_ keys: [Key<Target>]) -> [Key<Target>] { keys }
  static func buildPartialBlock(first: [Key<Target>]) -> [Key<Target>] { first }
  static func buildPartialBlock(accumulated: [Key<Target>], next: [Key<Target>]) -> [Key<Target>] { accumulated + next }
}

/// A mapping of the file: its keys in the order in which they are read and described.
struct ConfigurationMapping<Target>: Sendable {
  let keys: [Key<Target>]
  let rules: [ConfigurationRule]
  /// Keys that belong elsewhere, each with the hint for those who write it here.
  let misplaced: [String: String]
  private let target: @Sendable () -> Target
  private let places: [String: Int]

  /// - Parameter target: The value of a mapping without keys.
  init(
    _ target: @autoclosure @escaping @Sendable () -> Target, misplaced: [String: String] = [:],
    rules: [ConfigurationRule] = [], @KeyList<Target> keys: () -> [Key<Target>]
  ) {
    let keys = keys()
    self.target = target
    self.misplaced = misplaced
    self.keys = keys
    self.rules = rules
    places = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1.name, $0) })
  }

  var shape: ConfigurationShape { .mapping { outline } }

  var outline: ConfigurationOutline {
    let target = target()
    return ConfigurationOutline(keys: keys.map { $0.described(in: target) }, rules: rules)
  }

  /// Reads the keys into the value of a mapping without keys.
  func read(_ reader: ConfigurationReader, _ entries: [YAMLNode.Entry]) -> (Target, ConfigurationGiven) {
    var target = target()
    let given = read(reader, entries, into: &target)
    return (target, given)
  }

  /// Reads the keys, and reports the unknown ones, those that are missing and those that don't go together.
  func read(
    _ reader: ConfigurationReader, _ entries: [YAMLNode.Entry], into target: inout Target
  ) -> ConfigurationGiven {
    var entry = [Int?](repeating: nil, count: keys.count)
    var isUnknown = false
    for (index, found) in entries.enumerated() {
      if let place = places[found.key] { entry[place] = index } else { isUnknown = true }
    }
    var given = ConfigurationGiven(reader: reader)
    let excluded = rules.excluded(beside: { key in places[key].map { entry[$0] != nil } ?? false })
    for (key, index) in zip(keys, entry) {
      if let value = index.flatMap({ reader.value(of: entries[$0]) }) {
        let problems = reader.findings.problems.count
        let isTaken = !excluded.contains(key.name) && key.take(value, &target)
        if !isTaken || reader.findings.problems.count > problems { given.unfit.append(key.name) }
      } else if case .required(let what) = key.missing {
        reader.report("is missing; \(what)", key: key.name)
      }
    }
    for rule in rules { rule.check(given) }
    if isUnknown { reader.reportUnknown(places.keys, in: entries, misplaced: misplaced) }
    return given
  }
}

extension ConfigurationMapping {
  /// The form of such mappings. `finish` checks the keys together, and makes the value.
  func form<Value>(
    finish: @escaping @Sendable (inout Target, ConfigurationGiven) -> Value?
  ) -> ConfigurationForm<Value> {
    ConfigurationForm(shape) { reader in
      guard let entries = reader.mappingEntries() else { return nil }
      var (target, given) = read(reader, entries)
      return finish(&target, given)
    }
  }

  func form() -> ConfigurationForm<Target> { form { target, _ in target } }

  /// The same, or the word `off`, which reads as nil.
  ///
  /// - Parameter on: How the feature is turned on with its defaults, for those who write `on` or `true`.
  func formOrOff<Value>(
    on: String = "write {} for the defaults",
    finish: @escaping @Sendable (inout Target, ConfigurationGiven) -> Value?
  ) -> ConfigurationForm<Value?> {
    ConfigurationForm(.either([shape, .off]), text: { $0 == nil ? "off" : nil }) { reader in
      if reader.isOff { return .some(nil) }
      guard let entries = reader.mappingEntries(orOff: on) else { return nil }
      var (target, given) = read(reader, entries)
      return finish(&target, given).map(Optional.some)
    }
  }

  func formOrOff() -> ConfigurationForm<Target?> { formOrOff { target, _ in target } }
}

extension [ConfigurationRule] {
  /// The keys that are of no use beside others, and are not read.
  fileprivate func excluded(beside isGiven: (String) -> Bool) -> [String] {
    var excluded: [String] = []
    for case .excludes(let others, let keys, _) in self where others.contains(where: isGiven) { excluded += keys }
    return excluded
  }
}

/// The keys that a mapping of the file has.
struct ConfigurationGiven {
  /// The mapping itself.
  let reader: ConfigurationReader
  /// The keys whose values have problems, or are of no use.
  fileprivate var unfit: [String] = []

  /// The value of a key, whether it fits or not; nil if the key is missing.
  subscript(key: String) -> ConfigurationReader? { reader.child(key) }

  /// The value of a key, unless it has problems.
  func fitting(_ key: String) -> ConfigurationReader? { isUnfit(key) ? nil : self[key] }

  func has(_ key: String) -> Bool { self[key] != nil }

  /// Whether the value of a key has problems.
  func isUnfit(_ key: String) -> Bool { unfit.contains(key) }

  /// Compares a value with another one that it may not be below: a missing one follows, and a given one is reported.
  func require<Value: Comparable>(_ key: String, _ value: inout Value, atLeast least: Value, _ text: String) {
    guard value < least else { return }
    if has(key) { fitting(key)?.report("must be at least \(text)") } else { value = least }
  }

  /// The same for another one that it may not be above.
  func require<Value: Comparable>(_ key: String, _ value: inout Value, atMost most: Value, _ text: String) {
    guard value > most else { return }
    if has(key) { fitting(key)?.report("must be at most \(text)") } else { value = most }
  }

  /// The given ones of these keys, in the order of the file.
  func inOrder(_ keys: [String]) -> [ConfigurationReader] {
    keys.compactMap { self[$0] }.sorted { $0.node.position < $1.node.position }
  }
}

/// Which keys of a mapping go together.
enum ConfigurationRule: Sendable {
  /// At most one of the keys.
  case atMostOne([String])
  /// One of the keys at least. The text is for a mapping without.
  case some([String], String)
  /// The first key, unless one of the others is there.
  case missing(String, orElse: [String], String)
  /// One of the keys, not more. The text is for others.
  case one([String], String)
  /// The first keys only beside the last one. The text is for each that is without it.
  case needs([String], String, String)
  /// The keys not beside one of the first ones, which the text begins.
  case excludes([String], [String], String)
  /// The keys only if the value of the first one is that word. The last key has to be there then.
  case belong(to: String, being: String, [String], String, required: String, String)

  fileprivate func check(_ given: ConfigurationGiven) {
    switch self {
    case .atMostOne(let keys):
      let found = given.inOrder(keys)
      if found.count > 1 { found[1].report("give only one of \(ConfigurationShape.joined(keys, by: "and"))") }
    case .some(let keys, let text):
      if !keys.contains(where: given.has) { given.reader.report(text) }
    case .missing(let key, let others, let what):
      if !([key] + others).contains(where: given.has) { given.reader.report("is missing; \(what)", key: key) }
    case .one(let keys, let text):
      if keys.count(where: given.has) != 1 { given.reader.report(text) }
    case .needs(let keys, let other, let text):
      guard !given.has(other) else { return }
      for key in keys { given.fitting(key)?.report(text) }
    case .excludes(let others, let keys, let text):
      guard let other = others.first(where: given.has) else { return }
      for key in keys { given[key]?.report("is of no use with \(other), \(text)") }
    case .belong(let other, let word, let keys, let text, let required, let what):
      // Nothing is said of keys that would have to fit an unknown word.
      if given.has(other), given.fitting(other) == nil { return }
      var value: YAMLScalar.Value?
      if case .scalar(let scalar)? = given[other]?.node.content { value = scalar.value }
      if value != .string(word) {
        for key in keys { given[key]?.report(text) }
      } else if !given.has(required) {
        given.reader.report("is missing; \(what)", key: required)
      }
    }
  }
}
