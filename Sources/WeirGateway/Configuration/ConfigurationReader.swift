import WeirCurl
import WeirExporter
import WeirTransport

/// Reads a value of a configuration file, and reports the value's place if there is a problem.
///
/// An invalid value reads as nil and adds a problem to the findings. Reading goes on, so that one run reports all
/// problems. The values are only fit for use if there were no problems.
struct ConfigurationReader {
  let node: YAMLNode
  let path: ConfigurationPath
  let findings: ConfigurationFindings
  /// Whether problems may repeat the value, or values in it.
  let quotesValues: Bool
  /// Whether problems leave out unknown keys: among secrets, one may be a secret in a wrong place.
  var hidesKeys = false

  /// A reader of the same value, which holds secrets.
  var hidingValues: Self {
    Self(node: node, path: path, findings: findings, quotesValues: false, hidesKeys: hidesKeys)
  }

  /// The same with problems that leave out unknown keys too.
  var hidingAll: Self { Self(node: node, path: path, findings: findings, quotesValues: false, hidesKeys: true) }

  /// A reader of a value in this one.
  private func reader(of node: YAMLNode, path: ConfigurationPath) -> Self {
    Self(node: node, path: path, findings: findings, quotesValues: quotesValues, hidesKeys: hidesKeys)
  }

  /// Whether the value is `off`, which turns off a feature that is on by default.
  var isOff: Bool {
    if case .scalar(let scalar) = node.content { scalar.value == .string("off") } else { false }
  }

  var isNull: Bool {
    if case .scalar(let scalar) = node.content { scalar.value == .null } else { false }
  }

  /// - Parameter problem: returns the reason why a value is invalid, or nil.
  func read<Value>(as kind: ConfigurationKind<Value>, unless problem: (Value) -> String? = { _ in nil }) -> Value? {
    guard case .scalar(let scalar) = node.content else {
      mismatch(kind.name)
      return nil
    }
    guard let value = kind.read(scalar.value) ?? (findings.readsAsGo ? kind.readAsGo(scalar) : nil) else {
      mismatch(kind.name, hint: isNull ? "" : kind.hint)
      return nil
    }
    guard let text = problem(value) else { return value }
    report(text)
    return nil
  }

  /// Makes a value of a text, or reports the error that `make` throws.
  ///
  /// - Parameter text: The words for that error.
  func parse<Value>(
    _ make: (String) throws -> Value, orReport text: (any Error) -> String = { "\($0)" }
  ) -> Value? {
    do {
      return try read(as: .string).map(make)
    } catch {
      report(text(error))
      return nil
    }
  }

  /// The text to write for a value that is meant to turn a feature on or off.
  private func switchHint(_ on: String) -> String {
    guard case .scalar(let scalar) = node.content else { return "" }
    return switch scalar.value {
    case .bool(true), .string("on"): "; \(on)"
    case .bool(false): "; write off"
    default: ""
    }
  }

  /// The elements of a list.
  func elements() -> [Self]? {
    guard case .sequence(let nodes) = node.content else {
      mismatch("a list (- item)")
      return nil
    }
    return nodes.enumerated().map { reader(of: $1, path: path.index($0)) }
  }

  /// The value of a key in this mapping; nil if there is none.
  func child(_ key: String) -> Self? {
    guard case .mapping(let entries) = node.content else { return nil }
    return entries.first { $0.key == key }.flatMap(value)
  }

  /// The value of an entry of this mapping. A key without a value is present: a user who writes `timeout:` intends
  /// something, so it is read as a value of the wrong type. For Go it is missing.
  func value(of entry: YAMLNode.Entry) -> Self? {
    let value = reader(of: entry.value, path: path.key(entry.key))
    return findings.readsAsGo && value.isNull ? nil : value
  }

  /// The entries of a mapping whose keys the user chooses, in the order of the file.
  func entries() -> [(key: String, value: Self)]? {
    guard case .mapping(let entries) = node.content else {
      mismatch("a mapping (key: value)")
      return nil
    }
    return entries.map { ($0.key, reader(of: $0.value, path: path.key($0.key))) }
  }

  /// The same without keys that hold their values, which are reported.
  func partedEntries() -> [(key: String, value: Self)]? {
    guard case .mapping(let nodes) = node.content, let entries = entries() else { return entries() }
    return zip(nodes, entries).filter { !reportUnparted($0.0) }.map(\.1)
  }

