/// An ``AccessControl`` that was checked and is valid.
package struct AccessRules: Sendable {
  let users: [[UInt8]: BcryptHash]
  /// Whether there are users, beside tokens.
  package var hasUsers: Bool { !users.isEmpty }
  /// The tokens as bytes, sorted by their text.
  let tokens: [[UInt8]]
  /// The paths that everybody may see.
  let excludedPaths: Set<String>
  /// The hash to check for an unknown name, so that it takes as long as a known one: the most expensive of all users'
  /// hashes.
  let decoy: BcryptHash?

  package init(_ access: AccessControl) throws(ExporterError) {
    guard !access.users.isEmpty || !access.bearerTokens.isEmpty else {
      throw .invalidAccess("names no user and no token, so nobody could see a page; leave it nil to let everybody in")
    }
    var users: [[UInt8]: BcryptHash] = [:]
    for (name, hash) in access.users {
      if let problem = AccessControl.problem(userName: name) { throw .invalidAccess(problem) }
      do throws(BcryptHash.Problem) {
        users[Array(name.utf8)] = try BcryptHash(hash)
      } catch {
        throw .invalidAccess("user \(name.debugDescription): \(error)")
      }
    }
    for token in access.bearerTokens {
      if let problem = AccessControl.problem(token: token) { throw .invalidAccess(problem) }
    }
    for path in access.excludedPaths {
      if let problem = AccessControl.problem(excludedPath: path) { throw .invalidAccess(problem) }
    }
    self.users = users
    excludedPaths = access.excludedPaths
    tokens = access.bearerTokens.sorted().map { Array($0.utf8) }
    decoy = users.values.max { $0.cost < $1.cost }
  }

  /// The challenges of a 401 response, one for each scheme that could be used (RFC 9110 §11.6.1).
  package func challenges(realm: String) -> [String] {
    let quoted = realm.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
    return (users.isEmpty ? [] : ["Basic realm=\"\(quoted)\", charset=\"UTF-8\""])
      + (tokens.isEmpty ? [] : ["Bearer realm=\"\(quoted)\""])
  }

  /// Whether the time of an answer could reveal user names.
  package var hasMixedCosts: Bool { Set(users.values.map(\.cost)).count > 1 }

  func accepts(token: [UInt8]) -> Bool {
    // All tokens are compared, whether or not one has matched, so that the time reveals nothing.
    tokens.reduce(false) { accepted, known in
      let isEqual = known.withUnsafeBytes { known in token.withUnsafeBytes { ConstantTime.areEqual(known, $0) } }
      return isEqual || accepted
    }
  }
}

extension AccessRules: Hashable {
  /// Compares names byte by byte. Strings would compare two spellings of one letter as equal, but they are two names.
  package static func == (left: AccessRules, right: AccessRules) -> Bool {
    left.users == right.users && left.tokens == right.tokens && left.excludedPaths == right.excludedPaths
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(users)
    hasher.combine(tokens)
  }
}

/// Describes only how many users and tokens there are, as ``AccessControl`` does.
extension AccessRules: CustomStringConvertible, CustomReflectable {
  package var description: String { "AccessRules(users: \(users.count), tokens: \(tokens.count))" }

  package var customMirror: Mirror {
    Mirror(self, children: ["users": users.count, "tokens": tokens.count], displayStyle: .struct)
  }
}
