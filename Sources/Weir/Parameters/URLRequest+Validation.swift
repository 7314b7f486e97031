import WeirHTTP

extension URLRequest {
  /// Throws ``WeirError/urlRequestValidationFailed(reason:)`` for a request that must not be sent.
  ///
  /// Such a request is a GET with a body (even an empty one), or CONNECT, or has a method or field name that is not a
  /// token, or a field value with CR, LF or NUL (RFC 9110 sections 5.5, 5.6.2, 9.1, 9.3.6).
  public func validate() throws {
    if let reason = validationFailure { throw WeirError.urlRequestValidationFailed(reason: reason) }
  }

  private var validationFailure: WeirError.URLRequestValidationFailureReason? {
    let method = httpMethod ?? "GET"
    if method == "GET" {
      if let body = httpBody { return .bodyDataInGETRequest(body) }
    } else if !FieldSyntax.isToken(method) || HTTPMethod(rawValue: method).isConnect {
      return .invalidMethod(method)
    }
    return allHTTPHeaderFields?.lazy.compactMap { HTTPHeader(name: $0, value: $1).validationFailure }.first
  }
}

extension HTTPHeaders {
  /// Throws ``WeirError/urlRequestValidationFailed(reason:)`` if a field must not be sent.
  func validate() throws {
    for field in self {
      if let reason = field.validationFailure { throw WeirError.urlRequestValidationFailed(reason: reason) }
    }
  }
}

extension HTTPHeader {
  fileprivate var validationFailure: WeirError.URLRequestValidationFailureReason? {
    FieldSyntax.isToken(name) && FieldSyntax.isSendable(value) ? nil : .invalidHeaderField(name: name)
  }
}

extension String: URLConvertible {
  public func asURL() throws -> URL {
    guard let url = URL(text: self) else { throw WeirError.invalidURL(url: self) }
    return url
  }
}

extension URLComponents: URLConvertible {
  public func asURL() throws -> URL {
    guard let url else { throw WeirError.invalidURL(url: self) }
    return url
  }
}
