import WeirExporter
import WeirHTTP
import WeirIO

// The clients that may use a listener or a route, and the credentials that a route asks for.

extension ClientRules {
  static let form = ConfigurationForm<ClientRules>.mapping(
    ClientRules(),
    rules: [.some(["allow", "deny"], "needs allow or deny: lists of networks, such as [10.0.0.0/8, unix]")]
  ) {
    Key("allow", ClientNetworks.some, \.allow, "all other clients are refused", missing: .words("all clients"))
    Key("deny", ClientNetworks.some, \.deny, "takes precedence over `allow`")
  }
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
      let texts = list.compactMap { $0.read(as: .string, unless: problem(network:)) }
      return try? parse(texts)
    }
  }

  private static func problem(network text: String) -> String? {
    do {
      _ = try parse([text])
      return nil
    } catch {
      return error.description
    }
  }
}

extension RouteAuth {
  /// The users and tokens of a route. No problem repeats a value.
  static let form = ConfigurationForm<RouteAuth>.mapping(
    ReadAuth(),
    rules: [
      .some(
        ["basicUsers", "bearerTokens", "file"], "names no user and no token; give basicUsers, bearerTokens or file")
    ]
  ) {
    Key(
      "basicUsers", .named("name: hash", .entries(of: .text(nil), 1...Int.max)),
      "users, and bcrypt hashes of their passwords, of cost 4 to 15: `htpasswd -nBC 10 NAME`"
    ) { $0.users(into: &$1) }
    Key(
      "bearerTokens", .list(of: .text("^[A-Za-z0-9._~+/-]+=*$"), 1...Int.max),
      "tokens: letters, digits and `-._~+/`, with `=` only at the end"
    ) { $0.tokens(into: &$1) }
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
  } finish: { auth, _ in
    (try? AccessRules(auth.access)).map { RouteAuth(rules: $0, realm: auth.realm, forwards: auth.forwards) }
  }.hidden

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
}

extension ConfigurationReader {
  /// Whether a user's name may be a hash, or a name and a hash without a blank between them. The path of a problem would
  /// show it.
  static func mayHoldHash(_ name: String) -> Bool { name.hasPrefix("$") || name.contains("$2") || name.contains(":") }

  static let hashInName =
    "names a user with a colon, or with a hash in the name's place; write NAME: HASH, with a blank behind the colon"

  /// Reads a mapping of users' names to hashes of their passwords.
  fileprivate func users(into auth: inout ReadAuth) -> Bool {
    guard let entries = isNull ? [] : entries() else { return false }
    if entries.isEmpty { report("is empty, so nobody could log in; give a name and a bcrypt hash") }
    for (name, hash) in entries {
      guard !Self.mayHoldHash(name) else {
        report(Self.hashInName)
        continue
      }
      let problem = AccessControl.problem(userName: name)
      guard let hash = hash.read(as: .string, unless: { problem ?? AccessControl.problem(hash: $0) }) else { continue }
      if auth.access.users.updateValue(hash, forKey: name) != nil {
        report("names user \(quoted(name)), who has a password already")
      }
    }
    return true
  }

  fileprivate func tokens(into auth: inout ReadAuth) -> Bool {
    guard let tokens = isNull ? [] : elements() else { return false }
    if tokens.isEmpty { report("is empty, so no token would do; give a token") }
    for token in tokens {
      if let token = token.read(as: .string, unless: AccessControl.problem(token:)) {
        auth.access.bearerTokens.insert(token)
      }
    }
    return true
  }

  /// Reads users and tokens from the file that this value names, in the words of Prometheus' exporter-toolkit. The file's
  /// problems are reported at this value, with their own places.
  fileprivate func credentialsOfFile(into auth: inout ReadAuth) -> Bool {
    guard let file = ConfigurationForm.file.read(self) else { return false }
    do {
      auth = try ConfigurationFile.parse(
        ConfigurationFile.bytes(of: file, noting: findings.reads), file: file, acceptsEmpty: true, quotesValues: false
      ) { root in
        root.mapping { keys -> ReadAuth? in
          for key in ["tls_server_config", "http_server_config", "basic_auth_excluded_paths", "rate_limit"] {
            keys.misplaced[key] = "a route takes only basic_auth_users and bearer_tokens"
          }
          var found = auth
          let users = keys.take("basic_auth_users"), tokens = keys.take("bearer_tokens")
          _ = users?.users(into: &found)
          _ = tokens?.tokens(into: &found)
          if users == nil, tokens == nil {
            root.report("names no user and no token; give basic_auth_users or bearer_tokens")
          }
          return found
        }
      }
      return true
    } catch {
      for line in error.lines { report(line) }
      return false
    }
  }
}
