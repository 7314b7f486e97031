/// Writes keys and values into an object.
struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: FormNodeEncoder

  init(encoder: FormNodeEncoder) {
    self.encoder = encoder
    encoder.node.beginObject()
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) throws {
    // The key's former value is dropped in any case.
    guard let text = encoder.options.nilEncoding.encode() else {
      if encoder.node.child(forKey: key.stringValue) != nil { _ = child(key) }
      return
    }
    try child(key).encode(text: text)
  }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    // An optional that is nil arrives here when `encode` is called on it; its own encoding ends in `encodeNil`.
    if let optional = value as? any OptionalValue, optional.isNil { return try encodeNil(forKey: key) }
    try child(key).encode(value)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    existingOrNewChild(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    existingOrNewChild(key).unkeyedContainer()
  }

  /// The keys of a superclass are written beside those of its subclass.
  func superEncoder() -> any Encoder {
    encoder.nested(encoder.node, key: FormKey(stringValue: "super"))
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    if case .text = encoder.node.child(forKey: key.stringValue)?.content { return child(key) }
    return existingOrNewChild(key)
  }

  private func child(_ key: Key) -> FormNodeEncoder {
    encoder.nested(encoder.node.setChild(forKey: key.stringValue), key: key)
  }

  /// A second nested container under a key continues the first if both are of the same kind, else it replaces the
  /// first as soon as something is written into it.
  private func existingOrNewChild(_ key: Key) -> FormNodeEncoder {
    let node = encoder.node.child(forKey: key.stringValue) ?? encoder.node.setChild(forKey: key.stringValue)
    return encoder.nested(node, key: key)
  }
}

// Synthesized conformances call these methods. Their default implementations drop the key of a nil value without regard to
// `nilEncoding`.
extension FormKeyedContainer {
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try encodeOptional(value, key) }

  func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) throws { try encodeOptional(value, key) }

  private func encodeOptional(_ value: (some Encodable)?, _ key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
  }
}

/// Writes elements into an array.
struct FormUnkeyedContainer: UnkeyedEncodingContainer {
  let encoder: FormNodeEncoder

  init(encoder: FormNodeEncoder) {
    self.encoder = encoder
    encoder.node.beginArray()
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  var count: Int { encoder.node.childCount }

  func encodeNil() throws {
    guard let text = encoder.options.nilEncoding.encode() else { return }
    try child().encode(text: text)
  }

  func encode(_ value: some Encodable) throws {
    if let optional = value as? any OptionalValue, optional.isNil { return try encodeNil() }
    try child().encode(value)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    child().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    child().unkeyedContainer()
  }

  /// A superclass is one more element. Where another container under the same key has written keys, those of the
  /// superclass are written beside them, as Alamofire does.
  func superEncoder() -> any Encoder {
    if case .object = encoder.node.content { return encoder }
    return child()
  }

  private func child() -> FormNodeEncoder {
    let key = FormKey(intValue: count)
    return encoder.nested(encoder.node.appendChild(), key: key)
  }
}

/// Writes one value; a second one is an error.
struct FormSingleValueContainer: SingleValueEncodingContainer {
  let encoder: FormNodeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() throws {
    // If nil has no text, the node stays empty, and its key is left out.
    if let text = encoder.options.nilEncoding.encode() { try encoder.encode(text: text) }
  }

  func encode(_ value: Bool) throws { try encoder.encode(text: encoder.options.boolEncoding.encode(value)) }
  func encode(_ value: String) throws { try encoder.encode(text: value) }
  func encode(_ value: Int128) throws { try encoder.encode(text: value.description) }
  func encode(_ value: UInt128) throws { try encoder.encode(text: value.description) }

  /// The protocol's method for all other numbers. For the two above, the protocol's defaults would be used instead.
  func encode(_ value: some Encodable & LosslessStringConvertible & Numeric) throws {
    try encoder.encode(text: value.description)
  }

  func encode(_ value: some Encodable) throws {
    guard case .empty = encoder.node.content else {
      throw EncodingError.misuse(at: codingPath, "A second value was encoded where one was already.")
    }
    try encoder.encode(value)
  }
}

/// A key that is a text or an index.
struct FormKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = intValue.description
    self.intValue = intValue
  }
}

/// Whether a value of unknown type is an optional that is nil.
protocol OptionalValue {
  var isNil: Bool { get }
}

extension Optional: OptionalValue {
  var isNil: Bool {
    switch self {
    case nil: true
    case let wrapped?: (wrapped as? any OptionalValue)?.isNil ?? false
    }
  }
}
