package import WeirExporter

/// TLS and access of the metrics address, and header fields of its responses: `--web.config.file`.
///
/// The file has the format of Prometheus' exporter-toolkit, as far as that applies: `tls_server_config`,
/// `basic_auth_users`, `basic_auth_excluded_paths` and `http_server_config.headers`. `bearer_tokens` is weir's own.
package struct WebConfiguration: Sendable, Equatable {
  package var users: [String: String] = [:]
  package var bearerTokens: Set<String> = []
  /// The paths that need no credentials.
  package var excludedPaths: Set<String> = []
  package var headers: [String: String] = [:]
  /// Nil for plain HTTP.
  package var tls: WebTLS?

  package init() {}

  /// Notes on parts that are valid but have a disadvantage.
  package var notes: [String] {
    access?.hasMixedCosts == true
      ? ["basic_auth_users: hashes of different costs reveal user names by the time of an answer; use one cost"] : []
  }

  /// The access control; nil lets everybody in.
  package var access: AccessControl? {
    if users.isEmpty && bearerTokens.isEmpty { return nil }
    var access = AccessControl(users: users, bearerTokens: bearerTokens)
    access.excludedPaths = excludedPaths
    return access
  }

  /// Whether everybody who can connect may read the pages.
  package var isOpenToAll: Bool { access == nil && tls?.needsCertificates != true }
}

/// Describes only how many users and tokens there are, since tokens and hashes don't belong in logs.
extension WebConfiguration: CustomStringConvertible, CustomReflectable {
  package var description: String {
    "WebConfiguration(users: \(users.count), bearerTokens: \(bearerTokens.count), headers: \(headers.count), "
      + "hasTLS: \(tls != nil))"
  }

  package var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "users": users.count, "bearerTokens": bearerTokens.count, "headers": headers.count, "hasTLS": tls != nil,
      ],
      displayStyle: .struct)
  }
}
