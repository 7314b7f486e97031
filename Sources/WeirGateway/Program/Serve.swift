import Glibc
import Synchronization
import Weir
import WeirExporter
import WeirIO
import WeirMetrics
import WeirServer

/// `weir serve`: runs the gateway and its metrics page, and handles signals, until it is told to end.
struct Serve {
  private let options: ServeOptions
  private let log: Logger

  init(_ options: ServeOptions) {
    self.options = options
    log = Logger(level: options.logLevel, format: options.logFormat)
  }

  /// Runs until the end and returns the exit status. The signals must be blocked in all threads.
  func run() async -> CInt {
    DescriptorLimit.raise()
    log.info("weir is starting", ["version": .string(WeirInfo.version)])
    var problems: [String] = []
    let files = readFiles(&problems)
    guard problems.isEmpty else {
      for problem in problems { log.error("configuration", ["problem": .string(problem)]) }
      log.error("weir can't start", ["error": "the configuration has the problems above"])
      return 1
    }
    do {
      var origin: DemoOrigin?
      let configuration: Configuration
      if let given = files.configuration {
        configuration = given
      } else {
        let demo = try DemoOrigin()
        configuration = try demo.configuration()
        origin = demo
      }
      let workers = options.workers ?? max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
      let shares = DescriptorShares(limit: DescriptorLimit.current, workers: workers, hasOrigin: origin != nil)
      let occasions = Occasions()
      let parts = try Parts(configuration, files.web ?? WebConfiguration(), options, workers, shares, log, occasions)
      await parts.gateway.findEndpoints()
      parts.gateway.start()
      parts.isReady.value.store(true, ordering: .relaxed)
      parts.metrics.configurationLoaded()
      warn(of: configuration)
      announce(configuration, parts, isDemo: origin != nil)
      let status = try await supervise(parts, occasions)
      await origin?.stop()
      return status
    } catch {
      log.error("weir can't start", ["error": .string(Self.startText(error))])
      return 1
    }
  }

  // MARK: Signals

  static let signals = [SIGTERM, SIGINT, SIGHUP]

  /// Carries out the lifecycle's actions until it exits.
  private func supervise(_ parts: Parts, _ occasions: Occasions) async throws -> CInt {
    let loop = try EventLoop(name: "weir.signals")
    try await SignalSource.start(Self.signals, on: loop) { signal in
      occasions.note(signal == SIGHUP ? .hangUp : .terminate)
    }
    var lifecycle = Lifecycle(hasDelay: options.shutdownDelay > .zero)
    for await occasion in occasions.stream {
      let actions = lifecycle.handle(occasion.event)
      if actions.isEmpty { occasion.answer?(.ending) }
      for action in actions {
        switch action {
        case .reload:
          let problems = await reload(parts)
          occasion.answer?(AdminAction.Result(reloadedWith: problems))
        case .becomeUnready: parts.isReady.value.store(false, ordering: .relaxed)
        case .delay:
          log.info(
            "no longer ready, still accepting; another signal ends the delay",
            ["delay": LogValue(options.shutdownDelay)])
          Task {
            try? await Task.sleep(for: options.shutdownDelay)
            occasions.note(.delayed)
          }
        case .drain:
          log.info("draining; another signal ends at once", ["timeout": LogValue(options.drainTimeout)])
          Task {
            let began = ContinuousClock.now
            await parts.gateway.stop(grace: options.drainTimeout / .seconds(1))
            if options.drainTimeout > .zero, ContinuousClock.now - began >= options.drainTimeout {
              log.warn("the drain's time is over; requests that were still under way have been cut off", [:])
            }
            occasions.note(.drained)
          }
        case .exit(let status):
          await parts.exporter.stop(grace: 0)
          log.info("weir has ended", ["status": .integer(Int(status))])
          return status
        }
      }
    }
    return 1
  }

  /// Returns the reasons why everything stays as it was; none if the files hold now.
  private func reload(_ parts: Parts) async -> [String] {
    guard options.configFile != nil || options.webConfigFile != nil else {
      let text = "there is nothing to reload: weir was started without --config.file"
      log.warn(text, [:])
      return [text]
    }
    // Both files are read before either is applied.
    var problems: [String] = []
    let files = readFiles(&problems)
    if problems.isEmpty { problems = await follow(files, parts).map { [$0] } ?? [] }
    for problem in problems { log.error("configuration", ["problem": .string(problem)]) }
    if problems.isEmpty {
      parts.metrics.configurationLoaded()
    } else {
      parts.metrics.configurationRefused()
      log.error("the configuration stays as it was", [:])
    }
    return problems
  }

