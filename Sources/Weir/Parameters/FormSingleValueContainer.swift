/// Writes one value; a second one is an error.
struct FormSingleValueContainer: SingleValueEncodingContainer {
  let encoder: FormNodeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() throws {
    // Where the key can't be left out any more, an empty value stands for a dropped one.
    try encoder.encode(text: encoder.context.nilEncoding.encode() ?? "")
  }

  func encode(_ value: Bool) throws { try encoder.encode(text: encoder.context.boolEncoding.encode(value)) }
  func encode(_ value: String) throws { try encoder.encode(text: value) }
  func encode(_ value: Double) throws { try encoder.encode(text: value.description) }
  func encode(_ value: Float) throws { try encoder.encode(text: value.description) }
  func encode(_ value: Int) throws { try encoder.encode(text: value.description) }
  func encode(_ value: Int8) throws { try encoder.encode(text: value.description) }
  func encode(_ value: Int16) throws { try encoder.encode(text: value.description) }
  func encode(_ value: Int32) throws { try encoder.encode(text: value.description) }
  func encode(_ value: Int64) throws { try encoder.encode(text: value.description) }
  func encode(_ value: Int128) throws { try encoder.encode(text: value.description) }
  func encode(_ value: UInt) throws { try encoder.encode(text: value.description) }
  func encode(_ value: UInt8) throws { try encoder.encode(text: value.description) }
  func encode(_ value: UInt16) throws { try encoder.encode(text: value.description) }
  func encode(_ value: UInt32) throws { try encoder.encode(text: value.description) }
  func encode(_ value: UInt64) throws { try encoder.encode(text: value.description) }
  func encode(_ value: UInt128) throws { try encoder.encode(text: value.description) }

  func encode(_ value: some Encodable) throws {
    guard case .empty = encoder.node.content else {
      throw EncodingError.misuse(at: codingPath, "A second value was encoded where one was already.")
    }
    try encoder.encode(value)
  }
}

/// A key that is a text or a position.
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
