import WeirHTTP

/// The location that a redirect makes of a request's (RFC 9110 §10.2.2). It always begins with scheme and host: a path
/// such as `//example.org` would name another host.
struct RedirectLocation: Sendable {
  private let scheme: [UInt8]
  /// The host and port; nil if they are the request's.
  private let host: [UInt8]?
  /// The port, with its colon, behind the request's host; nil if it is the request's too.
  private let port: [UInt8]?
  /// The path, or what is put before the rest of it.
  private let base: [UInt8]
  private let keepsRest: Bool
  private let keepsQuery: Bool

  init(_ redirect: RouteRedirect) {
    let scheme = redirect.scheme ?? .http
    let port = redirect.port.flatMap { $0 == scheme.defaultPort ? nil : ":\($0)" } ?? ""
    self.scheme = Array("\(scheme.rawValue)://".utf8)
    host = redirect.host.map { Array(($0 + port).utf8) }
    // The request's port belongs to its scheme.
    self.port = redirect.port == nil && redirect.scheme == nil ? nil : Array(port.utf8)
    switch redirect.path {
    case .unchanged: (base, keepsRest) = ([], true)
    case .replaced(let path): (base, keepsRest) = (Array(path.utf8), false)
    case .prefix(let prefix): (base, keepsRest) = (Array(PathPrefix.joinable(prefix).utf8), true)
    }
    keepsQuery = redirect.keepQuery
  }

  /// - Parameters:
  ///   - authority: The host and port that the client asked for.
  ///   - rest: The part of the request's path behind what is replaced.
  ///   - query: Empty, or a question mark and what follows it.
  /// - Returns: nil if the request names no host and the redirect needs one.
  func text(_ authority: Span<UInt8>, rest: Span<UInt8>, query: Span<UInt8>) -> String? {
    var text = scheme
    text.reserveCapacity(text.count + 64 + base.count + rest.count + query.count)
    if let host {
      text += host
    } else {
      let length = RequestAuthority.hostLength(authority)
      if length == 0 { return nil }
      text.append(authority.extracting(..<length))
      if let port { text += port } else { text.append(authority.extracting(RequestAuthority.port(authority))) }
    }
    let start = text.count
    text += base
    if keepsRest { text.append(rest) }
    if text.count == start { text.append(.slash) }
    if keepsQuery { text.append(query) }
    return text.withUnsafeBytes { URLSyntax.wellFormed($0) }
  }
}
