import WeirHTTP
import WeirServer

// The upstreams that requests to a forward proxy name by their targets.

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
    let isSecure = head.withComponents { $0.target.count > 5 && $0.target.octets(0..<6).spells("https:") }
    return try upstream(of: head.authority, isSecure: isSecure)
  }

  /// - Parameters:
  ///   - authority: The host and port of the target.
  ///   - isSecure: Whether the target's scheme is https.
  func upstream(of authority: String, isSecure: Bool) throws(TargetRefusal) -> Upstream {
    var authority = authority[...]
    // An empty port is none (RFC 9110 §4.2.1).
    if authority.hasSuffix(":") { authority.removeLast() }
    let scheme = isSecure ? .https : scheme ?? .http
    if scheme == .https, !isSecure, authority.hasSuffix(":80") { authority.removeLast(3) }
    let upstream = try Upstream(scheme, requested: authority)
    if isSecure, self.scheme == .http { throw .forbidden(upstream, "only http:// URLs are requested here") }
    return try upstream.allowed(by: ports ?? [scheme.defaultPort])
  }
}

extension ConnectRule {
  /// The upstream of a tunnel, which is spoken to without TLS of our own.
  ///
  /// - Parameter authority: The target of the request, with a port.
  func upstream(of authority: String) throws(TargetRefusal) -> Upstream {
    try Upstream(.http, requested: authority[...]).allowed(by: ports)
  }
}

extension Upstream {
  fileprivate init(_ scheme: Scheme, requested authority: Substring) throws(TargetRefusal) {
    do {
      try self.init(scheme, authority: authority)
    } catch {
      throw .malformed("the target's authority is malformed: \(error.description)")
    }
  }

  fileprivate func allowed(by ports: Set<Int>) throws(TargetRefusal) -> Upstream {
    guard ports.contains(port) else { throw .forbidden(self, "the port is not allowed") }
    return self
  }
}