  /// Applies the files. Returns the reason why that failed, if it did.
  private func follow(_ files: Files, _ parts: Parts) async -> String? {
    if let web = files.web {
      do {
        try follow(web.tls, parts)
        try parts.exporter.setAccess(web.access)
      } catch {
        return "\(error)"
      }
      log.info("web configuration reloaded", ["file": .string(options.webConfigFile ?? "")])
      if web.isOpenToAll { log.warn("the web configuration asks nobody for a password or token", [:]) }
      if web.headers != parts.webHeaders {
        log.warn("header fields of the metrics address change with a restart", [:])
      }
    }
    if let configuration = files.configuration {
      warn(of: configuration)
      do {
        try await parts.gateway.reload(configuration)
      } catch {
        return error is Errno ? "the loop of lookups can't be made: \(error)" : Self.startText(error)
      }
      let file = LogValue.string(options.configFile ?? "")
      log.info("configuration reloaded", ["file": file, "routes": .integer(configuration.routes.count)])
    }
    return nil
  }

  private func follow(_ tls: WebTLS?, _ parts: Parts) throws(TLSFilesProblem) {
    if (tls == nil) != (parts.webTLS == nil) {
      log.warn("TLS of the metrics address begins and ends with a restart", [:])
    } else if let tls {
      try parts.webTLS?.follow(tls.files)
    }
  }

  // MARK: Files

  /// The contents of the files that the flags name; nil for a flag that is not set.
  private struct Files {
    var configuration: Configuration?
    var web: WebConfiguration?
  }

  /// Reads both files, and adds all problems of both.
  private func readFiles(_ problems: inout [String]) -> Files {
    var files = Files()
    if let file = options.configFile {
      do {
        let configuration = try Configuration(file: file)
        files.configuration = configuration
        if options.gatewayAddress != nil, !configuration.listeners.isEmpty {
          problems.append(
            "\(file): listeners replace --gateway.listen-address, which is given too; leave one of them out")
        }
      } catch {
        problems += error.lines
      }
    }
    if let file = options.webConfigFile {
      do {
        files.web = try WebConfiguration(file: file)
      } catch {
        problems += error.lines
      }
    }
    return files
  }

  // MARK: Log lines

  private func warn(of configuration: Configuration) {
    for warning in configuration.warnings {
      log.warn("configuration", ["problem": .string(warning.description(file: options.configFile ?? ""))])
    }
  }

  private func announce(_ configuration: Configuration, _ parts: Parts, isDemo: Bool) {
    let metrics = Self.url(parts.exporterAddress, isSecure: parts.webTLS != nil) + "/metrics"
    let routes = LogValue.integer(configuration.routes.count), workers = LogValue.integer(parts.gateway.workerCount)
    for (name, address, isSecure) in parts.gateway.addresses {
      let place = Self.place(address, url: Self.url(address, isSecure: isSecure))
      var fields: LogFields = [place.key: place.value, "routes": routes, "workers": workers]
      if !configuration.listeners.isEmpty { fields.add("listener", .string(name)) }
      log.info("forwarding", fields)
    }
    let serving = Self.place(parts.exporterAddress, url: metrics)
    log.info("serving metrics", [serving.key: serving.value])
    if Self.isReachableFromElsewhere(parts.exporterAddress), options.webConfigFile == nil {
      log.warn(
        "everybody who reaches the metrics address may read it; see --web.config.file",
        ["address": .string("\(parts.exporterAddress)")])
    }
    guard isDemo else { return }
    let gateway = Self.url(parts.gateway.address)
    log.info("without --config.file, a demo origin stands behind the gateway", ["try": "curl \(gateway)/echo"])
    log.info(
      "a path that fails two times of three: retries hide it until their budget is used up",
      ["try": "curl \(gateway)/flaky"])
    log.info("what was measured of both", ["try": "curl \(metrics)"])
  }

  /// The field that tells where a listener is: its URL, or only its address if that stands for several addresses.
  private static func place(_ address: SocketAddress, url: String) -> (key: String, value: LogValue) {
    isOneAddress(address) ? ("url", .string(url)) : ("address", .string("\(address)"))
  }

  /// The reason why the program can't start, with the program's flags in place of the library's options.
  static func startText(_ error: any Error) -> String {
    switch error {
    case let error as ListenError where error.error == .addressInUse:
      "\(error); stop it, or give another address, by --gateway.listen-address or in listeners (port 0 lets the "
        + "system choose)"
    case let error as ExporterError: error.description.replacing("listenAddress", with: "--web.listen-address")
    default: "\(error)"
    }
  }

