/// Writes keys and values into an object.
struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: FormNodeEncoder

  init(encoder: FormNodeEncoder) {
    self.encoder = encoder
    encoder.node.becomeObject()
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) throws {
    // What the key had before goes in any case.
    guard let text = encoder.context.nilEncoding.encode() else {
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

  /// A superclass's keys stand beside its subclass's.
  func superEncoder() -> any Encoder {
    encoder.nested(encoder.node, key: FormKey(stringValue: "super"))
  }

  func superEncoder(forKey key: Key) -> any Encoder { child(key) }

  private func child(_ key: Key) -> FormNodeEncoder {
    encoder.nested(encoder.node.setChild(forKey: key.stringValue), key: key)
  }

  /// A second nested container under a key goes on with the first if both are of one kind, else takes its place.
  private func existingOrNewChild(_ key: Key) -> FormNodeEncoder {
    let node = encoder.node.child(forKey: key.stringValue) ?? encoder.node.setChild(forKey: key.stringValue)
    return encoder.nested(node, key: key)
  }
}

// The defaults of these drop the key without asking how nil is to be written, and synthesized conformances call them.
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
