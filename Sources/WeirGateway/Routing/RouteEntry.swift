import WeirHTTP
import WeirTransport

/// One route, prepared for matching, and for the target or the location that it makes of a request's.
final class RouteEntry: Sendable {
  private enum Work {
    /// The path that is put before the rest of the request's. If the upstream's base path is put before that when the
    /// upstream is known, the whole may be empty.
    case forward(base: [UInt8], isComplete: Bool)
    case redirect(RedirectLocation)
    case respond
    case connect
  }

  /// An index into the table's routes.
  private let route: Int
  private let conditions: MatchConditions
  /// The length of the path's part that the route drops.
  private let dropped: Int
  private let work: Work
  /// Nil without operations.
  private let operations: RouteOperations?

  init(_ route: Route, index: Int) {
    self.route = index
    conditions = MatchConditions(route.match)
    operations = RouteOperations(route.operations)
    var replacement = route.replacePrefix.map(PathPrefix.normalized)
    var drops = route.stripPrefix || replacement != nil
    switch route.action {
    case .upstream, .split:
      let base = route.joinsBaseLate ? "" : route.upstream?.basePath ?? ""
      work = .forward(
        base: Array((base + PathPrefix.joinable(replacement ?? "/")).utf8), isComplete: !route.joinsBaseLate)
    case .requested: work = .forward(base: Array(PathPrefix.joinable(replacement ?? "/").utf8), isComplete: true)
    case .connect: work = .connect
    case .redirect(let redirect):
      if case .prefix(let prefix) = redirect.path {
        replacement = prefix
        drops = true
      }
      work = .redirect(RedirectLocation(redirect))
    case .respond: work = .respond
    }
    dropped = drops && route.match.path.isPrefix ? route.match.path.octets : 0
  }

  var looksAtQuery: Bool { conditions.lookAtQuery }

  /// Whether the route takes a request whose host and path match.
  func takes(
    method: Span<UInt8>, fields: some FieldSource, query: Span<UInt8>, from sender: some RequestSender
  ) -> Bool {
    conditions.isEmpty || conditions.hold(method: method, fields: fields, query: query, from: sender)
  }

  /// The operation of a request that the route takes; nil if it has none.
  ///
  /// - Parameter path: In the form in which paths are compared.
  func operation(_ method: Span<UInt8>, _ path: Span<UInt8>) -> NamedOperation? { operations?.find(method, path) }

  /// The decision about a request that the route takes.
  ///
  /// - Parameters:
  ///   - authority: The host and port that the client asked for.
  ///   - query: Empty, or a question mark and what follows it.
  func decision(
    _ authority: Span<UInt8>, path: Span<UInt8>, query: Span<UInt8>, operation: NamedOperation? = nil
  ) -> RouteTable.Decision {
    switch work {
    case .forward(let base, let isComplete):
      let target = Self.target(
        base: base.span, rest: path.extracting(dropped...), query: query, mayBeEmpty: !isComplete)
      return .forward(route: route, target: target, operation: operation)
    case .redirect(let location):
      guard let text = location.text(authority, rest: path.extracting(dropped...), query: query) else {
        return .badTarget("a redirect needs the host that the request is meant for")
      }
      return .redirect(route: route, location: text)
    case .respond: return .respond(route: route)
    case .connect: return .connect(route: route)
    }
  }

  /// The decision about `OPTIONS *`, which asks about a server as a whole.
  func decision(aboutServer authority: Span<UInt8>) -> RouteTable.Decision {
    if case .forward = work { return .forward(route: route, target: "*") }
    return decision(authority, path: [UInt8.slash].span, query: [UInt8]().span)
  }

  private static func target(
    base: Span<UInt8>, rest: Span<UInt8>, query: Span<UInt8>, mayBeEmpty: Bool
  ) -> String {
    // A stripped path may be empty. A target's path may not, unless it begins with the upstream's base path.
    let slash = rest.isEmpty && base.isEmpty && !mayBeEmpty
    let count = base.count + (slash ? 1 : 0) + rest.count + query.count
    return String(unsafeUninitializedCapacity: count) { buffer in
      var end = 0
      func append(_ bytes: Span<UInt8>) {
        for index in bytes.indices {
          buffer[end] = bytes[index]
          end += 1
        }
      }
      append(base)
      if slash {
        buffer[end] = UInt8(ascii: "/")
        end += 1
      }
      append(rest)
      append(query)
      return end
    }
  }
}

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
