extension URLRequest {
  /// Creates a request; throws the convertible's error.
  public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
    self.init(url: try url.asURL())
    // A new request already has the method GET; each setter copies the request's storage.
    if method != .get { httpMethod = method.rawValue }
    if let headers, !headers.isEmpty { allHTTPHeaderFields = headers.dictionary }
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
