extension Configuration {
  /// Reads and judges a configuration. `file` is only a name, for the error text.
  package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    self = try ConfigurationFile.parse(bytes, file: file) { (document: ConfigurationDocument) in
      var builder = ConfigurationBuilder()
      let configuration = builder.configuration(document)
      return (configuration, builder.problems)
    }
  }

  /// Reads a file of at most 1 MiB.
  package init(file: String) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file), file: file)
  }
}
