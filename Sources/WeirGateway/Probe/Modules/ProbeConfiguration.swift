import Weir

/// The modules of the probe page, and the targets that it may ask: `--probe.config.file`.
struct ProbeConfiguration: Sendable {
  /// By name; `http_2xx` is always among them.
  var modules: [String: ProbeModule] = [standardModule: ProbeModule()]
  /// The addresses that probes may connect to, redirects included.
  var targets = DestinationPolicy.publicOnly

  static let standardModule = "http_2xx"

  init() {}

  /// - Parameter rest: What to say about the known names, if none is like this one.
  func module(named name: String, orElse rest: ([String]) -> String) throws(ProbeProblem) -> ProbeModule {
    if let module = modules[name] { return module }
    let known = modules.keys.sorted()
    let hint = suggestion(for: name, among: known).map { "did you mean \(quoted($0))?" }
    throw ProbeProblem("unknown module \(quoted(name)); \(hint ?? rest(known))")
  }

  /// Reads a file of at most 1 MiB.
  ///
  /// - Parameter reads: Notes this file and those that are read with it.
  init(file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    try self.init(parsing: ConfigurationFile.bytes(of: file, noting: reads), file: file, noting: reads)
  }

  /// Reads and checks a file's text. The path `file` is for the error text, and the files that the text names are
  /// looked for from its folder.
  ///
  /// - Parameter reads: Notes the files that are read with it.
  init(parsing bytes: [UInt8], file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) {
    self = try ConfigurationFile.parse(
      bytes, file: file, acceptsEmpty: true, quotesValues: false, readsAsGo: true, noting: reads, Self.form.read)
  }

  private static let form = ConfigurationMapping(ProbeConfiguration()) {
    Key("modules", .entries(of: ProbeModule.form.shape, 0...Int.max)) { reader, configuration in
      for (name, reader) in reader.entries() ?? [] {
        if let module = ProbeModule.form.read(reader) { configuration.modules[name] = module }
      }
      return true
    }
    Key("targets", DestinationPolicy.formOfTargets, \.targets)
  }.form()
}
