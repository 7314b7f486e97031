import Dispatch
import Glibc
import Synchronization
import WeirCompression
import WeirCurl
import WeirExporter
import WeirIO
import WeirResolver
import WeirTLS

/// The program `weir`.
package enum Program {
  /// Gives the standard streams that are closed to /dev/null: the next descriptors to be opened would take their numbers,
  /// and lines for them.
  private static func openStandardStreams() {
    for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
  }

  /// Runs the command of the arguments (without the program's name). Returns the exit status: 0, 1 if it failed, or 2
  /// for an invalid command line. Call it on the main thread, before there are others.
  package static func run(_ arguments: [String]) -> CInt {
    openStandardStreams()
    let command: Command
    do {
      command = try Command(parsing: arguments)
    } catch {
      complain("weir: \(error)\n")
      return 2
    }
    switch command {
    case .help(let topic): return answer(topic.usage)
    case .version: return answer(version)
    case .completion(let shell): return answer(shell.completion)
    case .manual(let page): return answer(page.text)
    case .schema: return answer(ConfigurationSchema.text)
    case .check(let options): return wait { await check(options) }
    case .serve(let options):
      // Blocked here, because threads inherit the mask of the thread that starts them.
      SignalSource.block(Serve.signals)
      var problems: [String] = []
      let environment = ServiceEnvironment.take(&problems)
      return wait { [problems] in await Serve(options, environment, problems: problems).run() }
    case .probe(let options): return wait { await probe(options) }
    }
  }

  /// The text of `weir --version`: this build in the first line, then the libraries that the process has loaded, and
  /// the compiler.
  private static var version: String {
    let build = BuildInfo.current
    let tls = CurlLibrary.tls.isEmpty ? "" : " (\(CurlLibrary.tls))"
    return """
      weir \(build.version) (revision \(build.revision))
      libcurl \(build.libcurl)\(tls)
      OpenSSL \(OpenSSLLibrary.version)
      c-ares \(AresLibrary.version)
      zlib \(ZlibLibrary.version)
      libyaml \(YAMLLibrary.version)
      Swift \(build.swift)

      """
  }

  private static func check(_ options: CheckOptions) async -> CInt {
    var credentials: [CredentialSettings] = []
    let routes = check(options.file) { file throws(ConfigurationError) in
      let configuration = try Configuration(file: file)
      credentials = configuration.credentials
      let warnings = configuration.warnings
      for warning in warnings {
        complain("\(warning.description(file: file, severity: "warning"))\n")
      }
      for note in configuration.notes { complain("\(file): note: \(note)\n") }
      let routes = counted(configuration.routes.count, "route")
      return "\(routes), \(warnings.isEmpty ? "no problems" : counted(warnings.count, "warning"))"
    }
    let web = check(options.webConfigFile) { file throws(ConfigurationError) in
      let web = try WebConfiguration(file: file)
      for note in web.notes { complain("\(file): note: \(note)\n") }
      let tls = web.tls == nil ? "" : "TLS, "
      return "\(tls)\(counted(web.users.count, "user")), \(counted(web.bearerTokens.count, "token")), no problems"
    }
    let probe = check(options.probeConfigFile) { file throws(ConfigurationError) in
      "\(counted(try ProbeConfiguration(file: file).modules.count, "module")), no problems"
    }
    var statuses = [routes, web, probe]
    for trial in options.fetchesCredentials ? await fetchEach(credentials) : [] {
      let line = "\(options.file ?? ""): credential \(trial.name): \(trial.line)\n"
      if !trial.isGood { complain(line) }
      statuses.append(trial.isGood ? answer(line) : 1)
    }
    return statuses.max() ?? 0
  }

  private static func check(
    _ file: String?, _ read: (String) throws(ConfigurationError) -> String
  ) -> CInt {
    guard let file else { return 0 }
    do {
      return answer("\(file): \(try read(file))\n")
    } catch {
      complain("\(error)\n")
      return 1
    }
  }

  private static func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  private static func probe(_ options: ProbeOptions) async -> CInt {
    if options.module != nil { return await probeByModule(options) }
    let (report, isGood) = await Probe(options: options).run()
    return answer(report.text(), isGood: isGood)
  }

  private static func probeByModule(_ options: ProbeOptions) async -> CInt {
    do {
      let order = try ProbeOrder(options)
      let result = try await ProbeDesk().run(order)
      return answer(result.metrics, isGood: result.isSuccess)
    } catch {
      complain("\(error)\n")
      return error is ProbeProblem ? 2 : 1
    }
  }

  /// Blocks the calling thread until the work, which runs elsewhere, is done.
  private static func wait(for work: @escaping @Sendable () async -> CInt) -> CInt {
    let result = Result()
    Task {
      result.status.store(await work(), ordering: .releasing)
      result.isThere.signal()
    }
    result.isThere.wait()
    return result.status.load(ordering: .acquiring)
  }

  /// Writes to standard output. Returns the exit status: 1 if the answer is not good, or was not taken.
  private static func answer(_ text: String, isGood: Bool = true) -> CInt {
    do throws(Errno) {
      try write(text, to: STDOUT_FILENO)
      return isGood ? 0 : 1
    } catch {
      complain("weir: can't write to standard output: \(error)\n")
      return 1
    }
  }

  private static func complain(_ text: String) {
    try? write(text, to: STDERR_FILENO)
  }

  /// Waits until all of it is written, unless the system refuses.
  private static func write(_ text: String, to descriptor: Int32) throws(Errno) {
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
      let count = try bytes.span.withUnsafeBytes { bytes throws(Errno) in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
        return try systemCall { Glibc.write(descriptor, rest.baseAddress, rest.count) }
      }
      guard count > 0 else { return }
      written += count
    }
  }

  private final class Result: Sendable {
    let status = Atomic<CInt>(1)
    let isThere = DispatchSemaphore(value: 0)
  }
}
