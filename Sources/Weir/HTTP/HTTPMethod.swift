import WeirHTTP

/// A request method (RFC 9110 section 9).
///
/// The raw value is kept as given: methods are case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
  public static let connect = HTTPMethod(rawValue: "CONNECT")
  public static let delete = HTTPMethod(rawValue: "DELETE")
  public static let get = HTTPMethod(rawValue: "GET")
  public static let head = HTTPMethod(rawValue: "HEAD")
  public static let options = HTTPMethod(rawValue: "OPTIONS")
  public static let patch = HTTPMethod(rawValue: "PATCH")
  public static let post = HTTPMethod(rawValue: "POST")
  public static let put = HTTPMethod(rawValue: "PUT")
  /// A safe method with a body (draft-ietf-httpbis-safe-method-w-body).
  public static let query = HTTPMethod(rawValue: "QUERY")
  public static let trace = HTTPMethod(rawValue: "TRACE")

  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Whether it is CONNECT in some spelling. It opens a tunnel, and is none of the requests that can be made: an upstream
  /// that takes methods in any case would answer with a tunnel on a connection that others use next.
  package var isConnect: Bool {
    FieldSyntax.isSameName(rawValue, "connect")
  }
}
