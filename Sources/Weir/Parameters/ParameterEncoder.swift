public import FoundationNetworking

/// Puts an `Encodable` value into a request.
@preconcurrency
public protocol ParameterEncoder: Sendable {
  /// The request with the parameters; unchanged when they are nil.
  @preconcurrency
  func encode<Parameters: Encodable & Sendable>(
    _ parameters: Parameters?, into request: URLRequest
  ) throws -> URLRequest
}
