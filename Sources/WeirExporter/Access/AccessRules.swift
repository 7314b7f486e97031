/// An ``AccessControl`` that has been found right.
struct AccessRules: Sendable {
  let users: [[UInt8]: BcryptHash]
  /// In the order of their text.
  let tokens: [[UInt8]]
  /// Hashed against for a name that nobody has: the one of all users that takes longest.
  let decoy: BcryptHash?

  init(_ access: AccessControl) throws(ExporterError) {
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
    self.users = users
    tokens = access.bearerTokens.sorted().map { Array($0.utf8) }
    decoy = users.values.max { $0.cost < $1.cost }
  }

  /// Nil lets everybody in.
  static func of(_ access: AccessControl?) throws(ExporterError) -> AccessRules? {
    guard let access else { return nil }
    return try AccessRules(access)
  }

  /// RFC 9110 §11.6.1: one challenge for each scheme that could do.
  var challenges: [String] {
    (users.isEmpty ? [] : [#"Basic realm="metrics", charset="UTF-8""#])
      + (tokens.isEmpty ? [] : [#"Bearer realm="metrics""#])
  }

  func accepts(token: [UInt8]) -> Bool {
    // All of them, whether or not one has matched.
    tokens.reduce(false) { accepted, known in
      let isEqual = known.withUnsafeBytes { known in token.withUnsafeBytes { ConstantTime.areEqual(known, $0) } }
      return isEqual || accepted
    }
  }
}

extension AccessRules: Equatable {
  /// Byte by byte, which texts would not be: two spellings of one letter are two names.
  static func == (left: AccessRules, right: AccessRules) -> Bool {
    left.users == right.users && left.tokens == right.tokens
  }
}

/// As an ``AccessControl``: how many there are, and none of them.
extension AccessRules: CustomStringConvertible, CustomReflectable {
  var description: String { "AccessRules(users: \(users.count), tokens: \(tokens.count))" }

  var customMirror: Mirror {
    Mirror(self, children: ["users": users.count, "tokens": tokens.count], displayStyle: .struct)
  }
}
