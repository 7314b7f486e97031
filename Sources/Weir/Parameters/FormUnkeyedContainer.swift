/// Writes elements into an array.
struct FormUnkeyedContainer: UnkeyedEncodingContainer {
  let encoder: FormNodeEncoder

  init(encoder: FormNodeEncoder) {
    self.encoder = encoder
    encoder.node.becomeArray()
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  var count: Int { encoder.node.childCount }

  func encodeNil() throws {
    guard let text = encoder.context.nilEncoding.encode() else { return }
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

  func superEncoder() -> any Encoder { child() }

  private func child() -> FormNodeEncoder {
    let key = FormKey(intValue: count)
    return encoder.nested(encoder.node.appendChild(), key: key)
  }
}
