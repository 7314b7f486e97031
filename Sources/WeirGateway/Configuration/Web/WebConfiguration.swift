package import WeirExporter

/// Who may see the metrics address, and header fields of its responses: `--web.config.file`.
///
/// The file is one of Prometheus' exporter-toolkit, as far as that applies: `basic_auth_users` and
/// `http_server_config.headers`. `bearer_tokens` is our own.
package struct WebConfiguration: Sendable, Equatable {
  package var users: [String: String] = [:]
  package var bearerTokens: Set<String> = []
  package var headers: [String: String] = [:]

  package init() {}

  /// What is no mistake, but better known.
  package var notes: [String] {
    access?.hasMixedCosts == true
      ? ["basic_auth_users: hashes of different costs let the time of an answer tell names apart; use one cost"] : []
  }

  /// Nil: everybody may.
  package var access: AccessControl? {
    users.isEmpty && bearerTokens.isEmpty ? nil : AccessControl(users: users, bearerTokens: bearerTokens)
  }
}

/// How many there are, and none of them: tokens and hashes don't belong in logs.
extension WebConfiguration: CustomStringConvertible, CustomReflectable {
  package var description: String {
    "WebConfiguration(users: \(users.count), bearerTokens: \(bearerTokens.count), headers: \(headers.count))"
  }

  package var customMirror: Mirror {
    Mirror(
      self,
      children: ["users": users.count, "bearerTokens": bearerTokens.count, "headers": headers.count],
      displayStyle: .struct)
  }
}
