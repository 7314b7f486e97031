public import Foundation

/// Decodes a value from a body.
@preconcurrency
public protocol DataDecoder: Sendable {
  func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: DataDecoder {}

extension PropertyListDecoder: DataDecoder {}
