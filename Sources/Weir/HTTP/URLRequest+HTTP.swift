import Foundation
public import FoundationNetworking
import WeirHTTP

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

  /// Throws ``WeirError/urlRequestValidationFailed(reason:)`` for what must not go on the wire.
  ///
  /// That is a GET with a body (also an empty one), a method that is no token, CONNECT, a field name that is no token and
  /// a field value with CR, LF or NUL (RFC 9110 sections 5.5, 5.6.2, 9.1, 9.3.6).
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
    guard let fields = allHTTPHeaderFields else { return nil }
    for (name, value) in fields where !FieldSyntax.isToken(name) || !FieldSyntax.isSendable(value) {
      return .invalidHeaderField(name: name)
    }
    return nil
  }
}
