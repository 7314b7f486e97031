import WeirHTTP

// The conditions of a route, and how the matches of several routes relate.

extension ConfigurationBuilder {
  private static let maximumHosts = 32
  private static let maximumConditions = 16
  /// Keys that might be looked for in a match.
  private static let misplacedInMatches = [
    "name", "redirect", "replacePrefix", "respond", "responseHeaders", "rewriteHost", "stripPrefix", "timeout",
    "upstream",
  ]

  mutating func match(_ reader: ConfigurationReader) -> RouteMatch? {
    reader.mapping { keys in
      for key in Self.misplacedInMatches { keys.misplaced[key] = "it belongs into the route" }
      var match = RouteMatch()
      if let hosts = keys.take("host") { match.hosts = Self.hosts(hosts) }
      if let path = Self.path(&keys) { match.path = path }
      if let methods = keys.take("methods") { match.methods = self.methods(methods) }
      if let fields = keys.take("headers") { match.headers = Self.conditions(fields, areFields: true) }
      if let items = keys.take("query") { match.query = Self.conditions(items, areFields: false) }
      match.clients = keys.take("clients").flatMap { $0.clients()?.sorted }
      if let names = keys.take("listener") { match.listeners = listenerNames(names) }
      return match
    }
  }

  private static func hosts(_ reader: ConfigurationReader) -> [String] {
    guard case .sequence = reader.node.content else { return [host(reader)].compactMap(\.self) }
    let list = reader.elements() ?? []
    if !(1...maximumHosts).contains(list.count) {
      reader.report("holds \(list.count) hosts; give 1 to \(maximumHosts)")
    }
    var hosts: [String] = []
    for element in list {
      guard let host = host(element) else { continue }
      if hosts.contains(host) { element.report("\(quoted(host)) is already in this list") }
      hosts.append(host)
    }
    return hosts
  }

  private static func host(_ reader: ConfigurationReader) -> String? {
    reader.read(as: .string, unless: { RouteHost.problem($0) }).map(RouteHost.normalized)
  }

  private static func path(_ keys: inout ConfigurationKeys) -> PathMatch? {
    let exact = keys.take("path"), prefix = keys.take("pathPrefix"), pattern = keys.take("pathPattern")
    let given = [exact, prefix, pattern].compactMap(\.self).sorted { $0.node.position < $1.node.position }
    if given.count > 1 { given[1].report("give only one of path, pathPrefix and pathPattern") }
    return exact?.read(as: .string, unless: PathPrefix.problem).map(PathMatch.exact)
      ?? prefix?.read(as: .string, unless: PathPrefix.problem).map(PathMatch.prefix)
      ?? pattern?.read(as: .string, unless: PathMatch.problem(ofPattern:)).map(PathMatch.pattern)
  }

  private mutating func methods(_ reader: ConfigurationReader) -> Set<String> {
    guard let list = reader.elements() else { return [] }
    if list.isEmpty { reader.report("holds no method; leave the key out to match every method") }
    var methods: Set<String> = []
    for element in list {
      guard let method = method(element) else { continue }
      if KnownMethod(method).isConnect(method) { element.report("the gateway refuses CONNECT in every route") }
      if !methods.insert(method).inserted { element.report("\(method) is already in this list") }
    }
    return methods
  }

  /// - Parameter areFields: Whether the names are those of header fields.
  private static func conditions(
    _ reader: ConfigurationReader, areFields: Bool
  ) -> [[UInt8]: ValueCondition] {
    guard let entries = reader.entries() else { return [:] }
    if !(1...maximumConditions).contains(entries.count) {
      reader.report("holds \(entries.count) names; give 1 to \(maximumConditions)")
    }
    var conditions: [[UInt8]: ValueCondition] = [:]
    for (name, value) in entries {
      if let problem = areFields ? problem(matchedField: name) : name.isEmpty ? "an item needs a name" : nil {
        value.report(problem)
      }
      guard let condition = value.condition(isOfField: areFields) else { continue }
      let previous = conditions.updateValue(
        condition, forKey: Array((areFields ? FieldSyntax.lowercased(name) : name).utf8))
      if previous != nil { value.report("the same field is already in this mapping") }
    }
    return conditions
  }

  private static func problem(matchedField name: String) -> String? {
    if FieldSyntax.isSameName(name, "host") { return "match.host decides about the host" }
    return FieldSyntax.isToken(name) ? nil : "\(quoted(name)) is not a field name"
  }

  /// Reports routes that take the same requests, and warns of those that nothing reaches.
  mutating func compare(_ matches: [ReadMatch]) {
    let conflicts = RouteConflicts(matches.map(\.match))
    for repetition in conflicts.repetitions {
      let match = matches[repetition.route].match
      let host = match.hosts.count > 1 ? repetition.host.map { " of host \($0)" } ?? "" : ""
      matches[repetition.route].report("takes the same requests\(host) as \(matches[repetition.first].place)")
    }
    for shadow in conflicts.shadows {
      let last = matches[shadow.by].place
      warn(matches[shadow.route].reader, "is never reached: \(last), or others before it, takes all of its requests")
    }
  }
}

/// A match that could be read, with its place in the file.
struct ReadMatch {
  let match: RouteMatch
  /// The value of the match, or the route if it has none.
  let reader: ConfigurationReader
  let isImplied: Bool
  let name: String?

  /// The words for this route in a problem of another one.
  var place: String {
    let route = name.map { "route \(quoted($0))" } ?? "an earlier route"
    return "\(route) (line \(reader.node.position.line), column \(reader.node.position.column))"
  }

  func report(_ message: String) { reader.report(message, key: isImplied ? "match" : nil) }
}

extension ConfigurationReader {
  /// A value to equal, or a mapping with another condition.
  fileprivate func condition(isOfField: Bool) -> ValueCondition? {
    guard case .mapping = node.content else {
      var kind = ConfigurationKind.string
      kind.name = "a string, { prefix: text } or { present: true }"
      return read(as: kind) { isOfField && !FieldSyntax.isValue($0.utf8) ? Self.noFieldValue : nil }
        .map { .equals(Array($0.utf8)) }
    }
    return mapping { keys in
      let prefix = keys.take("prefix"), present = keys.take("present")
      if (prefix == nil) == (present == nil) { report("needs one of prefix and present") }
      let start = prefix?.read(as: .string) { text in
        if text.isEmpty { return "is empty; write { present: true } for every value" }
        // A prefix may end with the blank that a whole value may not end with.
        return isOfField && !FieldSyntax.isValue((text + "x").utf8) ? Self.noFieldValue : nil
      }
      return start.map { .prefix(Array($0.utf8)) } ?? present?.read(as: .boolean).map { .present($0) }
    }
  }

  private static let noFieldValue = "no field has such a value: it holds control characters or blanks at its ends"
}