  /// The entries of a mapping whose keys are known by name.
  ///
  /// - Parameter on: If the value could also be the word `off`: how the feature is turned on with its defaults, for those
  ///   who write `on` or `true`.
  func mappingEntries(orOff on: String? = nil) -> [YAMLNode.Entry]? {
    if case .mapping(let entries) = node.content { return entries }
    mismatch("a mapping (key: value)\(on == nil ? "" : " or off")", hint: on.map(switchHint) ?? "")
    return nil
  }

  /// Reports a key without a value, as in `{ NAME:VALUE }`, that may hold a secret, and does not repeat it. Returns whether
  /// it is one.
  private func reportUnparted(_ entry: YAMLNode.Entry) -> Bool {
    guard entry.key.contains(":") || !quotesValues, !findings.readsAsGo,
      case .scalar(let scalar) = entry.value.content, scalar.value == .null
    else { return false }
    guard findings.unparted.insert(entry.keyPosition).inserted else { return true }
    findings.problems.append(
      ConfigurationProblem(
        at: entry.keyPosition, path: path,
        "holds a key without a value; write NAME: VALUE, with a blank behind the colon"))
    return true
  }

  /// Reports the entries with other keys than those.
  ///
  /// - Parameter misplaced: Keys that belong elsewhere, each with the hint for those who write it here.
  func reportUnknown(_ known: some Collection<String>, in entries: [YAMLNode.Entry], misplaced: [String: String]) {
    let unknown = entries.filter { !known.contains($0.key) && !reportUnparted($0) }
    guard !unknown.isEmpty else { return }
    let absent = Set(known).subtracting(entries.map(\.key))
    let list = "known keys are " + known.sorted().joined(separator: ", ")
    findings.unknownKeys += unknown.enumerated().map { index, entry in
      // Guessing takes time, and problems beyond the maximum are not shown.
      let guess = index < ConfigurationError.maximumCount ? suggestion(for: entry.key, among: absent) : nil
      let hint = misplaced[entry.key] ?? guess.map { "did you mean \(quoted($0))?" }
      // One that is like a known key is no secret.
      if hint == nil, hidesKeys {
        return ConfigurationProblem(at: entry.keyPosition, path: path, "holds an unknown key; \(list)")
      }
      return ConfigurationProblem(at: entry.keyPosition, path: path.key(entry.key), "unknown key; \(hint ?? list)")
    }
  }

  /// - Parameter key: a missing key of the mapping, to which the message belongs.
  func report(_ message: String, key: String? = nil) {
    findings.problems.append(
      ConfigurationProblem(at: node.position, path: key.map(path.key) ?? path, message))
  }

  /// Notes a possible mistake that is no reason to refuse the file.
  func warn(_ message: @autoclosure () -> String) {
    // Some texts take time, and few of so many will be shown.
    guard findings.warnings.count < 10 * ConfigurationError.maximumCount else {
      findings.omittedWarnings += 1
      return
    }
    findings.warnings.append(ConfigurationProblem(at: node.position, path: path, message()))
  }

  private func mismatch(_ expected: String, hint: String = "") {
    report("expected \(expected), found \(node.summary(quotingValue: quotesValues))\(hint)")
  }
}

// MARK: Numbers, words and lists within limits

extension ConfigurationReader {
  /// The elements of a list, whose number is compared with the one that is allowed; those beyond it are left out.
  ///
  /// - Parameters:
  ///   - nouns: The word for several elements in a problem.
  ///   - otherwise: What could be done in place of a list of the right length, in words that follow.
  ///   - empty: The problem of an empty list, if it has words of its own.
  func elements(
    _ counts: ClosedRange<Int>, _ nouns: String, orElse otherwise: String = "", empty: String? = nil
  ) -> [ConfigurationReader]? {
    guard let list = elements() else { return nil }
    if list.isEmpty, let empty {
      report(empty)
    } else if !counts.contains(list.count) {
      report("holds \(list.count) \(nouns); \(Self.count(counts))\(otherwise)")
    }
    return list.count > counts.upperBound ? Array(list.prefix(counts.upperBound)) : list
  }

  /// The entries of a mapping whose keys the user chooses; their number is compared with the one that is allowed.
  func entries(_ counts: ClosedRange<Int>, _ nouns: String) -> [(key: String, value: Self)]? {
    guard let entries = partedEntries() else { return nil }
    if !counts.contains(entries.count) { report("holds \(entries.count) \(nouns); \(Self.count(counts))") }
    return entries
  }

  private static func count(_ counts: ClosedRange<Int>) -> String {
    counts.lowerBound == 0 ? "give at most \(counts.upperBound)" : "give \(counts.lowerBound) to \(counts.upperBound)"
  }

