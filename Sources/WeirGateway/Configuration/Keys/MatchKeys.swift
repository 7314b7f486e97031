import WeirHTTP

// The conditions of a route.

/// A match as it was read.
struct ReadMatch {
  var match = RouteMatch()
  var exact: String?
  var prefix: String?
  var pattern: String?

  static let form: ConfigurationForm<RouteMatch> = mapping.form { read, _ in
    let path =
      read.exact.map(PathMatch.exact) ?? read.prefix.map(PathMatch.prefix) ?? read.pattern.map(PathMatch.pattern)
    if let path { read.match.path = path }
    return read.match
  }

  private static let mostHosts = 32
  private static let mostConditions = 16

  static let mapping = ConfigurationMapping(
    ReadMatch(), misplaced: misplaced,
    rules: [.atMostOne(["path", "pathPrefix", "pathPattern"])]
  ) {
    Key(
      "host", hosts, \.match.hosts,
      """
      up to \(mostHosts) without port, in any case, addresses in any form, with or without brackets: `host: \
      api.example.com`, `host: [shop.example.com, "*.shop.example.com"]`. `*.` stands for one label or more
      """, missing: .words("every host"))
    Key(
      "path", .path, \.exact,
      "exactly this path, at most 2048 bytes: `path: /healthz`; only one of `path`, `pathPrefix` and `pathPattern`")
    Key(
      "pathPrefix", .path, \.prefix,
      "whole segments: `/v1` takes `/v1` and `/v1/x`, not `/v10`; at most 2048 bytes", missing: .words("`/`"))
    Key(
      "pathPattern", .text("^/", unless: PathMatch.problem(ofPattern:)).called("pattern"), \.pattern,
      """
      `pathPattern: /users/*/orders/**`: `*` is one segment that is not empty, `**` at the end any number of \
      segments or none; at most 2048 bytes
      """)
    Key(
      "methods", methods, \.match.methods,
      "case-sensitive; `HEAD` is not `GET`: `methods: [GET, HEAD]`", missing: .words("every method"))
    Key(
      "headers", conditions(areFields: true), \.match.headers,
      """
      header fields: `headers: { X-Env: canary, Authorization: { prefix: "Bearer " }, X-Debug: { present: false } }`
      """)
    Key(
      "query", conditions(areFields: false), \.match.query,
      """
      items of the query: `query: { version: "2", trace: { present: true } }`
      """)
    Key(
      "clients", ClientNetworks.some.map { $0.sorted }, \.match.clients,
      "`clients: [10.0.0.0/8, unix]` ([limits.md](limits.md#access))", missing: .words("all clients"))
    Key(
      late: "listener", .either([.named("name", .text(nil)), .list(of: .text(nil), 1...Int.max)]),
      """
      the names of listeners by which requests come: `listener: internal`. A listener is renamed in two reloads, the \
      first of which names both: its open connections keep the old name
      """, missing: .words("every listener"))
  }

  private static let misplaced = Dictionary(
    uniqueKeysWithValues: [
      "connect", "name", "redirect", "replacePrefix", "respond", "responseHeaders", "rewriteHost", "stripPrefix",
      "timeout",
      "upstream",
    ].map { ($0, "it belongs into the route") })

  private static let hosts: ConfigurationForm<[String]> = {
    let host = ConfigurationForm.text(unless: { RouteHost.problem($0) }).called("host name").map {
      RouteHost.normalized($0)
    }
    let list = ConfigurationForm.list(of: host, 1...mostHosts, "hosts", unlike: \.self) { host, _ in
      "\(quoted(host)) is already in this list"
    }
    return ConfigurationForm(.either([host.shape, list.shape])) { reader in
      if case .sequence = reader.node.content { return list.read(reader) }
      return [host.read(reader)].compactMap(\.self)
    }
  }()

  private static let methods = ConfigurationForm<Set<String>>(
    .list(of: ConfigurationForm.method.shape, 1...Int.max)
  ) { reader in
    var methods: Set<String> = []
    let list = reader.elements(
      0...Int.max, "methods", empty: "holds no method; leave the key out to match every method")
    for element in list ?? [] {
      guard let method = ConfigurationForm.method.read(element) else { continue }
      if KnownMethod(method).isConnect(method) { element.report("CONNECT is taken by routes with connect") }
      if !methods.insert(method).inserted { element.report("\(method) is already in this list") }
    }
    return methods
  }

  /// - Parameter areFields: Whether the names are those of header fields.
  private static func conditions(areFields: Bool) -> ConfigurationForm<[[UInt8]: ValueCondition]> {
    let counts = 1...mostConditions
    let condition = condition(isOfField: areFields)
    return ConfigurationForm(.named("name: condition", .entries(of: condition.shape, counts))) { reader in
      guard let entries = reader.entries(counts, "names") else { return nil }
      var conditions: [[UInt8]: ValueCondition] = [:]
      for (name, value) in entries {
        if let problem = areFields ? problem(matchedField: name) : name.isEmpty ? "an item needs a name" : nil {
          value.report(problem)
        }
        guard let condition = condition.read(value) else { continue }
        let previous = conditions.updateValue(
          condition, forKey: Array((areFields ? FieldSyntax.lowercased(name) : name).utf8))
        if previous != nil { value.report("the same field is already in this mapping") }
      }
      return conditions
    }
  }

  private static func problem(matchedField name: String) -> String? {
    if FieldSyntax.isSameName(name, "host") { return "match.host decides about the host" }
    return FieldSyntax.isToken(name) ? nil : "\(quoted(name)) is not a field name"
  }

  /// A value to equal, or a mapping with another condition.
  private static func condition(isOfField: Bool) -> ConfigurationForm<ValueCondition> {
    let noFieldValue = "no field has such a value: it holds control characters or blanks at its ends"
    let mapping = ConfigurationMapping(
      ReadCondition(), rules: [.one(["prefix", "present"], "needs one of prefix and present")]
    ) {
      Key(
        "prefix",
        .text("[\\s\\S]") { text in
          if text.isEmpty { return "is empty; write { present: true } for every value" }
          // A prefix may end with the blank that a whole value may not end with.
          return isOfField && !FieldSyntax.isValue((text + "x").utf8) ? noFieldValue : nil
        }, \.prefix,
        "how the value begins\(isOfField ? "; in place of a whole value" : "")")
      Key(
        "present", .boolean, \.present,
        "whether there is such \(isOfField ? "a field" : "an item"), whatever its value")
    }
    let rule: ConfigurationForm<ValueCondition> = mapping.form { read, _ in
      read.prefix.map { .prefix(Array($0.utf8)) } ?? read.present.map { .present($0) }
    }
    return ConfigurationForm(.either([.text(nil), rule.shape])) { reader in
      if case .mapping = reader.node.content { return rule.read(reader) }
      var kind = ConfigurationKind.string
      kind.name = "a string, { prefix: text } or { present: true }"
      return reader.read(as: kind) { isOfField && !FieldSyntax.isValue($0.utf8) ? noFieldValue : nil }
        .map { .equals(Array($0.utf8)) }
    }
  }
}

private struct ReadCondition {
  var prefix: String?
  var present: Bool?
}

extension ConfigurationForm<String> {
  /// A method's name, with a warning if it is not registered.
  static var method: Self {
    let method = text(unless: RegisteredMethod.problem)
    return Self(method.shape, text: method.text) { reader in
      guard let name = method.read(reader) else { return nil }
      if let warning = RegisteredMethod.warning(of: name) { reader.warn(warning) }
      return name
    }
  }
}
