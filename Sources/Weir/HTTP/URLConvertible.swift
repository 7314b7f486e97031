/// A type that can be turned into a URL.
@preconcurrency
public protocol URLConvertible: Sendable {
  /// The URL, or a ``WeirError/invalidURL(url:)``.
  func asURL() throws -> URL
}

extension URL: URLConvertible {
  public func asURL() throws -> URL { self }
}

/// A type that can be turned into a URL request.
@preconcurrency
public protocol URLRequestConvertible: Sendable {
  /// The request; any error becomes ``WeirError/createURLRequestFailed(error:)`` unless it is a ``WeirError``.
  func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
  /// The request, or nil if ``asURLRequest()`` throws.
  public var urlRequest: URLRequest? { try? asURLRequest() }
}

extension URLRequest: URLRequestConvertible {
  public func asURLRequest() throws -> URLRequest { self }
}
