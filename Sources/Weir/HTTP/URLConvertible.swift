public import Foundation

/// What can be turned into a URL.
@preconcurrency
public protocol URLConvertible: Sendable {
  /// The URL, or a ``WeirError/invalidURL(url:)``.
  func asURL() throws -> URL
}

extension String: URLConvertible {
  public func asURL() throws -> URL {
    guard let url = URL(string: self) else { throw WeirError.invalidURL(url: self) }
    return url
  }
}

extension URL: URLConvertible {
  public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
  public func asURL() throws -> URL {
    guard let url else { throw WeirError.invalidURL(url: self) }
    return url
  }
}
