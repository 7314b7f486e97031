import WeirHTTP
package import WeirServer
package import WeirTransport

/// Finds the route of a request, and the target to send to its upstream.
///
/// Routes that name the request's host are tried first, then those with a wildcard, from the longest to the shortest,
/// then the routes without a host. In each group the order is that of ``RouteMatch/precedence(at:)``. Immutable, so
/// every worker reads it without a lock. It is a class for the reason of ``RouteIndex``.
package final class RouteTable: Sendable {
  package enum Decision: Equatable, Sendable {
    /// `route` is an index into `routes`. The target has the request's own bytes, except for the path's prefix and
    /// normal form. It lacks the upstream's base path where the route has several upstreams
    /// (``Upstream/target(of:)``). `operation` is the most specific of the route's that the path matches.
    case forward(route: Int, target: String, operation: NamedOperation? = nil)
    case redirect(route: Int, location: String)
    case respond(route: Int)
    /// The request is for a tunnel to the host and port of its target.
    case connect(route: Int)
    /// No route matches: 404.
    case noRoute
    /// The request's target is invalid: 400, with the reason.
    case badTarget(String)
  }

  package let routes: [Route]
  private let index: RouteIndex
  /// The routes for targets in absolute form at forward proxies.
  private let proxied: RouteIndex
  /// The routes for CONNECT at forward proxies.
  private let tunnels: RouteIndex

  package init(_ routes: [Route]) {
    self.routes = routes
    index = RouteIndex(routes, for: [.all])
    let hasProxied = routes.contains { $0.action.targets == .absolute }
    proxied = hasProxied ? RouteIndex(routes, for: [.all, .absolute]) : index
    tunnels = RouteIndex(routes, for: [.tunnels])
  }

  /// Decides about a request of a sender of whom nothing is known. For MeasureDecisions: the generic function is slower from
  /// another module, where it is not specialised.
  package func decide(_ head: RequestHead) -> Decision {
    head.withComponents { components in
      decide(
        method: components.method.bindMemory(to: UInt8.self).span,
        host: components.authority.bindMemory(to: UInt8.self).span,
        target: components.target.bindMemory(to: UInt8.self).span, fields: head.fields)
    }
  }

  /// - Parameters:
  ///   - method: The request's method.
  ///   - host: The Host field's value, if there is one. A target in absolute form overrides it (RFC 9112 §3.2.2).
  ///   - target: The request target as it arrived.
  ///   - fields: The header fields as they arrived.
  func decide(
    method: Span<UInt8>, host: Span<UInt8>, target: Span<UInt8>, fields: some FieldSource,
    from sender: some RequestSender = UnknownSender()
  ) -> Decision {
    guard !target.isEmpty else { return .badTarget("the target is empty") }
    if target[0] == .slash { return decide(method, hostOf: host, originForm: target, fields, sender, index) }
    if target.count == 1, target[0] == UInt8(ascii: "*") {
      return decide(method, serverOf: host, fields, sender, index)
    }
    guard let authority = Self.authority(ofAbsoluteForm: target) else {
      if sender.isForwardProxy, method.equals("CONNECT") { return decide(method, tunnelTo: target, fields, sender) }
      return .badTarget("the target must begin with /")
    }
    let index = sender.isForwardProxy ? proxied : self.index
    let rest = target.extracting(authority.upperBound...)
    // `OPTIONS http://host` asks about the server, as `OPTIONS *` does (RFC 9112 §3.2.4).
    if rest.isEmpty, method.equals("OPTIONS") {
      return decide(method, serverOf: target.extracting(authority), fields, sender, index)
    }
    return decide(method, hostOf: target.extracting(authority), originForm: rest, fields, sender, index)
  }

  /// The target of CONNECT is a host and a port (RFC 9112 §3.2.3), as the server has seen.
  private func decide(
    _ method: Span<UInt8>, tunnelTo authority: Span<UInt8>, _ fields: some FieldSource, _ sender: some RequestSender
  ) -> Decision {
    decide(method, authority, path: [UInt8.slash].span, [UInt8]().span, fields, sender, tunnels)
  }

  /// `OPTIONS *` asks about a server as a whole. It goes to the route that has all paths of the host.
  private func decide(
    _ method: Span<UInt8>, serverOf authority: Span<UInt8>, _ fields: some FieldSource, _ sender: some RequestSender,
    _ index: RouteIndex
  ) -> Decision {
    let entry = index.entry(hostOf: authority, path: [UInt8.slash].span) {
      $0.takes(method: method, fields: fields, query: [UInt8]().span, from: sender)
    }
    return entry?.decision(aboutServer: authority) ?? .noRoute
  }

  private func decide(
    _ method: Span<UInt8>, hostOf authority: Span<UInt8>, originForm target: Span<UInt8>, _ fields: some FieldSource,
    _ sender: some RequestSender, _ index: RouteIndex
  ) -> Decision {
    let pathEnd = target.firstIndex(of: .questionMark) ?? target.count
    let query = target.extracting(pathEnd...)
    for index in query.indices where query[index] <= 0x20 || query[index] == 0x7f || query[index] == UInt8(ascii: "#") {
      return .badTarget("the query must have no spaces, control characters and fragment")
    }
    let path = target.extracting(..<pathEnd)
    switch RequestPath.normalized(path) {
    case .refused(let reason): return .badTarget("the path \(reason)")
    case .unchanged where path.isEmpty:
      return decide(method, authority, path: [UInt8.slash].span, query, fields, sender, index)
    case .unchanged: return decide(method, authority, path: path, query, fields, sender, index)
    case .changed(let path): return decide(method, authority, path: path.span, query, fields, sender, index)
    }
  }

  private func decide(
    _ method: Span<UInt8>, _ authority: Span<UInt8>, path: Span<UInt8>, _ query: Span<UInt8>,
    _ fields: some FieldSource, _ sender: some RequestSender, _ index: RouteIndex
  ) -> Decision {
    // Two spellings of an encoded octet are one path (RFC 3986 §6.2.2.1). The upstream gets the request's own.
    if let spelled = RequestPath.withUpperCaseEncoding(path) {
      return decide(method, authority, matching: spelled.span, path: path, query, fields, sender, index)
    }
    return decide(method, authority, matching: path, path: path, query, fields, sender, index)
  }

  private func decide(
    _ method: Span<UInt8>, _ authority: Span<UInt8>, matching spelled: Span<UInt8>, path: Span<UInt8>,
    _ query: Span<UInt8>, _ fields: some FieldSource, _ sender: some RequestSender, _ index: RouteIndex
  ) -> Decision {
    var hasTooManyItems = false
    let entry = index.entry(hostOf: authority, path: spelled) { entry in
      if entry.looksAtQuery, !hasTooManyItems { hasTooManyItems = Self.exceedsItems(query) }
      return hasTooManyItems || entry.takes(method: method, fields: fields, query: query, from: sender)
    }
    if hasTooManyItems { return .badTarget("the query has more than \(Self.mostItems) items") }
    guard let entry else { return .noRoute }
    return entry.decision(authority, path: path, query: query, operation: entry.operation(method, spelled))
  }

  /// The most items of a query that routes look at: each of them may have to look at each item.
  private static let mostItems = 100

  private static func exceedsItems(_ query: Span<UInt8>) -> Bool {
    var items = 1
    var start = query.firstIndex(of: UInt8(ascii: "&"), from: 0)
    while let found = start, items <= mostItems {
      items += 1
      start = query.firstIndex(of: UInt8(ascii: "&"), from: found + 1)
    }
    return items > mostItems
  }

  /// The authority's range in `http://authority/path`. Nil for any other text, and for an authority with user
  /// information, which RFC 9110 §4.2.4 calls an error.
  private static func authority(ofAbsoluteForm target: Span<UInt8>) -> Range<Int>? {
    let start = target.withUnsafeBytes { $0.begins(with: "http://") ? 7 : $0.begins(with: "https://") ? 8 : nil }
    guard let start else { return nil }
    var end = start
    while end < target.count, target[end] != .slash, target[end] != .questionMark {
      if target[end] == UInt8(ascii: "@") { return nil }
      end += 1
    }
    return end > start ? start..<end : nil
  }
}

