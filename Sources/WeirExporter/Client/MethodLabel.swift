import Weir

/// The values of `http_request_method`.
enum MethodLabel {
  /// RFC 9110's methods and PATCH (RFC 5789); anything else could be made up by a caller's caller.
  static func of(_ method: HTTPMethod?) -> String {
    switch method?.rawValue {
    case nil, "GET": "GET"
    case .some(let name) where known.contains(name): name
    default: "_OTHER"
    }
  }

  /// How many there are, `_OTHER` included.
  static var count: Int { known.count + 1 }

  private static let known: Set<String> = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
  ]
}
