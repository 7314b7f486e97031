/// A part of a configuration with the place it came from.
///
/// `value` is nil when the part could not be read. Its problem is then on the decoder's list, and decoding goes on, so
/// that one run reports everything that is wrong.
struct Located<Value: Decodable & Sendable>: Decodable, Sendable {
  let value: Value?
  let position: SourcePosition?
  let path: ConfigurationPath

  init(from decoder: any Decoder) throws {
    path = ConfigurationPath(decoder.codingPath)
    guard let decoder = decoder as? YAMLNodeDecoder else {
      value = try Value(from: decoder)
      position = nil
      return
    }
    position = decoder.node.position
    value = decoder.ledger.attempt { try Value(from: decoder) }
  }

  func problem(_ message: String) -> ConfigurationProblem {
    ConfigurationProblem(at: position, path: path, message)
  }
}

/// A mapping from names to values, in the order of the file.
struct LocatedMap<Value: Decodable & Sendable>: Decodable, Sendable {
  let entries: [(key: String, value: Located<Value>)]

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: YAMLCodingKey.self)
    entries = try container.allKeys.map { key in
      (key.stringValue, try container.decode(Located<Value>.self, forKey: key))
    }
  }
}