  /// Whether the address is a single one, which a URL can name.
  static func isOneAddress(_ address: SocketAddress) -> Bool {
    switch address {
    case .v4(0, _), .v6(0, 0, _, _), .unix, .unnamed: false
    case .v4, .v6: true
    }
  }

  /// Whether other machines may reach the address: it is neither a loopback address (127.0.0.0/8, ::1) nor a socket
  /// file.
  static func isReachableFromElsewhere(_ address: SocketAddress) -> Bool {
    switch address {
    case .v4(let number, _): number >> 24 != 127
    case .v6(let high, let low, _, _): !(high == 0 && low == 1)
    case .unix, .unnamed: false
    }
  }

  /// A URL that curl accepts. A server that listens on all addresses is reached by loopback.
  static func url(_ address: SocketAddress, isSecure: Bool = false) -> String {
    let scheme = isSecure ? "https" : "http"
    return switch address {
    case .v4(0, let port), .v6(0, 0, _, let port): "\(scheme)://\(SocketAddress.loopback(port: port))"
    default: "\(scheme)://\(address)"
    }
  }
}

/// The running parts of the program.
private final class Parts: Sendable {
  let exporter: Exporter
  let exporterAddress: SocketAddress
  let webHeaders: [String: String]
  /// Nil for plain HTTP at the metrics address.
  let webTLS: TLSFilesWatch?
  let metrics: GatewayMetrics
  let gateway: Gateway
  /// Whether `/-/ready` answers 200.
  let isReady: Flag

  final class Flag: Sendable {
    let value = Atomic(false)
  }

  init(
    _ configuration: Configuration, _ web: WebConfiguration, _ options: ServeOptions, _ workers: Int,
    _ shares: DescriptorShares, _ log: Logger, _ occasions: Occasions
  ) throws {
    let isReady = Flag()
    self.isReady = isReady
    var exporterOptions = Exporter.Options()
    exporterOptions.title = "weir gateway"
    exporterOptions.access = web.access
    exporterOptions.headers = web.headers
    webHeaders = web.headers
    webTLS = try web.tls.map { tls throws(TLSFilesProblem) in
      try TLSFilesWatch(tls.files, report: { log.note($0, listener: "metrics") })
    }
    if let source = webTLS?.source { exporterOptions.secure = source.makeChannel }
    exporterOptions.actions = occasions.actions(areEnabled: options.enablesLifecycle)
    exporterOptions.isReady = { isReady.value.load(ordering: .relaxed) }
    let crowd = CrowdLog(listener: "metrics", connections: shares.metrics, log: log)
    exporterOptions.onServerEvent = { crowd.note($0) }
    exporter = try Exporter(
      registry: Registry(buckets: options.buckets), listenAddress: "\(options.webAddress)", options: exporterOptions)
    let monitor = try MetricsMonitor(registry: exporter.registry, destinationLimit: options.destinationLimit)
    metrics = try GatewayMetrics(exporter.registry, client: monitor, endpointLimit: options.endpointLimit)
    gateway = try Gateway(
      configuration,
      options: Gateway.Options(
        address: options.gatewayAddress ?? ServeOptions.standardGatewayAddress, workers: workers,
        connections: shares.clients),
      metrics: metrics, observer: monitor, log: log)
    try Self.checkNames(of: options.buckets, exporter.registry)
    try exporter.start()
    webTLS?.start()
    exporterAddress = try SocketAddress(parsing: exporter.address ?? "")
  }

  /// Checks that a histogram of each name exists. Called once all metrics are registered.
  private static func checkNames(of buckets: [String: Buckets], _ registry: Registry) throws(CommandLineError) {
    let names = registry.histogramNames
    guard let unknown = buckets.keys.sorted().first(where: { !names.contains($0) }) else { return }
    let hint = suggestion(for: unknown, among: names).map { "did you mean \(quoted($0))?" }
    throw CommandLineError(
      "--metrics.buckets: no histogram is called \(quoted(unknown)); "
        + (hint ?? "there are \(names.joined(separator: ", "))"))
  }
}

extension SignalSource {
  /// Begins to deliver signals, until the loop is released. Returns once they are being delivered.
  static func start(
    _ signals: [CInt], on loop: EventLoop, _ handler: @escaping @Sendable (CInt) -> Void
  ) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      loop.post {
        do {
          try SignalSource(signals).start(on: loop, handler)
          continuation.resume()
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }
}
