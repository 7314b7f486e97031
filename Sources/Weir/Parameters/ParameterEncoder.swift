public import FoundationNetworking

/// Puts an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
  /// The request with the parameters; unchanged when they are nil.
  func encode<Parameters: Encodable & Sendable>(
    _ parameters: Parameters?, into request: URLRequest
  ) throws -> URLRequest
}
