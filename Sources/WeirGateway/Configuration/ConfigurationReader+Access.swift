import WeirExporter
import WeirHTTP
import WeirIO

// The clients that may use a listener or a route, and the credentials that a route asks for.

extension ConfigurationReader {
  private static let mostNetworks = 1000
  private static let longestRealm = 256

  /// A list of networks and addresses, and of the word `unix`.
  func networks(atMost limit: Int) -> ClientNetworks? {
    guard let list = elements() else { return nil }
    if list.count > limit { report("holds \(list.count) networks; give at most \(limit)") }
    let texts = list.prefix(limit).compactMap { $0.read(as: .string, unless: Self.problem(network:)) }
    return try? ClientNetworks.parse(texts)
  }

  private static func problem(network text: String) -> String? {
    do {
      _ = try ClientNetworks.parse([text])
      return nil
    } catch {
      return error.description
    }
  }

  /// The networks of clients that are meant by a rule or a condition, of which there has to be one.
  func clients() -> ClientNetworks? {
    if case .sequence(let entries) = node.content, entries.isEmpty {
      report("holds no network; leave the key out for all clients")
      return nil
    }
    return networks(atMost: Self.mostNetworks)
  }

  func clientRules() -> ClientRules? {
    mapping { keys in
      let allow = keys.take("allow"), deny = keys.take("deny")
      if allow == nil, deny == nil { report("needs allow or deny: lists of networks, such as [10.0.0.0/8, unix]") }
      return ClientRules(allow: allow?.clients(), deny: deny?.clients() ?? ClientNetworks())
    }
  }

  /// The users and tokens of a route. No problem repeats a value.
  func auth() -> RouteAuth? {
    hidingValues.mapping { keys in
      var credentials = ReadCredentials()
      keys.take("basicUsers")?.users(into: &credentials)
      keys.take("bearerTokens")?.tokens(into: &credentials)
      if let file = keys.take("file") { file.credentialsOfFile(into: &credentials) }
      let realm = keys.take("realm", as: .string, unless: Self.problem(realm:))
      let forwards = keys.take("forward", as: .boolean)
      if !credentials.isAsked { report("names no user and no token; give basicUsers, bearerTokens or file") }
      guard let rules = try? AccessRules(credentials.access) else { return nil }
      return RouteAuth(rules: rules, realm: realm, forwards: forwards ?? false)
    }
  }

  private static func problem(realm: String) -> String? {
    if !realm.isEmpty, realm.utf8.count <= longestRealm, FieldSyntax.isValue(realm.utf8) { return nil }
    return "must be 1 to \(longestRealm) bytes of text without control characters and blanks at its ends"
  }

  /// Whether a user's name may be a hash, or a name and a hash without a blank between them. The path of a problem would
  /// show it.
  static func mayHoldHash(_ name: String) -> Bool { name.hasPrefix("$") || name.contains("$2") || name.contains(":") }

  static let hashInName =
    "names a user with a colon, or with a hash in the name's place; write NAME: HASH, with a blank behind the colon"

  /// A mapping of users' names to hashes of their passwords.
  private func users(into credentials: inout ReadCredentials) {
    credentials.isAsked = true
    guard let entries = isNull ? [] : entries() else { return }
    if entries.isEmpty { report("is empty, so nobody could log in; give a name and a bcrypt hash") }
    for (name, hash) in entries {
      guard !Self.mayHoldHash(name) else {
        report(Self.hashInName)
        continue
      }
      let problem = AccessControl.problem(userName: name)
      guard let hash = hash.read(as: .string, unless: { problem ?? AccessControl.problem(hash: $0) }) else { continue }
      if credentials.access.users.updateValue(hash, forKey: name) != nil {
        report("names user \(quoted(name)), who has a password already")
      }
    }
  }

  private func tokens(into credentials: inout ReadCredentials) {
    credentials.isAsked = true
    guard let tokens = isNull ? [] : elements() else { return }
    if tokens.isEmpty { report("is empty, so no token would do; give a token") }
    for token in tokens {
      if let token = token.read(as: .string, unless: AccessControl.problem(token:)) {
        credentials.access.bearerTokens.insert(token)
      }
    }
  }

  /// Reads users and tokens from the file that this value names, in the words of Prometheus' exporter-toolkit. The file's
  /// problems are reported at this value, with their own places.
  private func credentialsOfFile(into credentials: inout ReadCredentials) {
    credentials.isAsked = true
    guard let file = read(as: .string, unless: { $0.hasPrefix("/") ? nil : "give an absolute path" }) else { return }
    do {
      let found = try ConfigurationFile.parse(
        ConfigurationFile.bytes(of: file, noting: findings.reads), file: file, acceptsEmpty: true, quotesValues: false
      ) { root in
        root.mapping { keys -> ReadCredentials? in
          for key in ["tls_server_config", "http_server_config", "basic_auth_excluded_paths", "rate_limit"] {
            keys.misplaced[key] = "a route takes only basic_auth_users and bearer_tokens"
          }
          var found = credentials
          found.isAsked = false
          keys.take("basic_auth_users")?.users(into: &found)
          keys.take("bearer_tokens")?.tokens(into: &found)
          if !found.isAsked {
            root.report("names no user and no token; give basic_auth_users or bearer_tokens")
          }
          return found
        }
      }
      credentials = found
    } catch {
      for line in error.lines { report(line) }
    }
  }
}

/// The credentials of a route as far as they were read.
private struct ReadCredentials {
  var access = AccessControl()
  /// Whether some were written, even if they have problems.
  var isAsked = false
}
