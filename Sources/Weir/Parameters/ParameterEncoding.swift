public import FoundationNetworking

/// Parameters by name, for a ``ParameterEncoding``.
public typealias Parameters = [String: any Any & Sendable]

/// Puts a dictionary of parameters into a request.
@preconcurrency
public protocol ParameterEncoding: Sendable {
  /// The request with the parameters, or ``WeirError/parameterEncodingFailed(reason:)``.
  func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest
}
