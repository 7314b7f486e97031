/// A type with a value for "no body".
@preconcurrency
public protocol EmptyResponse: Sendable {
  static func emptyValue() -> Self
}

/// The value of a response without a body, for decodable handlers.
public struct Empty: Hashable, Codable, Sendable, EmptyResponse {
  public static let value = Empty()

  public static func emptyValue() -> Empty { value }
}
