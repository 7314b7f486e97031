import WeirExporter
import WeirHTTP

// The clients that may use a listener or a route, and the credentials that a route asks for.

extension ClientRules {
  static let form = ConfigurationMapping(
    ClientRules(),
    rules: [.some(["allow", "deny"], "needs allow or deny: lists of networks, such as [10.0.0.0/8, unix]")]
  ) {
    Key("allow", ClientNetworks.some, \.allow, "all other clients are refused", missing: .words("all clients"))
    Key("deny", ClientNetworks.some, \.deny, "takes precedence over `allow`")
  }.form()
}

extension ClientNetworks {
  /// The networks of clients that are meant by a rule or a condition, of which there has to be one.
  static let some = form(1...1000, empty: "holds no network; leave the key out for all clients")

  /// Networks, addresses, and the word `unix`.
  static func form(_ counts: ClosedRange<Int>, empty: String? = nil) -> ConfigurationForm<ClientNetworks> {
    let network = ConfigurationShape.named("networks, addresses or `unix`", .text(nil))
    return ConfigurationForm(.list(of: network, counts)) { reader in
      let list = reader.elements(0...counts.upperBound, "networks", empty: empty)
      guard let list, empty == nil || !list.isEmpty else { return nil }
      let parts = list.compactMap { element in element.parse { try parse([$0]) } }
      return ClientNetworks(parts.flatMap(\.networks), unix: parts.contains(where: \.unix))
    }
  }
}

extension RouteAuth {
  /// The users and tokens of a route. No problem repeats a value.
  static let form: ConfigurationForm<RouteAuth> = ConfigurationMapping(
    ReadAuth(),
    rules: [
      .some(
        ["basicUsers", "bearerTokens", "file"], "names no user and no token; give basicUsers, bearerTokens or file")
    ]
  ) {
    Key(
      "basicUsers", .users, "users, and bcrypt hashes of their passwords, of cost 4 to 15: `htpasswd -nBC 10 NAME`"
    ) { $0.users(into: &$1.access.users) }
    Key("bearerTokens", .tokens, "tokens: letters, digits and `-._~+/`, with `=` only at the end") {
      $0.tokens(into: &$1.access.bearerTokens)
    }
    Key(
      "file", .named("path", .text("^/")),
      """
      an absolute path: a file with more users and tokens, in `basic_auth_users` and `bearer_tokens` \
      ([access.md](access.md#with-the-program))
      """
    ) { $0.credentialsOfFile(into: &$1) }
    Key(
      "realm", .text(unless: problem(realm:)), \.realm,
      "1 to \(longestRealm) bytes: the realm that clients show or keep credentials for",
      missing: .words("the route's name"))
    Key("forward", .boolean, \.forwards, "`true`: the upstream gets the client's `Authorization`")
  }.form { auth, _ in
    (try? AccessRules(auth.access)).map { RouteAuth(rules: $0, realm: auth.realm, forwards: auth.forwards) }
  }.secret

  private static let longestRealm = 256

  private static func problem(realm: String) -> String? {
    if !realm.isEmpty, realm.utf8.count <= longestRealm, FieldSyntax.isValue(realm.utf8) { return nil }
    return "must be 1 to \(longestRealm) bytes of text without control characters and blanks at its ends"
  }
}

/// The credentials of a route as far as they were read.
private struct ReadAuth {
  var access = AccessControl()
  var realm: String?
  var forwards = false

  /// A file with users and tokens, in the words of Prometheus' exporter-toolkit.
  static let file = ConfigurationMapping(
    ReadAuth(),
    misplaced: Dictionary(
      uniqueKeysWithValues: ["tls_server_config", "http_server_config", "basic_auth_excluded_paths", "rate_limit"]
        .map { ($0, "a route takes only basic_auth_users and bearer_tokens") }),
    rules: [
      .some(
        ["basic_auth_users", "bearer_tokens"],
        "names no user and no token; give basic_auth_users or bearer_tokens")
    ]
  ) {
    Key("basic_auth_users", .users) { $0.users(into: &$1.access.users) }
    Key("bearer_tokens", .tokens) { $0.tokens(into: &$1.access.bearerTokens) }
  }
}

extension ConfigurationShape {
  static let users = named("name: hash", .entries(of: .text(nil), 1...Int.max))
  static let tokens = list(of: .text("^[A-Za-z0-9._~+/-]+=*$"), 1...Int.max)
}

extension ConfigurationReader {
  /// Reads a mapping of users' names to hashes of their passwords.
  ///
  /// - Parameter empty: The problem of a mapping without any.
  func users(
    into users: inout [String: String],
    empty: String = "is empty, so nobody could log in; give a name and a bcrypt hash"
  ) -> Bool {
    guard let entries = isNull ? [] : entries() else { return false }
    if entries.isEmpty { report(empty) }
    for (name, hash) in entries {
      // The name may be a hash, or a name and a hash without a blank between them. The path of a problem would show it.
      guard !name.hasPrefix("$"), !name.contains("$2"), !name.contains(":") else {
        report(
          "names a user with a colon, or with a hash in the name's place; write NAME: HASH, with a blank behind the colon"
        )
        continue
      }
      let problem = AccessControl.problem(userName: name)
      guard let hash = hash.read(as: .string, unless: { problem ?? AccessControl.problem(hash: $0) }) else { continue }
      if users.updateValue(hash, forKey: name) != nil {
        report("names user \(quoted(name)), who has a password already")
      }
    }
    return true
  }

  /// Reads a list of tokens.
  func tokens(into tokens: inout Set<String>, empty: String = "is empty, so no token would do; give a token") -> Bool {
    guard let elements = isNull ? [] : elements() else { return false }
    if elements.isEmpty { report(empty) }
    for element in elements {
      if let token = element.read(as: .string, unless: AccessControl.problem(token:)) { tokens.insert(token) }
    }
    return true
  }

  /// Reads users and tokens from the file that this value names. The file's problems are reported at this value, with
  /// their own places.
  fileprivate func credentialsOfFile(into auth: inout ReadAuth) -> Bool {
    guard let file = ConfigurationForm.file.read(self) else { return false }
    do {
      auth = try ConfigurationFile.parse(
        ConfigurationFile.bytes(of: file, noting: findings.reads), file: file, acceptsEmpty: true, quotesValues: false
      ) { root -> ReadAuth? in
        guard let entries = root.mappingEntries() else { return nil }
        var found = auth
        _ = ReadAuth.file.read(root, entries, into: &found)
        return found
      }
      return true
    } catch {
      for line in error.lines { report(line) }
      return false
    }
  }
}
