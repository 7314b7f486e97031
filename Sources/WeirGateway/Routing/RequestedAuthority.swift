import WeirServer

/// Why the target of a request to a forward proxy leads nowhere.
enum TargetRefusal: Error, Equatable {
  /// It names no host and port: 400, with the reason.
  case malformed(String)
  /// The configuration does not let requests go there: 403, with the reason.
  case forbidden(Upstream, String)
}

extension RequestedUpstream {
  /// The upstream that a request in absolute form names.
  func upstream(of head: RequestHead) throws(TargetRefusal) -> Upstream {
    try Upstream(scheme ?? .http, requested: head.authority)
  }
}

extension ConnectRule {
  /// The upstream of a tunnel, which is spoken to without TLS of our own.
  func upstream(of authority: String) throws(TargetRefusal) -> Upstream { try Upstream(.http, requested: authority) }
}

extension Upstream {
  fileprivate init(_ scheme: Scheme, requested authority: String) throws(TargetRefusal) {
    do {
      try self.init(parsing: "\(scheme.rawValue)://\(authority)")
    } catch {
      throw .malformed("the target's authority is malformed: \(error.description)")
    }
  }
}
