import WeirHTTP

/// A request method (RFC 9110 section 9).
///
/// The raw value is kept as given: methods are case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
  /// RFC 9110 section 9.3.6. `URLRequest.validate()` refuses it: weir makes tunnels itself.
  public static let connect = HTTPMethod(rawValue: "CONNECT")
  /// RFC 9110 section 9.3.5: idempotent.
  public static let delete = HTTPMethod(rawValue: "DELETE")
  /// RFC 9110 section 9.3.1: safe, without a body.
  public static let get = HTTPMethod(rawValue: "GET")
  /// RFC 9110 section 9.3.2: a GET whose response has no body.
  public static let head = HTTPMethod(rawValue: "HEAD")
  /// RFC 9110 section 9.3.7: safe.
  public static let options = HTTPMethod(rawValue: "OPTIONS")
  /// RFC 5789: neither safe nor idempotent.
  public static let patch = HTTPMethod(rawValue: "PATCH")
  /// RFC 9110 section 9.3.3: neither safe nor idempotent.
  public static let post = HTTPMethod(rawValue: "POST")
  /// RFC 9110 section 9.3.4: idempotent.
  public static let put = HTTPMethod(rawValue: "PUT")
  /// RFC 10008: safe, with a body.
  public static let query = HTTPMethod(rawValue: "QUERY")
  /// RFC 9110 section 9.3.8: safe, without a body.
  public static let trace = HTTPMethod(rawValue: "TRACE")

  public let rawValue: String

  /// Takes the method as it is; if it is not a token, the request is refused.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Whether the method is CONNECT in any spelling. CONNECT opens a tunnel, which no request may do. An upstream that
  /// compares methods case-insensitively would answer with a tunnel on a connection that other requests use next.
  package var isConnect: Bool {
    FieldSyntax.isSameName(rawValue, "connect")
  }
}
