import Weir
import WeirIO
import WeirResolver

/// Runs probes, on a loop of its own.
final class ProbeDesk: Sendable {
  /// The result of a probe.
  struct Result: Sendable {
    let isSuccess: Bool
    /// The text for Prometheus.
    let metrics: String
    let log: String
  }

  private let loop: EventLoop
  private let servers: ResolverServers
  /// Nil before the first probe, as it is made on the loop.
  private let resolver: LoopBound<Resolver?>
  /// For regular expressions, which may take their time.
  private let workers = WorkerPool(name: "weir-probe", width: 2)

  /// - Parameter servers: The name servers that know the targets.
  init(servers: ResolverServers = .system) throws(Errno) {
    loop = try EventLoop(name: "weir.probe")
    self.servers = servers
    resolver = LoopBound(nil, on: loop)
  }

  /// Runs a probe, and calls `done` once, on another thread.
  func run(_ order: ProbeOrder, _ done: @escaping @Sendable (Result) -> Void) {
    let start = MonotonicTime.now
    loop.post { [loop, servers, resolver, workers] in
      let asked = resolver.value ?? Resolver(loop: loop, servers: servers)
      resolver.value = asked
      ProbeRun.begin(order, asked) { findings, log in
        let judge = { @Sendable in done(Self.result(order, findings, log, since: start)) }
        // Probes without expressions don't wait for those that have some.
        if order.module.hasPatterns { workers.submit(judge) } else { judge() }
      }
    }
  }

  private static func result(
    _ order: ProbeOrder, _ findings: ProbeFindings, _ log: ProbeLog, since start: MonotonicTime
  ) -> Result {
    var log = log
    let verdict = ProbeVerdict(findings, by: order.module, &log)
    let seconds = MonotonicTime.now.seconds(since: start)
    let duration: LogFields = ["duration_seconds": .double(seconds)]
    if verdict.isSuccess { log.note("Probe succeeded", duration) } else { log.fail("Probe failed", duration) }
    let metrics = ProbeMetrics.text(
      findings, verdict, seconds: seconds, allowsInsecureServers: order.module.tls.skipsVerification)
    return Result(isSuccess: verdict.isSuccess, metrics: metrics, log: log.text)
  }
}

extension ProbeDesk {
  func run(_ order: ProbeOrder) async -> Result {
    await withCheckedContinuation { continuation in run(order) { continuation.resume(returning: $0) } }
  }
}

extension ProbeOrder {
  /// The probe of `weir probe --module`, which asks a target as the probe page does.
  init(_ options: ProbeOptions) throws {
    var configuration = ProbeConfiguration()
    if let file = options.configFile {
      configuration = try ProbeConfiguration(file: file)
    } else {
      // The one who asks chooses the target too.
      configuration.targets = options.destinationPolicy
    }
    let name = options.module ?? ProbeConfiguration.standardModule
    let module = try configuration.module(named: name) { "there are \($0.joined(separator: ", "))" }
    let timeout = options.timeout / .seconds(1)
    self.init(
      target: options.url, moduleName: name, module: module, targets: configuration.targets,
      timeout: module.timeout.map { min($0, timeout) } ?? timeout)
  }
}
