import WeirHTTP

/// Request methods as labels (RFC 9110 §9 and RFC 5789): a client can make up any other.
enum KnownMethod: UInt8, CaseIterable, Sendable {
  case connect
  case delete
  case get
  case head
  case options
  case patch
  case post
  case put
  case trace
  case other

  init(_ name: String) {
    switch name {
    case "GET": self = .get
    case "POST": self = .post
    case "PUT": self = .put
    case "DELETE": self = .delete
    case "HEAD": self = .head
    case "PATCH": self = .patch
    case "OPTIONS": self = .options
    case "CONNECT": self = .connect
    case "TRACE": self = .trace
    default: self = .other
    }
  }

  /// Whether a method that has become this one is CONNECT, in whatever spelling: the upstream may take it in any.
  func isConnect(_ name: String) -> Bool {
    self == .connect || self == .other && FieldSyntax.isSameName(name, "connect")
  }

  var label: String { self == .other ? "_OTHER" : "\(self)".uppercased() }
}

/// The request methods that somebody has defined: IANA's registry (RFC 9110 §16.1), and QUERY, whose RFC is to come.
///
/// Any other token is a method too. It is only more likely to be a slip.
enum RegisteredMethod {
  static let names: Set<String> = [
    "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LABEL",
    "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "OPTIONS",
    "ORDERPATCH", "PATCH", "POST", "PRI", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH",
    "TRACE", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
  ]
}
