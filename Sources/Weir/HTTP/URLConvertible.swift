import WeirHTTP

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

extension URLRequest {
  /// Creates a request; throws the convertible's error.
  public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
    self.init(url: try url.asURL(), method: method.rawValue, headers: headers ?? [:])
  }

  init(url: URL, method: String, headers: HTTPHeaders) {
    self.init(url: url)
    // A new request already has the method GET; each setter copies the request's storage.
    if method != "GET" { httpMethod = method }
    if !headers.isEmpty { allHTTPHeaderFields = headers.dictionary }
  }

  /// The method as an ``HTTPMethod``.
  public var method: HTTPMethod? {
    get { httpMethod.map(HTTPMethod.init(rawValue:)) }
    set { httpMethod = newValue?.rawValue }
  }

  /// The header fields, in no meaningful order; setting replaces them all.
  public var headers: HTTPHeaders {
    get { allHTTPHeaderFields.map(HTTPHeaders.init) ?? HTTPHeaders() }
    set { allHTTPHeaderFields = newValue.dictionary }
  }
}

extension URL {
  /// The URL of a text, or of a reference to be resolved, whose octets are percent-encoded where they must be.
  ///
  /// It takes the place of `init(string:)`, which encodes the escapes of a text once more if it has to encode anything.
  package init?(text: String, relativeTo base: URL? = nil) {
    self.init(string: URLSyntax.wellFormed(text), relativeTo: base)
  }
}

extension Destination {
  /// The destination of a URL; nil if it has no host.
  public init?(url: URL) {
    guard let host = url.host(percentEncoded: false), !host.isEmpty, let scheme = url.scheme else { return nil }
    self.init(scheme: scheme, host: host, port: url.port ?? Self.defaultPort(of: scheme.lowercased()))
  }
}

extension Redaction {
  /// The URL without its userinfo, for errors, which callers may print.
  package static func url(_ url: URL) -> URL {
    let text = url.absoluteString
    guard text.utf8.contains(UInt8(ascii: "@")) else { return url }
    return URL(string: urls(in: text).replacing("\(placeholder)@", with: "")) ?? url
  }
}