  /// One of a few words.
  func word(among words: [String]) -> String? {
    read(as: .string) { words.contains($0) ? nil : "give one of \(words.joined(separator: ", "))" }
  }

  func count(within range: ClosedRange<Int>) -> Int? {
    read(as: .integer) { range.contains($0) ? nil : "must be \(range.lowerBound) to \(range.upperBound)" }
  }

  func number(within range: ClosedRange<Double>) -> Double? {
    read(as: .number) {
      range.contains($0)
        ? nil
        : "must be \(ConfigurationDuration.text(range.lowerBound)) to \(ConfigurationDuration.text(range.upperBound))"
    }
  }

  /// The seconds of a duration.
  ///
  /// - Parameter orOff: Whether the value could also be the word `off`, which the texts of errors mention then.
  func seconds(within range: ClosedRange<Double>, orOff: Bool = false) -> Double? {
    let alternative = orOff ? " or off" : ""
    var kind = ConfigurationKind.duration
    kind.name += alternative
    let duration = read(as: kind) {
      if range.contains($0 / .seconds(1)) { return nil }
      let bounds = [range.lowerBound, range.upperBound].map { ConfigurationDuration.text(seconds: $0) }
      return "must be \(bounds[0]) to \(bounds[1])\(alternative)"
    }
    return duration.map { $0 / .seconds(1) }
  }
}

/// The problems of a file that were found so far, and the warnings.
final class ConfigurationFindings {
  /// Whether scalars are read as Go's yaml.v3 reads them.
  let readsAsGo: Bool
  /// The file's folder with a slash at its end, where relative paths begin.
  let folder: Substring
  /// Notes files that are read with the configuration, as far as nothing else looks at them.
  let reads: FilesRead?
  /// The proxies that `environment` stands for.
  let environment: ProxyEnvironment
  /// The settings of the export that variables hold.
  let telemetry: TelemetryEnvironment
  /// The files of secrets, each with the path of its key.
  var secretFiles: [(key: String, file: SecretFile)] = []
  fileprivate(set) var problems: [ConfigurationProblem] = []
  /// The places of keys that hold their values, of which a problem tells.
  fileprivate var unparted: Set<SourcePosition> = []
  fileprivate(set) var unknownKeys: [ConfigurationProblem] = []
  fileprivate(set) var warnings: [ConfigurationProblem] = []
  /// The number of further warnings.
  fileprivate(set) var omittedWarnings = 0

  init(
    of file: String, readsAsGo: Bool, reads: FilesRead?, environment: ProxyEnvironment,
    telemetry: TelemetryEnvironment
  ) {
    folder = file.utf8.lastIndex(of: UInt8(ascii: "/")).map { file[...$0] } ?? ""
    self.readsAsGo = readsAsGo
    self.reads = reads
    self.environment = environment
    self.telemetry = telemetry
  }

  /// The warnings to show: the first ones in the order of the file, then the others, and how many there are further.
  func warnings(sortingFirst count: Int) -> [ConfigurationProblem] {
    let first = warnings.prefix(count).enumerated()
      .sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }.map(\.element)
    let all = first + warnings.dropFirst(count)
    let further = omittedWarnings + max(0, all.count - ConfigurationError.maximumCount)
    let rest = ConfigurationProblem(at: nil, path: ConfigurationPath(), "and \(further) more")
    return all.prefix(ConfigurationError.maximumCount) + (further > 0 ? [rest] : [])
  }
}

/// The type that a scalar is read as. Types are kept apart: a number is no string, `yes` is no boolean.
struct ConfigurationKind<Value>: Sendable {
  /// The kind's name in "expected a whole number".
  var name: String
  /// A hint that error texts add if the scalar is of another kind.
  var hint = ""
  let read: @Sendable (YAMLScalar.Value) -> Value?
  /// Reads what Go's yaml.v3 takes for such a value besides.
  var readAsGo: @Sendable (YAMLScalar) -> Value? = { _ in nil }
}

extension ConfigurationKind<String> {
  static var string: Self {
    Self(
      name: "a string", hint: "; write it in quotes", read: { if case .string(let value) = $0 { value } else { nil } },
      readAsGo: { $0.value == .null ? "" : $0.text })
  }
}

extension ConfigurationKind<Bool> {
  static var boolean: Self {
    Self(
      name: "true or false", read: { if case .bool(let value) = $0 { value } else { nil } },
      readAsGo: { scalar in
        switch scalar.text {
        case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON": true
        case "n", "N", "no", "No", "NO", "off", "Off", "OFF": false
        default: nil
        }
      })
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
