/// The requests that a route takes. All conditions must hold.
package struct RouteMatch: Sendable, Hashable {
  /// The hosts, in canonical form and without port; `*.example.com` stands for one label or more before it. Empty
  /// matches every host.
  package var hosts: [String] = []
  package var path: PathMatch
  /// The methods, which are case-sensitive. Empty matches every method.
  package var methods: Set<String> = []
  /// The conditions on header fields, by name in lower case.
  package var headers: [[UInt8]: ValueCondition] = [:]
  /// The conditions on the query's items, by name.
  package var query: [[UInt8]: ValueCondition] = [:]
  /// The clients, sorted; nil for all.
  var clients: ClientNetworks?
  /// The names of the listeners. Empty matches every listener.
  var listeners: Set<String> = []

  package init(host: String? = nil, pathPrefix: String = "/") {
    hosts = host.map { [$0] } ?? []
    path = .prefix(pathPrefix)
  }
}

/// A condition on a value that a request may have several times: as a header field, or as an item of its query. One
/// value that fulfils it is enough. Values are compared as octets.
package enum ValueCondition: Sendable, Hashable {
  case equals([UInt8])
  case prefix([UInt8])
  case present(Bool)

  /// Whether the condition holds for every request for which `other` holds.
  func isImplied(by other: ValueCondition) -> Bool {
    switch (self, other) {
    case (.prefix(let start), .equals(let value)), (.prefix(let start), .prefix(let value)): value.starts(with: start)
    case (.present(true), .equals), (.present(true), .prefix): true
    default: self == other
    }
  }
}

extension RouteMatch {
  /// The place of a route among those of one host; the least is tried first. The order is that of Kubernetes' Gateway
  /// API (HTTPRouteRule): an exact path, then most fixed octets, and no further segments; methods; more header fields; more query items; then
  /// more of `clients` and `listener`, which that has not; the order of the file.
  func precedence(at order: Int) -> (Int, Int, Int, Int, Int, Int) {
    let ofSender = (clients == nil ? 0 : 1) + (listeners.isEmpty ? 0 : 1)
    return (
      path.isExact ? 0 : 1, -path.weight, methods.isEmpty ? 1 : 0, -headers.count, -(3 * query.count + ofSender), order
    )
  }

  /// Whether this match takes all requests that `other` takes, apart from hosts and methods.
  func covers(_ other: RouteMatch) -> Bool {
    path.covers(other.path) && Self.isImplied(headers, by: other.headers) && Self.isImplied(query, by: other.query)
      && coversSenders(of: other)
  }

  private func coversSenders(of other: RouteMatch) -> Bool {
    if let clients, !(other.clients.map { clients.contains($0) } ?? false) { return false }
    return listeners.isEmpty || !other.listeners.isEmpty && other.listeners.isSubset(of: listeners)
  }

  private static func isImplied(
    _ conditions: [[UInt8]: ValueCondition], by others: [[UInt8]: ValueCondition]
  ) -> Bool {
    conditions.allSatisfy { name, condition in others[name].map { condition.isImplied(by: $0) } ?? false }
  }
}
