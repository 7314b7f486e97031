import WeirHTTP
import WeirIO

/// Finds the route of a request, and the target to send to its upstream.
///
/// Routes that name the request's host are tried first, then the routes without a host. In each group, the longest
/// matching prefix wins. Immutable, so every worker reads it without a lock.
package struct RouteTable: Sendable {
  package enum Decision: Equatable, Sendable {
    /// `route` is an index into `routes`. The target has the request's own bytes, except for the path's prefix and
    /// normal form.
    case forward(route: Int, target: String)
    /// No route matches: 404.
    case noRoute
    /// The request's target is invalid: 400, with the reason.
    case badTarget(String)
  }

  package let routes: [Route]
  private let hosts: [UInt64: [HostGroup]]
  /// Whether a route's host is an address, which a request may write in another form.
  private let namesAddresses: Bool
  private let anyHost: [Entry]

  package init(_ routes: [Route]) {
    self.routes = routes
    let entries = routes.enumerated().map { Entry(route: $0.element, index: $0.offset) }
      .sorted { $0.prefix.count > $1.prefix.count }
    anyHost = entries.filter { routes[$0.route].match.host == nil }
    var hosts: [UInt64: [HostGroup]] = [:]
    for host in Set(routes.compactMap(\.match.host)) {
      let bytes = Array(host.utf8)
      let group = HostGroup(host: bytes, entries: entries.filter { routes[$0.route].match.host == host })
      hosts[Self.hash(bytes.span), default: []].append(group)
    }
    self.hosts = hosts
    namesAddresses = routes.contains { $0.match.host.map { IPAddress(host: $0) != nil } ?? false }
  }

  /// - Parameters:
  ///   - host: The Host field's value, if there is one. A target in absolute form overrides it (RFC 9112 §3.2.2).
  ///   - target: The request target as it arrived.
  ///   - isOptions: Whether the method is OPTIONS.
  package func decide(host: Span<UInt8>, target: Span<UInt8>, isOptions: Bool = false) -> Decision {
    guard !target.isEmpty else { return .badTarget("the target is empty") }
    if target[0] == UInt8(ascii: "/") { return decide(hostOf: host, originForm: target) }
    if target.count == 1, target[0] == UInt8(ascii: "*") { return decide(serverOf: host) }
    guard let authority = Self.authority(ofAbsoluteForm: target) else {
      return .badTarget("the target must begin with /")
    }
    let rest = target.extracting(authority.upperBound...)
    // `OPTIONS http://host` asks about the server, as `OPTIONS *` does (RFC 9112 §3.2.4).
    if rest.isEmpty, isOptions { return decide(serverOf: target.extracting(authority)) }
    return decide(hostOf: target.extracting(authority), originForm: rest)
  }

  /// `OPTIONS *` asks about a server as a whole. It goes to the route that has all paths of the host.
  private func decide(serverOf authority: Span<UInt8>) -> Decision {
    guard let entry = entry(hostOf: authority, path: [UInt8(ascii: "/")].span) else { return .noRoute }
    return .forward(route: entry.route, target: "*")
  }

  private func decide(hostOf authority: Span<UInt8>, originForm target: Span<UInt8>) -> Decision {
    let pathEnd = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
    let query = target.extracting(pathEnd...)
    for index in query.indices where query[index] <= 0x20 || query[index] == 0x7f || query[index] == UInt8(ascii: "#") {
      return .badTarget("the query must have no spaces, control characters and fragment")
    }
    let path = target.extracting(..<pathEnd)
    switch RequestPath.normalized(path) {
    case .refused(let reason): return .badTarget("the path \(reason)")
    case .unchanged where path.isEmpty: return forward(hostOf: authority, path: [UInt8(ascii: "/")].span, query: query)
    case .unchanged: return forward(hostOf: authority, path: path, query: query)
    case .changed(let path): return forward(hostOf: authority, path: path.span, query: query)
    }
  }

  private func forward(hostOf authority: Span<UInt8>, path: Span<UInt8>, query: Span<UInt8>) -> Decision {
    guard let entry = entry(hostOf: authority, path: path) else { return .noRoute }
    let rest = path.extracting((entry.strips ? entry.prefix.count : 0)...)
    return .forward(route: entry.route, target: entry.target(rest: rest, query: query))
  }

  private func entry(hostOf authority: Span<UInt8>, path: Span<UInt8>) -> Entry? {
    if !hosts.isEmpty {
      let host = authority.extracting(..<Self.hostLength(authority))
      let group = group(of: host) ?? groupOfAddress(host)
      if let entry = group?.entries.first(where: { $0.matches(path) }) { return entry }
    }
    return anyHost.first { $0.matches(path) }
  }

  private func group(of host: Span<UInt8>) -> HostGroup? {
    hosts[Self.hash(host)]?.first { host.equalsIgnoringCase($0.host.span) }
  }

  /// The group of an address in another form than the configuration's canonical one.
  private func groupOfAddress(_ host: Span<UInt8>) -> HostGroup? {
    guard namesAddresses else { return nil }
    let text = host.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    return IPAddress(host: text) == nil ? nil : group(of: Array(CanonicalHost(text).inURL.utf8).span)
  }
}

extension RouteTable {
  private struct HostGroup: Sendable {
    let host: [UInt8]
    let entries: [Entry]
  }

  /// One route, prepared for matching.
  private struct Entry: Sendable {
    let route: Int
    /// Empty for `/`, so that the rest of a path behind a matching prefix is empty or begins with a slash.
    let prefix: [UInt8]
    let base: [UInt8]
    let strips: Bool

    init(route: Route, index: Int) {
      self.route = index
      prefix = route.match.pathPrefix == "/" ? [] : Array(route.match.pathPrefix.utf8)
      base = Array(route.upstream.basePath.utf8)
      strips = route.stripPrefix
    }

    func matches(_ path: Span<UInt8>) -> Bool {
      guard path.count >= prefix.count else { return false }
      if path.count > prefix.count, path[prefix.count] != UInt8(ascii: "/") { return false }
      return path.extracting(..<prefix.count).equals(prefix.span)
    }

    func target(rest: Span<UInt8>, query: Span<UInt8>) -> String {
      // A stripped path may be empty. A target's path may not, unless it begins with the upstream's base path.
      let slash = rest.isEmpty && base.isEmpty
      let count = base.count + (slash ? 1 : 0) + rest.count + query.count
      return String(unsafeUninitializedCapacity: count) { buffer in
        var end = 0
        func append(_ bytes: Span<UInt8>) {
          for index in bytes.indices {
            buffer[end] = bytes[index]
            end += 1
          }
        }
        append(base.span)
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

  /// The length of the host at the beginning, without port and without the dot of a fully qualified name.
  private static func hostLength(_ authority: Span<UInt8>) -> Int {
    if !authority.isEmpty, authority[0] == UInt8(ascii: "["),
      let bracket = authority.firstIndex(of: UInt8(ascii: "]"))
    {
      return bracket + 1
    }
    let length = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.count
    return length > 1 && authority[length - 1] == UInt8(ascii: ".") ? length - 1 : length
  }

  /// FNV-1a of the lower-cased bytes. Only the configuration's hosts are in the table, so a client can't fill a bucket.
  private static func hash(_ bytes: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for index in bytes.indices { hash = (hash ^ UInt64(bytes[index].lowercased)) &* 0x100_0000_01b3 }
    return hash
  }
}
