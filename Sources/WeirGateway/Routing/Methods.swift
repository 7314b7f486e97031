import WeirHTTP

/// Request methods as labels (RFC 9110 §9, RFC 5789 and RFC 10008). They are a fixed set, since a client can make up any other
/// method.
enum KnownMethod: UInt8, CaseIterable, Sendable {
  case connect
  case delete
  case get
  case head
  case options
  case patch
  case post
  case put
  case query
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
    case "QUERY": self = .query
    default: self = .other
    }
  }

  /// Whether a request with the method `name`, which became this one, is a CONNECT. Any spelling counts, since the
  /// upstream may accept it.
  func isConnect(_ name: String) -> Bool {
    self == .connect || self == .other && FieldSyntax.isSameName(name, "connect")
  }

  var label: String { self == .other ? "_OTHER" : "\(self)".uppercased() }
}

/// The request methods in IANA's registry (RFC 9110 §16.1).
///
/// Any other token is a method too. It is only more likely to be a typing mistake.
enum RegisteredMethod {
  static let names: Set<String> = [
    "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LABEL",
    "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "OPTIONS",
    "ORDERPATCH", "PATCH", "POST", "PRI", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH",
    "TRACE", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
  ]

  /// The reason why a configuration can't name the method; nil if it can.
  @Sendable static func problem(_ method: String) -> String? {
    let upper = method.uppercased()
    if !FieldSyntax.isToken(method) { return "\(quoted(method)) is not a method name" }
    return method != upper && KnownMethod(upper) != .other ? "methods are case-sensitive; write \(upper)" : nil
  }

  /// The reason to look at the method again; nil without one.
  static func warning(of method: String) -> String? {
    if names.contains(method) { return nil }
    let guess = suggestion(for: method, among: names)
    let hint = guess.map { "did you mean \(quoted($0))?" } ?? "it is taken as written"
    return "\(quoted(method)) is not a registered method; \(hint)"
  }
}
