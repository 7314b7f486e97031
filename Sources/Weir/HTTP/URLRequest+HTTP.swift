extension URLRequest {
  /// Makes a request; throws what the convertible throws.
  public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
    self.init(url: try url.asURL())
    // GET is what a fresh request has; each setter copies its storage.
    if method != .get { httpMethod = method.rawValue }
    if let headers, !headers.isEmpty { allHTTPHeaderFields = headers.dictionary }
  }

  /// The method, as a value.
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