/// The routes of a table, prepared so that few of them are looked at for a request. Immutable. It is a class because a
/// copy of its many arrays would cost more than a decision.
final class RouteIndex: Sendable {
  /// The routes in the order of their precedence.
  private let entries: [RouteEntry]
  private let hosts: HostIndex
  /// The paths of each group of hosts, which have their places in `entries`.
  private let paths: [PathTree]

  /// - Parameter targets: The index is of the routes that take one of these.
  init(_ routes: [Route], for targets: [RouteTargets]) {
    let order = routes.indices.filter { targets.contains(routes[$0].action.targets) }.sorted {
      routes[$0].match.precedence(at: $0) < routes[$1].match.precedence(at: $1)
    }
    entries = order.map { RouteEntry(routes[$0], index: $0) }
    let hosts = HostIndex(order.flatMap { routes[$0].match.hosts })
    self.hosts = hosts
    var paths = [[(path: PathMatch, place: Int)]](repeating: [], count: hosts.count)
    for (place, index) in order.enumerated() {
      let match = routes[index].match
      for group in match.hosts.isEmpty ? [HostIndex.anyHost] : match.hosts.compactMap(hosts.group(named:)) {
        paths[group].append((match.path, place))
      }
    }
    self.paths = paths.map { PathTree($0) }
  }

  /// The first route in the order of hosts and precedence whose path matches and that `takes` accepts.
  func entry(
    hostOf authority: Span<UInt8>, path: Span<UInt8>, where takes: (RouteEntry) -> Bool
  ) -> RouteEntry? {
    var group = hosts.group(of: authority)
    while group >= 0 {
      if let place = paths[group].first(of: path, where: { takes(entries[$0]) }) { return entries[place] }
      group = hosts.next(after: group)
    }
    return nil
  }
}
