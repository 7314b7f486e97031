/// A mapping's values by key.
struct YAMLKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: YAMLNodeDecoder
  let entries: [YAMLNode.Entry]
  /// Where each key is; only of mappings that are long to walk through.
  private let places: [String: Int]?

  init(decoder: YAMLNodeDecoder, entries: [YAMLNode.Entry]) {
    self.decoder = decoder
    self.entries = entries
    places =
      entries.count <= 16
      ? nil : Dictionary(entries.indices.map { (entries[$0].key, $0) }, uniquingKeysWith: { first, _ in first })
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  /// In the order of the file. Somebody who lists the keys knows them all.
  var allKeys: [Key] {
    entries.compactMap { entry in
      decoder.ledger.ask(decoder.node, for: entry.key)
      return Key(stringValue: entry.key)
    }
  }

  func contains(_ key: Key) -> Bool { find(key) != nil }

  /// Never: `decodeIfPresent` would take a key without a value for one that is absent. Whoever writes `timeout:` means
  /// something by it, so it is read as a value, of the wrong type.
  func decodeNil(forKey key: Key) throws -> Bool { false }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try T(from: value(key)) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try value(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try value(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { decoder }

  func superDecoder(forKey key: Key) throws -> any Decoder { try value(key) }

  private func find(_ key: Key) -> YAMLNode? {
    decoder.ledger.ask(decoder.node, for: key.stringValue)
    if let places { return places[key.stringValue].map { entries[$0].value } }
    return decoder.node.child(.key(key.stringValue))
  }

  private func value(_ key: Key) throws -> YAMLNodeDecoder {
    guard let node = find(key) else {
      throw ConfigurationProblem(at: decoder.node.position, path: decoder.path.key(key.stringValue), "is missing")
    }
    return decoder.child(node, .key(key.stringValue))
  }
}

/// A list's elements, one after the other.
struct YAMLUnkeyedContainer: UnkeyedDecodingContainer {
  let decoder: YAMLNodeDecoder
  let elements: [YAMLNode]
  private(set) var currentIndex = 0

  init(decoder: YAMLNodeDecoder, elements: [YAMLNode]) {
    self.decoder = decoder
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try peek().isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let value = try T(from: peek())
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    let container = try peek().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try peek().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let element = try peek()
    currentIndex += 1
    return element
  }

  private func peek() throws -> YAMLNodeDecoder {
    guard elements.indices.contains(currentIndex) else {
      throw ConfigurationProblem(
        at: decoder.node.position, path: decoder.path, "expected more than \(elements.count) elements")
    }
    return decoder.child(elements[currentIndex], .index(currentIndex))
  }
}

/// A scalar. The schema's types are kept apart: a number is no string, `yes` is no boolean.
struct YAMLScalarContainer: SingleValueDecodingContainer {
  let decoder: YAMLNodeDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { decoder.isNull }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let value) = scalar?.value else { throw decoder.mismatch("true or false") }
    return value
  }

  func decode(_ type: String.Type) throws -> String {
    switch scalar?.value {
    case .string(let value): return value
    case .bool, .integer, .float:
      throw ConfigurationProblem(
        at: decoder.node.position, path: decoder.path,
        "expected a string, found \(decoder.summary); write it in quotes")
    case .null, nil: throw decoder.mismatch("a string")
    }
  }

  func decode(_ type: Double.Type) throws -> Double {
    switch scalar?.value {
    case .integer(let value): return Double(value)
    case .float(let value): return value
    default: throw decoder.mismatch("a number")
    }
  }

  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: decoder) }

  private var scalar: YAMLScalar? {
    if case .scalar(let scalar) = decoder.node.content { scalar } else { nil }
  }

  private func integer<T: FixedWidthInteger>() throws -> T {
    guard case .integer(let value) = scalar?.value else { throw decoder.mismatch("a whole number") }
    guard let result = T(exactly: value) else { throw decoder.mismatch("a whole number from \(T.min) to \(T.max)") }
    return result
  }
}
