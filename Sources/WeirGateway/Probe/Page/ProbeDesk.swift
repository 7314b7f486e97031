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
  private let resolver: LoopBound<ResolverHolder>
  /// For regular expressions, which may take their time.
  private let workers = WorkerPool(name: "weir-probe", width: 2)

  /// Makes the resolver on the loop.
  private final class ResolverHolder {
    let servers: ResolverServers
    lazy var resolver = Resolver(loop: loop, servers: servers)
    private let loop: EventLoop

    init(_ loop: EventLoop, _ servers: ResolverServers) {
      self.loop = loop
      self.servers = servers
    }
  }

  /// - Parameter servers: The name servers that know the targets.
  init(servers: ResolverServers = .system) throws(Errno) {
    loop = try EventLoop(name: "weir.probe")
    resolver = LoopBound(ResolverHolder(loop, servers), on: loop)
  }

  /// Runs a probe, and calls `done` once, on another thread.
  func run(_ order: ProbeOrder, _ done: @escaping @Sendable (Result) -> Void) {
    let start = MonotonicTime.now
    loop.post { [resolver, workers] in
      ProbeRun.begin(order, resolver.value.resolver) { findings, log in
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
