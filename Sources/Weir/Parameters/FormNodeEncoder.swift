extension EncodingError {
  static func misuse(at codingPath: [any CodingKey], _ text: String) -> EncodingError {
    .invalidValue(text, Context(codingPath: codingPath, debugDescription: text))
  }
}

/// Encodes one value into one node.
struct FormNodeEncoder: Encoder {
  let node: FormNode
  let codingPath: [any CodingKey]
  /// The options for writing values.
  let options: URLEncodedFormEncoder

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(FormKeyedContainer(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    FormUnkeyedContainer(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    FormSingleValueContainer(encoder: self)
  }

  /// An encoder for a child of this encoder's node.
  func nested(_ node: FormNode, key: any CodingKey) -> FormNodeEncoder {
    FormNodeEncoder(node: node, codingPath: codingPath + [key], options: options)
  }

  /// Encodes any value; types that have an option are written by that option.
  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let value as Bool: try encode(text: options.boolEncoding.encode(value))
    case let value as String: try encode(text: value)
    case let value as Date: try encode(value)
    case let value as Data: try encode(value)
    case let value as Decimal: try encode(text: value.description)
    // A URL encodes itself with keys, as base and relative part; a form needs its text, as JSON does.
    case let value as URL: try encode(text: value.absoluteString)
    default: try value.encode(to: self)
    }
  }

  func encode(text: String) throws {
    guard node.setText(text) else {
      throw EncodingError.misuse(at: codingPath, "A second value was encoded where one was already.")
    }
  }

  private func encode(_ date: Date) throws {
    switch options.dateEncoding {
    case .deferredToDate: try date.encode(to: self)
    case .secondsSince1970: try encode(text: date.timeIntervalSince1970.description)
    case .millisecondsSince1970: try encode(text: (date.timeIntervalSince1970 * 1000).description)
    case .iso8601: try encode(text: date.formatted(.iso8601))
    case .formatted(let formatter): try encode(text: formatter.string(from: date))
    case .custom(let encode): try self.encode(text: try encode(date))
    }
  }

  private func encode(_ data: Data) throws {
    switch options.dataEncoding {
    case .deferredToData: try data.encode(to: self)
    case .base64: try encode(text: data.base64EncodedString())
    case .custom(let encode): try self.encode(text: try encode(data))
    }
  }
}
