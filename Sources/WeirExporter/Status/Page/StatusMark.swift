/// How well a route, an upstream, an endpoint or a credential does: a level, and words for it.
struct StatusMark: Equatable {
  enum Level: Comparable {
    case bad, warning, good
    /// Nothing was asked of it for five minutes, or of a credential since its last value expired.
    case quiet

    /// The class of elements.
    var name: String { "\(self)" }
  }

  var level: Level
  var words: String

  /// The words with the level's shape and colour before them.
  var html: HTML { "<span class=\"m \(level.name)\">\(words, most: 40)</span>" }

  /// The same as a cell of a table.
  var cell: HTML { "<td class=\"m \(level.name)\">\(words, most: 40)" }

  init(_ level: Level, _ words: String) {
    self.level = level
    self.words = words
  }

  init(_ route: StatusReport.Route, problems: [String: StatusProblem.Severity]) {
    self = Self.traffic(route.traffic).atLeast(problems, about: route.name)
  }

  init(_ upstream: StatusReport.Upstream, problems: [String: StatusProblem.Severity]) {
    let states = upstream.isInUse ? [upstream.circuit, upstream.loadControl].compactMap(\.self) : []
    let pause = upstream.pausedFor.map { _ in Self(.warning, "paused") }
    let marks = states.compactMap { Self.troubles[$0] } + [pause, Self.endpoints(upstream)].compactMap(\.self)
    let traffic = Self.traffic(upstream.traffic)
    // Among equals the first, since a state says more than the traffic.
    let worst = (marks + [traffic]).min { $0.level < $1.level } ?? traffic
    self = worst.atLeast(problems, about: upstream.name)
  }

  init(_ endpoint: StatusReport.Endpoint) {
    switch endpoint.state {
    case "available": self.init(endpoint.failures10s > 0 ? .warning : .good, "available")
    case "slow_start": self.init(.good, "slow start")
    case "ejected", "unhealthy": self.init(.bad, endpoint.state)
    default: self.init(.quiet, endpoint.state)
    }
  }

  /// A value that is missing without a failure was not asked for yet, or is on its way.
  init(_ credential: StatusReport.Credential) {
    switch credential.state {
    case "good": self.init(.good, "good")
    case "failing": self.init(.warning, "failing")
    case "missing": self.init(credential.failure == nil ? .quiet : .bad, "missing")
    default: self.init(.quiet, credential.state)
    }
  }

  private static func traffic(_ traffic: StatusReport.Traffic) -> Self {
    switch level(traffic.last10s) {
    case .bad: return Self(.bad, "failing")
    case .warning: return Self(.warning, "some failures")
    case .good, .quiet: return traffic.last5m.requests == 0 ? Self(.quiet, "quiet") : Self(.good, "in order")
    }
  }

  private static func level(_ window: StatusReport.Window) -> Level {
    if window.failed >= 3, Double(window.failed) >= Double(window.requests) / 10 { return .bad }
    return window.failed > 0 ? .warning : .good
  }

  /// The attribute of the part of requests that failed; none if none did.
  static func failed(_ window: StatusReport.Window) -> HTML {
    let level = level(window)
    return HTML.when(level < .good, " class=\"\(level.name)\"")
  }

  /// The states of a circuit or of load control that are trouble.
  private static let troubles = [
    "open": Self(.bad, "circuit open"), "half_open": Self(.warning, "circuit half open"),
    "overloaded": Self(.bad, "overloaded"), "silent": Self(.bad, "does not answer"),
  ]

  private static func endpoints(_ upstream: StatusReport.Upstream) -> Self? {
    let out = upstream.endpoints.count { $0.state == "ejected" || $0.state == "unhealthy" }
    guard out > 0 else { return nil }
    return Self(
      out == upstream.endpoints.count ? .bad : .warning, "\(out) of \(upstream.endpoints.count) endpoints out")
  }

  /// The worst severity of the problems of each subject. A credential may have the name of an upstream that is well.
  static func worst(_ problems: [StatusProblem]) -> [String: StatusProblem.Severity] {
    let others = problems.filter { $0.kind != .credential }
    return Dictionary(others.map { ($0.subject, $0.severity) }) { min($0, $1) }
  }

  /// A subject of a problem is never shown as if all were well.
  private func atLeast(_ problems: [String: StatusProblem.Severity], about name: String) -> Self {
    guard let worst = problems[name] else { return self }
    let level: Level = worst == .bad ? .bad : .warning
    return level < self.level ? Self(level, self.level == .warning ? words : "see above") : self
  }
}
