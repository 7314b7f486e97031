import CLinux
import Glibc
import Synchronization
import Weir
import WeirExporter
import WeirIO
import WeirServer
import WeirTLS

/// `weir serve`: runs the gateway and its metrics page, and handles signals, until it is told to end.
struct Serve {
  let options: ServeOptions
  let log: Logger
  let environment: ServiceEnvironment
  private let environmentProblems: [String]

  /// - Parameter problems: What is wrong with the environment.
  init(_ options: ServeOptions, _ environment: ServiceEnvironment, problems: [String]) {
    self.options = options
    self.environment = environment
    environmentProblems = problems
    log = Logger(level: options.logLevel, format: options.logFormat)
  }

  /// Runs until the end and returns the exit status. The signals must be blocked in all threads.
  func run() async -> CInt {
    DescriptorLimit.raise()
    log.info("weir is starting", ["version": .string(WeirInfo.version)])
    var problems: [String] = []
    let files = readFiles(&problems)
    let (sockets, others) = inheritedSockets(files)
    guard problems.isEmpty, others.isEmpty else {
      for problem in problems { log.error("configuration", ["problem": .string(problem)]) }
      for problem in others { log.error("environment", ["problem": .string(problem)]) }
      let place = problems.isEmpty ? "environment" : "configuration"
      log.error("weir can't start", ["error": .string("the \(place) has the problems above")])
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
      let workers = options.workers ?? min(UsableCores.count, ServeOptions.workers.upperBound)
      let shares = DescriptorShares(limit: DescriptorLimit.current, workers: workers, hasOrigin: origin != nil)
      let events = LifecycleEvents()
      let servers = try Servers(
        configuration, files.web ?? WebConfiguration(), files.probe, options, workers, shares, sockets, log, events)
      let loop = try EventLoop(name: "weir.signals")
      if let channel = environment.handedOver?.channel {
        await servers.gateway.prepareUpstreams()
        await Predecessor.take(over: channel, on: loop)
        servers.start()
        // Not before it is ready: the process before this one was.
        try servers.showMetrics()
        log.info("this process has taken over", [:])
      } else {
        try servers.showMetrics()
        await servers.gateway.prepareUpstreams()
        servers.start()
      }
      warn(of: configuration)
      announce(configuration, servers, isDemo: origin != nil)
      let looks = options.watchInterval.map { interval in
        ConfigurationLooks(every: interval, log: log) { done in events.note(.filesChanged) { _ in done() } }
      }
      looks?.wereRead(files.reads)
      try looks?.start()
      let status = try await supervise(servers, events, looks, on: loop)
      await origin?.stop()
      return status
    } catch {
      log.error("weir can't start", ["error": .string(Self.startText(error))])
      return 1
    }
  }

  // MARK: Signals

