import CYaml

/// The libyaml that this process has loaded.
enum YAMLLibrary {
  /// The version, such as `0.2.5`.
  static var version: String { yaml_get_version_string().map { String(cString: $0) } ?? "" }
}

/// The limits of one document. A configuration is a page of text, so a document beyond them is a mistake or an attack.
package struct YAMLLimits: Sendable {
  package var bytes = 1 << 20
  package var depth = 32
  package var nodes = 100_000
}

/// A document's tree, and the duplicate keys found while building it. Of equal keys the first one stays.
package struct YAMLDocument: Sendable {
  package let root: YAMLNode
  package let problems: [ConfigurationProblem]
}

extension YAMLDocument {
  /// Reads exactly one document. Aliases are refused, so a document can't expand beyond its own size.
  /// - Parameter acceptsEmpty: Whether a text without a value is read as an empty mapping instead of being a problem.
  package init(
    parsing bytes: [UInt8], limits: YAMLLimits = YAMLLimits(), acceptsEmpty: Bool = false
  ) throws(ConfigurationProblem) {
    guard bytes.count <= limits.bytes else {
      throw ConfigurationProblem(
        at: nil, path: ConfigurationPath(), "is \(bytes.count) bytes long; at most \(limits.bytes) are read")
    }
    self = try bytes.span.withUnsafeBufferPointer { input throws(ConfigurationProblem) in
      var composer = try YAMLComposer(input, limits: limits, acceptsEmpty: acceptsEmpty)
      let root = try composer.document()
      return YAMLDocument(root: root, problems: composer.problems)
    }
  }
}

/// Builds the tree from libyaml's events. Owns the parser, which reads from `input` and must not outlive it.
private struct YAMLComposer: ~Copyable {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let input: UnsafeBufferPointer<UInt8>
  private let limits: YAMLLimits
  private let acceptsEmpty: Bool
  private var path = ConfigurationPath()
  private var nodes = 0
  private(set) var problems: [ConfigurationProblem] = []

