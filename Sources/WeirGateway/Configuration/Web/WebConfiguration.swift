package import WeirExporter
import WeirHTTP
import WeirTLS

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
  var tls: TLSFiles?

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
  package var isOpenToAll: Bool {
    let needsCertificates = tls.map { $0.rules.clientAuth == .required && $0.clientCA != nil } ?? false
    return access == nil && !needsCertificates
  }
}

/// Describes only how many users and tokens there are, since tokens and hashes don't belong in logs.
extension WebConfiguration: CustomStringConvertible, CustomReflectable {
  package var description: String {
    "WebConfiguration(users: \(users.count), bearerTokens: \(bearerTokens.count), headers: \(headers.count), "
      + "hasTLS: \(tls != nil))"
  }

  package var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}

// MARK: Reading

extension WebConfiguration {
  /// Reads and checks a file's text. The path `file` is for the error text, and the files that the text names are
  /// looked for from its folder.
  ///
  /// - Parameter reads: Notes the files of TLS if they have problems.
  package init(parsing bytes: [UInt8], file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    self = try ConfigurationFile.parse(
      bytes, file: file, acceptsEmpty: true, quotesValues: false, noting: reads, Self.form.read)
  }

  /// Reads a file of at most 1 MiB.
  ///
  /// - Parameter reads: Notes this file, and those of its TLS if they have problems.
  package init(file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file, noting: reads), file: file, noting: reads)
  }

  /// A user who writes one of the keys of credentials wants to restrict access, but without any everybody would be let
  /// in.
  private static let nobody = "is empty, so nobody could log in; leave the key out to let everybody in"

  /// The keys have the names of exporter-toolkit's.
  private static let form = ConfigurationMapping(WebConfiguration()) {
    Key("basic_auth_users", .users) { $0.users(into: &$1.users, empty: nobody) }
    Key("bearer_tokens", .tokens) { $0.tokens(into: &$1.bearerTokens, empty: nobody) }
    Key("basic_auth_excluded_paths", .set(of: .text(unless: problem(excludedPath:))), \.excludedPaths)
    Key("http_server_config", server, in: \.self)
    Key("tls_server_config", TLSFiles.formOfWeb, \.tls)
    Key(
      refused: "rate_limit",
      "is not supported; scrapes that come at once share a page, and nginx limits rates in front of it")
  }.form()

  private static let server = ConfigurationMapping(WebConfiguration()) {
    // The gateway speaks HTTP/1.1 to clients, whatever this key says.
    Key("http2", ConfigurationForm<Bool>.boolean, put: { _, _ in })
    Key("headers", fields, \.headers)
  }

  private static let fields = ConfigurationForm<[String: String]>(.entries(of: .text(nil), 0...Int.max)) { reader in
    var seen: Set<String> = []
    var fields: [String: String] = [:]
    for (name, value) in reader.entries() ?? [] {
      if !seen.insert(FieldSyntax.lowercased(name)).inserted { value.report("the same field is set twice") }
      fields[name] = value.read(as: .string) { Exporter.Options.problem(header: name, value: $0) }
    }
    return fields
  }

  /// The reason why a path can't be reached without credentials; nil if it can.
  @Sendable private static func problem(excludedPath path: String) -> String? {
    ["/-/reload", "/-/quit"].contains(path)
      ? "would let everybody end or reload the program" : AccessControl.problem(excludedPath: path)
  }
}