  static let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR2]

  /// Carries out the lifecycle's actions until it exits.
  private func supervise(
    _ servers: Servers, _ events: LifecycleEvents, _ looks: ConfigurationLooks?, on loop: EventLoop
  ) async throws -> CInt {
    try await SignalSource.start(Self.signals, on: loop) { signal in
      switch signal {
      case SIGHUP: events.note(.hangUp)
      case SIGUSR2: events.note(.takeOver)
      default: events.note(.terminate)
      }
    }
    let manager = ServiceManager(environment.notifyAddress, log: log)
    let takeover = Takeover(on: loop, log: log)
    let watchdog = environment.watchdog.map { interval in
      LoopBound(
        Watchdog(on: loop, interval: interval, loops: { servers.loops }, sign: { manager.tell(.watchdog) }), on: loop)
    }
    manager.tell(.ready(status: Self.status(servers)))
    loop.post { watchdog?.value.start() }
    var hasSuccessor = false
    var lifecycle = Lifecycle(hasDelay: options.shutdownDelay > .zero)
    for await entry in events.stream {
      let answer = events.begin(entry)
      let actions = lifecycle.handle(entry.event)
      if actions.isEmpty || actions == [.reopenLog] { answer?(.ending) }
      for action in actions {
        switch action {
        case .reload:
          if entry.event == .filesChanged { log.info("files of the configuration are read again", [:]) }
          manager.tell(.reloading(at: .now))
          let problems = await reload(servers, looks)
          // The memory of the configuration before goes back to the system.
          if problems.isEmpty { malloc_trim(0) }
          manager.tell(.ready(status: Self.status(servers, isRefused: !problems.isEmpty)))
          answer?(AdminAction.Result(reloadedWith: problems))
        case .reopenLog: reopenAccessLog(servers)
        case .refuse(let reason):
          log.warn("the signal is not followed", ["reason": .string(reason)])
          answer?(AdminAction.Result(status: 503, text: reason + "\n"))
        case .startSuccessor: takeover.start(with: servers.listeners, events)
        case .endSuccessor: await takeover.end(with: servers.listeners)
        case .handOver:
          hasSuccessor = true
          loop.post { watchdog?.value.stop() }
          await takeover.finish { number in
            manager.tell(.mainProcess(number, status: "a new process has taken over"))
          }
          log.info("the new process has taken over", [:])
        case .becomeUnready:
          manager.tell(.stopping(status: "requests under way may end"))
          servers.isReady.value.store(false, ordering: .relaxed)
        case .delay:
          log.info(
            "no longer ready, still accepting; another signal ends the delay",
            ["delay": LogValue(options.shutdownDelay)])
          Task {
            try? await Task.sleep(for: options.shutdownDelay)
            events.note(.delayed)
          }
        case .drain: drain(servers, events, endsMetrics: hasSuccessor)
        case .exit(let status):
          await servers.exporter.stop(grace: 0)
          log.info("weir has ended", ["status": .integer(Int(status))])
          return status
        }
      }
    }
    return 1
  }

  /// - Parameter endsMetrics: Whether another process shows the metrics from now on.
  private func drain(_ servers: Servers, _ events: LifecycleEvents, endsMetrics: Bool) {
    log.info("draining; another signal ends at once", ["timeout": LogValue(options.drainTimeout)])
    Task {
      let began = ContinuousClock.now
      let grace = options.drainTimeout / .seconds(1)
      async let metrics: Void = endsMetrics ? servers.exporter.stop(grace: grace) : ()
      await servers.gateway.stop(grace: grace)
      await metrics
      if options.drainTimeout > .zero, ContinuousClock.now - began >= options.drainTimeout {
        log.warn("the drain's time is over; requests that were still under way have been cut off", [:])
      }
      events.note(.drained)
    }
  }

  /// Returns the reasons why everything stays as it was; none if the files hold now.
  private func reload(_ servers: Servers, _ looks: ConfigurationLooks?) async -> [String] {
    guard options.configFile != nil || options.webConfigFile != nil || options.probeConfigFile != nil else {
      let text = "there is nothing to reload: weir was started without --config.file"
      log.warn(text, [:])
      return [text]
    }
    // All files are read before any is applied.
    var problems: [String] = []
    let files = readFiles(&problems)
    let areGood = problems.isEmpty
    if areGood { problems = await follow(files, servers).map { [$0] } ?? [] }
    looks?.wereRead(files.reads, areFollowed: problems.isEmpty || !areGood)
    for problem in problems { log.error("configuration", ["problem": .string(problem)]) }
    if problems.isEmpty {
      servers.metrics.configurationLoaded()
    } else {
      servers.metrics.configurationRefused()
      log.error("the configuration stays as it was", [:])
      reopenAccessLog(servers)
    }
    return problems
  }

  /// Applies the files. Returns the reason why that failed, if it did.
  private func follow(_ files: Files, _ servers: Servers) async -> String? {
    // What may fail comes first. The rest of the web configuration has been checked as it was read.
    let tls: TLSFilesWatch.Change?
    do {
      tls = try files.web.flatMap { web throws(TLSFilesProblem) in try change(of: web.tls, servers) }
    } catch {
      return "\(error)"
    }
    if let configuration = files.configuration, let problem = await follow(configuration, servers) { return problem }
    if let web = files.web {
      if let tls { servers.webTLS?.follow(tls) }
      do {
        try servers.exporter.setAccess(web.access)
      } catch {
        return "\(error)"
      }
      log.info("web configuration reloaded", ["file": .string(options.webConfigFile ?? "")])
      if web.isOpenToAll { log.warn("the web configuration asks nobody for a password or token", [:]) }
      if web.headers != servers.webHeaders {
        log.warn("header fields of the metrics address change with a restart", [:])
      }
    }
    if let probe = files.probe {
      servers.probe?.follow(probe)
      log.info("probe configuration reloaded", ["file": .string(options.probeConfigFile ?? "")])
    }
    return nil
  }

  private func follow(_ configuration: Configuration, _ servers: Servers) async -> String? {
    warn(of: configuration)
    do {
      try await servers.gateway.reload(configuration)
    } catch {
      if error is Errno { return "the loop of lookups can't be made: \(error)" }
      return Self.reloadText(error, own: servers.listeners.map(\.listener.address))
    }
    let file = LogValue.string(options.configFile ?? "")
    log.info("configuration reloaded", ["file": file, "routes": .integer(configuration.routes.count)])
    return nil
  }

  /// The signal may have come only because the file was renamed.
  private func reopenAccessLog(_ servers: Servers) {
    do {
      try servers.gateway.reopenAccessLog()
    } catch {
      log.error("the access log goes on as it was", ["error": .string("\(error)")])
    }
  }

  /// The metrics address' TLS that follows; nil where it has none.
  private func change(of tls: TLSFiles?, _ servers: Servers) throws(TLSFilesProblem) -> TLSFilesWatch.Change? {
    if (tls == nil) != (servers.webTLS == nil) {
      log.warn("TLS of the metrics address begins and ends with a restart", [:])
    }
    guard let tls, let watch = servers.webTLS else { return nil }
    return try watch.prepare(tls)
  }

  // MARK: Files

  /// The contents of the files that the flags name; nil for a flag that is not set.
  private struct Files {
    var configuration: Configuration?
    var web: WebConfiguration?
    var probe: ProbeConfiguration?
    let reads = FilesRead()
  }

  /// Takes the sockets that the environment tells of. Returns also what is wrong with the environment.
  private func inheritedSockets(_ files: Files) -> (InheritedSockets, [String]) {
    var problems = environmentProblems
    if let configuration = files.configuration {
      let names = configuration.listeners.map(\.name)
      problems += environment.problems(of: names.isEmpty ? [ListenerSettings.standardName] : names)
    } else if options.configFile == nil {
      problems += environment.problems(of: [ListenerSettings.standardName])
    }
    let sockets = environment.inheritedSockets(&problems)
    return (sockets, problems)
  }

  /// Reads all files, and adds all problems of all.
  private func readFiles(_ problems: inout [String]) -> Files {
    var files = Files()
    func read<Value>(
      _ file: String?, _ make: (String, FilesRead?) throws(ConfigurationError) -> Value
    ) -> Value? {
      guard let file else { return nil }
      do {
        return try make(file, files.reads)
      } catch {
        problems += error.lines
        return nil
      }
    }
    files.configuration = read(options.configFile, Configuration.init(file:noting:))
    if let file = options.configFile, options.gatewayAddress != nil,
      files.configuration?.listeners.isEmpty == false
    {
      problems.append("\(file): listeners replace --gateway.listen-address, which is given too; leave one of them out")
    }
    files.web = read(options.webConfigFile, WebConfiguration.init(file:noting:))
    files.probe = read(options.probeConfigFile, ProbeConfiguration.init(file:noting:))
    return files
  }
}
