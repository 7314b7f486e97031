/// Controls access to an exporter's pages: by users with passwords, by bearer tokens, or by both.
///
/// ```swift
/// options.access = AccessControl(users: ["prometheus": "$2y$10$…"])  // htpasswd -nBC 10 prometheus
/// ```
///
/// It holds for every path but the ``excludedPaths``, for `/-/healthy` and `/-/ready` too, as in Prometheus' own
/// exporters. Passwords and tokens are sent in clear text, so speak TLS if the network is not your own.
///
/// A bcrypt hash takes a while on purpose. It is computed on a thread of its own, once for correct credentials, until
/// users or tokens change. While that thread is busy and eight credentials wait, further unknown ones are answered 503.
///
/// An unknown user name takes as long as a wrong password if all hashes have the same cost. Otherwise the time of the
/// answer reveals names with a cheaper hash.
public struct AccessControl: Sendable, Equatable {
  /// The user names, and the bcrypt hashes of their passwords: `$2y$`, `$2b$` or `$2a$`, cost 4 to 15. A cost of 10
  /// takes about 60 ms. Bytes of a password beyond the 72nd are ignored.
  public var users: [String: String]
  /// The tokens that `Authorization: Bearer` may hold. They consist of letters, digits and `-._~+/=`.
  public var bearerTokens: Set<String>
  /// The paths that everybody may see, such as `/-/healthy`: exactly as a request spells them.
  public var excludedPaths: Set<String> = []

  /// Makes an access control of users, tokens, or both, for all paths.
  ///
  /// It doesn't check them: ``Exporter/init(registry:listenAddress:options:)`` and ``Exporter/setAccess(_:)`` throw
  /// ``ExporterError/Code/invalidAccess`` for invalid names, hashes and tokens, for ``excludedPaths`` that don't begin
  /// with a slash, and if there are neither users nor tokens.
  public init(users: [String: String] = [:], bearerTokens: Set<String> = []) {
    self.users = users
    self.bearerTokens = bearerTokens
  }
}

extension AccessControl {
  /// The reason why a user name is invalid; nil if it is valid.
  package static func problem(userName name: String) -> String? {
    if name.isEmpty { return "a user's name must not be empty" }
    // RFC 7617 §2: in a request, the first colon ends the name.
    if name.utf8.contains(UInt8(ascii: ":")) { return "a user's name must not hold a colon" }
    if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
      return "a user's name must not hold control characters"
    }
    return nil
  }

  /// The reason why a password's hash is invalid; nil if it is valid. The text doesn't repeat the hash.
  package static func problem(hash: String) -> String? {
    do throws(BcryptHash.Problem) {
      _ = try BcryptHash(hash)
      return nil
    } catch {
      return error.description
    }
  }

  /// The reason why a token is invalid; nil if it is valid. The text doesn't repeat the token.
  package static func problem(token: String) -> String? {
    Credentials.isToken(token)
      ? nil : "a token must be letters, digits and -._~+/, with = only at its end (RFC 6750 section 2.1)"
  }

  /// The reason why a path can't be one of a request; nil if it can.
  package static func problem(excludedPath path: String) -> String? {
    path.hasPrefix("/") ? nil : "a path must begin with /"
  }

  /// Whether the time of an answer could reveal user names.
  package var hasMixedCosts: Bool {
    Set(users.values.compactMap { try? BcryptHash($0).cost }).count > 1
  }
}

/// Describes only how many users and tokens there are, since tokens and hashes don't belong in logs.
extension AccessControl: CustomStringConvertible, CustomReflectable {
  public var description: String {
    "AccessControl(users: \(users.count), bearerTokens: \(bearerTokens.count))"
  }

  public var customMirror: Mirror {
    Mirror(self, children: ["users": users.count, "bearerTokens": bearerTokens.count], displayStyle: .struct)
  }
}
