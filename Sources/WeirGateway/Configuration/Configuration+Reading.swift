extension Configuration {
  /// Reads and judges a configuration. `file` is only a name, for the error text.
  package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    let document: YAMLDocument
    do {
      document = try YAMLDocument(parsing: bytes)
    } catch {
      throw ConfigurationError(file: file, problems: [error])
    }
    let decoded = YAMLDecoder(document).decode(ConfigurationDocument.self)
    var problems = decoded.problems
    guard let value = decoded.value else { throw ConfigurationError(file: file, problems: problems) }
    var builder = ConfigurationBuilder()
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
