import WeirHTTP

/// A request method (RFC 9110 section 9).
///
/// The raw value is kept as given: methods are case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
  /// RFC 9110 section 9.3.6. Refused by `URLRequest.validate()`: weir makes tunnels by itself.
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
  /// A safe method with a body (draft-ietf-httpbis-safe-method-w-body).
  public static let query = HTTPMethod(rawValue: "QUERY")
  /// RFC 9110 section 9.3.8: safe, without a body.
  public static let trace = HTTPMethod(rawValue: "TRACE")

  /// The idempotent ones (RFC 9110 section 9.2.2).
  static let idempotent: Set<HTTPMethod> = [.delete, .get, .head, .options, .put, .trace]

  public let rawValue: String

  /// Takes the method as it is; one that is no token is refused with the request.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Whether it is CONNECT in some spelling. It opens a tunnel, and is none of the requests that can be made: an upstream
  /// that takes methods in any case would answer with a tunnel on a connection that others use next.
  package var isConnect: Bool {
    FieldSyntax.isSameName(rawValue, "connect")
  }
}
