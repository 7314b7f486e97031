import WeirExporter
import WeirHTTP

extension WebConfiguration {
  /// Reads and checks a file's text. The path `file` is for the error text, and the files that the text names are
  /// looked for from its folder.
  package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    try self.init(parsing: bytes, file: file, noting: nil)
  }

  private init(parsing bytes: [UInt8], file: String, noting reads: FilesRead?) throws(ConfigurationError) {
    self = try ConfigurationFile.parse(
      bytes, file: file, acceptsEmpty: true, quotesValues: false, noting: reads
    ) { root in
      root.mapping { Self(&$0, folder: file.utf8.lastIndex(of: UInt8(ascii: "/")).map { file[...$0] } ?? "") }
    }
  }

  /// Reads a file of at most 1 MiB.
  ///
  /// - Parameter reads: Notes this file, and those of its TLS if they have problems.
  package init(file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file, noting: reads), file: file, noting: reads)
  }

  /// Reads the keys, which have the names of exporter-toolkit's.
  private init(_ keys: inout ConfigurationKeys, folder: Substring) {
    self.init()
    let list = keys.take("basic_auth_users")
    for (name, hash) in Self.present(list, { $0.entries() }) {
      guard !ConfigurationReader.mayHoldHash(name) else {
        list?.report(ConfigurationReader.hashInName)
        continue
      }
      let problem = AccessControl.problem(userName: name)
      users[name] = hash.read(as: .string) { problem ?? AccessControl.problem(hash: $0) }
    }
    for token in Self.present(keys.take("bearer_tokens"), { $0.elements() }) {
      if let token = token.read(as: .string, unless: AccessControl.problem(token:)) { bearerTokens.insert(token) }
    }
    for path in keys.take("basic_auth_excluded_paths")?.elements() ?? [] {
      let problem = { path in Self.problem(excludedPath: path) ?? AccessControl.problem(excludedPath: path) }
      if let path = path.read(as: .string, unless: problem) { excludedPaths.insert(path) }
    }
    _ = keys.take("http_server_config")?.mapping { keys in
      // The gateway speaks HTTP/1.1 to clients, whatever this key says.
      _ = keys.take("http2", as: .boolean)
      var seen: Set<String> = []
      for (name, value) in keys.take("headers")?.entries() ?? [] {
        if !seen.insert(FieldSyntax.lowercased(name)).inserted { value.report("the same field is set twice") }
        headers[name] = value.read(as: .string) { Exporter.Options.problem(header: name, value: $0) }
      }
      return ()
    }
    tls = keys.take("tls_server_config")?.webTLS(folder: folder)
    keys.take("rate_limit")?.report(
      "is not supported; scrapes that come at once share a page, and nginx limits rates in front of it")
  }

  /// The reason why nobody should reach a path without credentials; nil if anybody may.
  private static func problem(excludedPath path: String) -> String? {
    ["/-/reload", "/-/quit"].contains(path) ? "would let everybody end or reload the program" : nil
  }

  /// The entries of a list that must not be empty. A user who writes the key wants to restrict access, but an empty
  /// list would let everybody in.
  private static func present<Entry>(
    _ list: ConfigurationReader?, _ read: (ConfigurationReader) -> [Entry]?
  ) -> [Entry] {
    guard let list, let entries = list.isNull ? [] : read(list) else { return [] }
    if entries.isEmpty { list.report("is empty, so nobody could log in; leave the key out to let everybody in") }
    return entries
  }
}
