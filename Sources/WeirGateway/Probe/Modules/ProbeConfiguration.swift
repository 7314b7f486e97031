package import Weir

/// The modules of the probe page, and the targets that it may ask: `--probe.config.file`.
package struct ProbeConfiguration: Sendable {
  /// By name; `http_2xx` is always among them.
  package var modules: [String: ProbeModule] = [standardModule: ProbeModule()]
  /// The addresses that probes may connect to, redirects included.
  package var targets = DestinationPolicy.publicOnly

  package static let standardModule = "http_2xx"

  package init() {}

  /// Reads a file of at most 1 MiB.
  ///
  /// - Parameter reads: Notes this file and those that are read with it.
  package init(file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file, noting: reads), file: file, noting: reads)
  }

  /// Reads and checks a file's text. The path `file` is for the error text, and the files that the text names are
  /// looked for from its folder.
  package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    try self.init(parsing: bytes, file: file, noting: nil)
  }

  private init(parsing bytes: [UInt8], file: String, noting reads: FilesRead?) throws(ConfigurationError) {
    let folder = file.utf8.lastIndex(of: UInt8(ascii: "/")).map { file[...$0] } ?? ""
    self = try ConfigurationFile.parse(
      bytes, file: file, acceptsEmpty: true, quotesValues: false, readsAsGo: true, noting: reads
    ) { root in
      root.mapping { keys in
        var configuration = ProbeConfiguration()
        for (name, reader) in keys.take("modules")?.entries() ?? [] {
          if let module = reader.probeModule(folder: folder) { configuration.modules[name] = module }
        }
        if let policy = keys.take("targets")?.probeTargets() { configuration.targets = policy }
        return configuration
      }
    }
  }
}

extension ConfigurationReader {
  /// The key `otherwise` may be missing: then the public addresses are allowed besides those of `allow`.
  fileprivate func probeTargets() -> DestinationPolicy? {
    mapping { keys in
      let allow = keys.take("allow")?.destinationNetworks() ?? []
      let deny = keys.take("deny")?.destinationNetworks() ?? []
      var otherwise = DestinationPolicyName.publicOnly
      if let reader = keys.take("otherwise") {
        guard let name = reader.word(among: DestinationPolicyName.allCases.map(\.rawValue)) else { return nil }
        otherwise = DestinationPolicyName(rawValue: name) ?? otherwise
      }
      return try? DestinationPolicy(allow: allow, deny: deny, otherwise: otherwise.otherwise)
    }
  }
}
