/// The routes of a table, prepared so that few of them are looked at for a request. Immutable. It is a class because a
/// copy of its many arrays would cost more than a decision.
final class RouteIndex: Sendable {
  /// The routes in the order of their precedence.
  private let entries: [RouteEntry]
  private let hosts: HostIndex
  /// The paths of each group of hosts, which have their places in `entries`.
  private let paths: [PathTree]

  init(_ routes: [Route]) {
    let order = routes.indices.sorted {
      routes[$0].match.precedence(at: $0) < routes[$1].match.precedence(at: $1)
    }
    entries = order.map { RouteEntry(routes[$0], index: $0) }
    let hosts = HostIndex(routes.flatMap(\.match.hosts))
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