  init(
    _ input: UnsafeBufferPointer<UInt8>, limits: YAMLLimits, acceptsEmpty: Bool
  ) throws(ConfigurationProblem) {
    self.input = input
    self.limits = limits
    self.acceptsEmpty = acceptsEmpty
    // Allocated on the heap, because libyaml keeps a pointer to the parser inside it.
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    guard yaml_parser_initialize(parser) == 1 else {
      throw ConfigurationProblem(at: nil, path: path, "out of memory")
    }
    yaml_parser_set_input_string(parser, input.baseAddress, input.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  mutating func document() throws(ConfigurationProblem) -> YAMLNode {
    _ = try next()  // stream start
    guard try next().type == YAML_DOCUMENT_START_EVENT else {
      let start = SourcePosition(line: 1, column: 1)
      if acceptsEmpty { return YAMLNode(position: start, content: .mapping([])) }
      throw ConfigurationProblem(at: start, path: path, "the document is empty")
    }
    var root = try node(next(), depth: 0)
    if acceptsEmpty, case .scalar(let scalar) = root.content, scalar.value == .null {
      root = YAMLNode(position: root.position, content: .mapping([]))
    }
    _ = try next()  // document end
    let end = try next()
    guard end.type == YAML_STREAM_END_EVENT else {
      throw ConfigurationProblem(at: end.position, path: path, "a second document begins here; only one is read")
    }
    return root
  }

  private mutating func node(_ event: YAMLEvent, depth: Int) throws(ConfigurationProblem) -> YAMLNode {
    nodes += 1
    guard nodes <= limits.nodes else {
      throw ConfigurationProblem(at: event.position, path: path, "more than \(limits.nodes) values in one document")
    }
    guard depth <= limits.depth else {
      throw ConfigurationProblem(at: event.position, path: path, "nested deeper than \(limits.depth) levels")
    }
    let content: YAMLNode.Content
    switch (event.type, event.scalar) {
    case (_, let scalar?): content = .scalar(scalar)
    case (YAML_SEQUENCE_START_EVENT, _): content = .sequence(try elements(depth: depth))
    case (YAML_MAPPING_START_EVENT, _): content = .mapping(try entries(depth: depth))
    case (YAML_ALIAS_EVENT, _):
      throw ConfigurationProblem(at: event.position, path: path, "aliases (*name) are not supported; repeat the value")
    default:
      throw ConfigurationProblem(at: event.position, path: path, "expected a value")
    }
    return YAMLNode(position: event.position, content: content)
  }

  private mutating func elements(depth: Int) throws(ConfigurationProblem) -> [YAMLNode] {
    var elements: [YAMLNode] = []
    while true {
      let event = try next()
      if event.type == YAML_SEQUENCE_END_EVENT { return elements }
      path.steps.append(.index(elements.count))
      elements.append(try node(event, depth: depth + 1))
      path.steps.removeLast()
    }
  }

  private mutating func entries(depth: Int) throws(ConfigurationProblem) -> [YAMLNode.Entry] {
    var entries: [YAMLNode.Entry] = []
    var first: [String: SourcePosition] = [:]
    while true {
      let event = try next()
      if event.type == YAML_MAPPING_END_EVENT { return entries }
      guard let key = event.scalar else {
        throw ConfigurationProblem(at: event.position, path: path, "a key must be a plain or quoted string")
      }
      path.steps.append(.key(key.text))
      let value = try node(next(), depth: depth + 1)
      if let earlier = first[key.text] {
        // A key without a value may be a secret in a wrong place.
        if case .scalar(let scalar) = value.content, scalar.value == .null {
          path.steps[path.steps.count - 1] = .key("…")
        }
        problems.append(
          ConfigurationProblem(at: event.position, path: path, "duplicate key; first given at line \(earlier.line)"))
      } else {
        first[key.text] = event.position
        entries.append(YAMLNode.Entry(key: key.text, keyPosition: event.position, value: value))
      }
      path.steps.removeLast()
    }
  }
}

// MARK: Events

private struct YAMLEvent {
  let type: yaml_event_type_t
  let position: SourcePosition
  /// Nil for other events than scalars.
  var scalar: YAMLScalar?
}

extension YAMLComposer {
  private func next() throws(ConfigurationProblem) -> YAMLEvent {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxProblem() }
    defer { yaml_event_delete(&event) }
    var found = YAMLEvent(type: event.type, position: SourcePosition(event.start_mark))
    switch event.type {
    case YAML_SCALAR_EVENT: found.scalar = try scalar(event, at: found.position)
    case YAML_SEQUENCE_START_EVENT:
      try refuse(tag: event.data.sequence_start.tag, unless: "tag:yaml.org,2002:seq", at: found.position)
    case YAML_MAPPING_START_EVENT:
      try refuse(tag: event.data.mapping_start.tag, unless: "tag:yaml.org,2002:map", at: found.position)
    default: break
    }
    return found
  }

  private func scalar(_ event: yaml_event_t, at position: SourcePosition) throws(ConfigurationProblem) -> YAMLScalar {
    let data = event.data.scalar
    let text = String(decoding: UnsafeBufferPointer(start: data.value, count: data.length), as: UTF8.self)
    guard let tag = data.tag else {
      return data.style == YAML_PLAIN_SCALAR_STYLE ? YAMLScalar(plain: text) : YAMLScalar(quoted: text)
    }
    switch String(cString: tag) {
    case "!", "tag:yaml.org,2002:str": return YAMLScalar(quoted: text)
    default: throw unknownTag(at: position)
    }
  }

  private func refuse(
    tag: UnsafeMutablePointer<yaml_char_t>?, unless allowed: String, at position: SourcePosition
  ) throws(ConfigurationProblem) {
    guard let tag else { return }
    let name = String(cString: tag)
    if name != allowed, name != "!" { throw unknownTag(at: position) }
  }

  /// The first byte of a character of the input. libyaml counts characters, but for a byte order mark.
  private func character(at index: Int) -> UInt8? {
    let text = input.starts(with: [0xEF, 0xBB, 0xBF]) ? input.dropFirst(3) : input[...]
    var left = index
    return text.first { byte in
      if byte & 0xC0 != 0x80 { left -= 1 }
      return left < 0
    }
  }

  private static func characters(in bytes: some Sequence<UInt8>) -> Int { bytes.count { $0 & 0xC0 != 0x80 } }

  /// The tag may be a secret that begins with an exclamation mark.
  private func unknownTag(at position: SourcePosition) -> ConfigurationProblem {
    ConfigurationProblem(
      at: position, path: path, "tags (!name) are not supported; leave it out, or put a text with ! in quotes")
  }

  private func syntaxProblem() -> ConfigurationProblem {
    let failure = parser.pointee
    let reason = failure.problem.map { String(cString: $0) } ?? "can't be parsed"
    guard failure.error != YAML_READER_ERROR else {
      // libyaml's reader reports an offset in bytes, without a line.
      let before = input.prefix(failure.problem_offset)
      let line = before.count { $0 == UInt8(ascii: "\n") } + 1
      let column = Self.characters(in: before.reversed().prefix { $0 != UInt8(ascii: "\n") }) + 1
      return ConfigurationProblem(at: SourcePosition(line: line, column: column), path: path, "not YAML: \(reason)")
    }
    if reason.hasPrefix("found character that cannot start any token"),
      character(at: failure.problem_mark.index) == UInt8(ascii: "\t")
    {
      return ConfigurationProblem(
        at: SourcePosition(failure.problem_mark), path: path, "a tab can't indent YAML; use spaces")
    }
    let context = failure.context.map { " (\(String(cString: $0)))" } ?? ""
    return ConfigurationProblem(at: SourcePosition(failure.problem_mark), path: path, "not YAML: \(reason)\(context)")
  }
}

extension SourcePosition {
  fileprivate init(_ mark: yaml_mark_t) {
    self.init(line: Int(clamping: mark.line &+ 1), column: Int(clamping: mark.column &+ 1))
  }
}

/// A value of a YAML document, with the place where it begins.
package struct YAMLNode: Sendable {
  package enum Content: Sendable {
    case scalar(YAMLScalar)
    case sequence([YAMLNode])
    case mapping([Entry])
  }

  package struct Entry: Sendable {
    package let key: String
    package let keyPosition: SourcePosition
    package let value: YAMLNode
  }

  package let position: SourcePosition
  package let content: Content

  /// The words for this value in an error text: `a mapping`, `the integer 5`.
  package func summary(quotingValue: Bool) -> String {
    switch content {
    case .mapping: "a mapping"
    case .sequence: "a list"
    case .scalar(let scalar): quotingValue ? scalar.summary : scalar.discreetSummary
    }
  }
}
