/// The routes that take the same requests as another one, and those that no request reaches.
struct RouteConflicts {
  struct Repetition: Equatable {
    let route: Int
    let first: Int
    /// The host for which both take the same requests; nil for every host.
    let host: String?
  }

  struct Shadow: Equatable {
    let route: Int
    /// The last of the routes that take all of its requests before it.
    let by: Int
  }

  private(set) var repetitions: [Repetition] = []
  private(set) var shadows: [Shadow] = []

  /// A match, and the targets of the requests that its route takes.
  typealias Subject = (match: RouteMatch, targets: RouteTargets)

  /// - Parameter matches: The matches in the order of the file.
  init(_ matches: [Subject]) {
    var groups: [String: [Int]] = [:]
    for (route, subject) in matches.enumerated() {
      let hosts = subject.match.hosts
      for host in hosts.isEmpty ? [""] : hosts { groups[host, default: []].append(route) }
    }
    var shadows: [Int: [Int]] = [:]
    for (host, group) in groups.sorted(by: { $0.key < $1.key }) {
      note(repetitionsIn: group, of: matches, host: host.isEmpty ? nil : host)
      for (route, by) in Self.shadows(in: group, of: matches) { shadows[route, default: []].append(by) }
    }
    let repeated = Set(repetitions.map(\.route))
    for (route, subject) in matches.enumerated() where !repeated.contains(route) {
      // A route is reached if it is for one of its hosts.
      guard let by = shadows[route], by.count == max(1, subject.match.hosts.count) else { continue }
      self.shadows.append(Shadow(route: route, by: by.max() ?? 0))
    }
    repetitions.sort { ($0.route, $0.host ?? "") < ($1.route, $1.host ?? "") }
  }

  private mutating func note(repetitionsIn group: [Int], of matches: [Subject], host: String?) {
    var first: [RouteTargets: [RouteMatch: Int]] = [:]
    for route in group {
      var (match, targets) = matches[route]
      match.hosts = []
      if let first = first[targets]?[match] {
        repetitions.append(Repetition(route: route, first: first, host: host))
      } else {
        first[targets, default: [:]][match] = route
      }
    }
  }

  /// The routes of one host that no request reaches, each with the last of those before it that take its requests. A
  /// route that comes before another one and covers its path has as many fixed octets, since it has no fewer and a
  /// wider path has no more.
  private static func shadows(in group: [Int], of matches: [Subject]) -> [(route: Int, by: Int)] {
    let order = group.map { (route: $0, rank: matches[$0].match.precedence(at: $0)) }.sorted { $0.rank < $1.rank }
    var result: [(route: Int, by: Int)] = []
    var start = 0
    for (place, (route, rank)) in order.enumerated() {
      if (order[start].rank.0, order[start].rank.1) != (rank.0, rank.1) { start = place }
      let (match, targets) = matches[route]
      var methods = match.methods
      for (earlier, _) in order[start..<place] {
        let (before, others) = matches[earlier]
        guard others.cover(targets), before.covers(match) else { continue }
        methods.subtract(before.methods)
        guard before.methods.isEmpty || !match.methods.isEmpty && methods.isEmpty else { continue }
        result.append((route, earlier))
        break
      }
    }
    return result
  }
}
