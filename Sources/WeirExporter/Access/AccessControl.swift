/// Who may see an exporter's pages: users with passwords, holders of tokens, or both.
///
/// ```swift
/// options.access = AccessControl(users: ["prometheus": "$2y$10$…"])  // htpasswd -nBC 10 prometheus
/// ```
///
/// It holds for every path, `/-/healthy` and `/-/ready` included, as in Prometheus' own exporters. Passwords and tokens
/// travel as they are, so put TLS in front where the network is not your own.
///
/// A bcrypt hash takes a while on purpose: it is computed on a thread of its own, once for credentials that are
/// right, until users or tokens change. While it is busy and eight wait, further unknown credentials are answered 503.
/// A user that nobody knows costs as much as a wrong password if all hashes have the same cost; else the time tells
/// names with a cheaper hash apart.
public struct AccessControl: Sendable, Equatable {
  /// Names, and the bcrypt hashes of their passwords: `$2y$`, `$2b$` or `$2a$`, cost 4 to 15. A cost of 10 takes about
  /// 60 ms. Bytes of a password beyond the 72nd don't count.
  public var users: [String: String]
  /// What `Authorization: Bearer` may say. Letters, digits and `-._~+/=`.
  public var bearerTokens: Set<String>

  /// Users, tokens, or both.
  ///
  /// Nothing is judged here: ``Exporter/init(registry:listenAddress:options:)`` and ``Exporter/setAccess(_:)`` throw
  /// ``ExporterError/Code/invalidAccess`` for names, hashes and tokens that won't do, and for none at all.
  public init(users: [String: String] = [:], bearerTokens: Set<String> = []) {
    self.users = users
    self.bearerTokens = bearerTokens
  }
}

extension AccessControl {
  /// Why nobody could log in under this name; nil if somebody can.
  package static func problem(userName name: String) -> String? {
    if name.isEmpty { return "a user's name must not be empty" }
    // RFC 7617 §2: the first colon ends the name.
    if name.utf8.contains(UInt8(ascii: ":")) { return "a user's name must not hold a colon" }
    if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
      return "a user's name must not hold control characters"
    }
    return nil
  }

  /// What is wrong with a password's hash; nil if nothing is. The text doesn't repeat it.
  package static func problem(hash: String) -> String? {
    do throws(BcryptHash.Problem) {
      _ = try BcryptHash(hash)
      return nil
    } catch {
      return error.description
    }
  }

  /// What is wrong with a token; nil if nothing is. The text doesn't repeat it.
  package static func problem(token: String) -> String? {
    Credentials.isToken(token)
      ? nil : "a token must be letters, digits and -._~+/, with = only at its end (RFC 6750 section 2.1)"
  }
}

extension AccessControl {
  /// Whether the time of an answer could tell users apart.
  package var hasMixedCosts: Bool {
    Set(users.values.compactMap { try? BcryptHash($0).cost }).count > 1
  }
}

/// How many there are, and none of them: tokens and hashes don't belong in logs.
extension AccessControl: CustomStringConvertible, CustomReflectable {
  public var description: String {
    "AccessControl(users: \(users.count), bearerTokens: \(bearerTokens.count))"
  }

  public var customMirror: Mirror {
    Mirror(self, children: ["users": users.count, "bearerTokens": bearerTokens.count], displayStyle: .struct)
  }
}
