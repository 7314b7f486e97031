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

  /// Nil: everybody may.
  package var access: AccessControl? {
    users.isEmpty && bearerTokens.isEmpty ? nil : AccessControl(users: users, bearerTokens: bearerTokens)
  }
}

extension WebConfiguration {
  /// Reads and judges a file's text. `file` is only a name, for the error text.
  package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    let document: YAMLDocument
    do {
      document = try YAMLDocument(parsing: bytes)
    } catch {
      throw ConfigurationError(file: file, problems: [error])
    }
    let decoded = YAMLDecoder(document).decode(WebConfigurationDocument.self)
    var problems = decoded.problems
    guard let value = decoded.value else { throw ConfigurationError(file: file, problems: problems) }
    var builder = WebConfigurationBuilder()
    let configuration = builder.configuration(value)
    problems += builder.problems
    guard problems.isEmpty else { throw ConfigurationError(file: file, problems: problems) }
    self = configuration
  }

  /// Reads a file of at most 1 MiB.
  package init(file: String) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file), file: file)
  }
}
