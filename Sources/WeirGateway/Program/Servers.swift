import Synchronization
import WeirExporter
import WeirExporterTLS
import WeirIO
import WeirMetrics
import WeirServer
import WeirTLS

/// The servers of the running program: the gateway, and the metrics address with its pages.
final class Servers: Sendable {
  let exporter: Exporter
  private let exporterListener: Listener
  private let webAddress: SocketAddress
  let webHeaders: [String: String]
  /// Nil for plain HTTP at the metrics address.
  let webTLS: TLSFilesWatch?
  /// Nil without a file of modules.
  let probe: ProbePage?
  let metrics: GatewayMetrics
  let gateway: Gateway
  /// Whether `/-/ready` answers 200.
  let isReady: Readiness

  final class Readiness: Sendable {
    let value = Atomic(false)
  }

  /// Listens, but answers nothing before `start()` and `showMetrics()`.
  init(
    _ configuration: Configuration, _ web: WebConfiguration, _ probe: ProbeConfiguration?, _ options: ServeOptions,
    _ workers: Int, _ shares: DescriptorShares, _ sockets: InheritedSockets, _ log: Logger, _ events: LifecycleEvents
  ) throws {
    let isReady = Readiness()
    self.isReady = isReady
    var exporterOptions = Exporter.Options()
    exporterOptions.title = "weir gateway"
    exporterOptions.access = web.access
    exporterOptions.headers = web.headers
    webHeaders = web.headers
    webTLS = try web.tls.map { tls throws(TLSFilesProblem) in
      try TLSFilesWatch(tls, report: { log.note($0, listener: "metrics") })
    }
    if let webTLS { exporterOptions.useTLS(of: webTLS) }
    exporterOptions.actions = events.actions(areEnabled: options.enablesLifecycle)
    self.probe = try probe.map { modules throws(Errno) in try ProbePage(modules) }
    if let page = self.probe?.page { exporterOptions.pages[ProbePage.path] = page }
    exporterOptions.isReady = { isReady.value.load(ordering: .relaxed) }
    exporterOptions.stopLinger = ServerLimits.gateway.stopLinger
    let crowd = CrowdLog(listener: "metrics", connections: shares.metrics, log: log)
    exporterOptions.onServerEvent = { crowd.note($0) }
    let registry = Registry(buckets: options.buckets, nativeHistograms: options.nativeHistograms)
    let monitor = try MetricsMonitor(
      registry: registry, destinationLimit: options.destinationLimit, operationLimit: options.operationLimit)
    metrics = try GatewayMetrics(registry, client: monitor, endpointLimit: options.endpointLimit)
    let status = GatewayStatus(metrics, file: options.configFile)
    exporterOptions.statusSource = status
    exporter = try Exporter(registry: registry, listenAddress: "\(options.webAddress)", options: exporterOptions)
    var gatewayOptions = Gateway.Options(
      address: options.gatewayAddress ?? ServeOptions.standardGatewayAddress, workers: workers,
      connections: shares.clients)
    gatewayOptions.sockets = sockets
    gateway = try Gateway(
      configuration, options: gatewayOptions, metrics: metrics, observer: monitor, log: log)
    status.show(gateway)
    try Self.check(names: options.buckets.keys, of: "--metrics.buckets", registry)
    if case .named(let names) = options.nativeHistograms {
      try Self.check(names: names, of: "--metrics.native-histograms", registry)
    }
    webAddress = options.webAddress
    do throws(ListenError) {
      exporterListener = try sockets.listener(named: InheritedSockets.metricsName, at: webAddress)
    } catch {
      throw ExporterError(error)
    }
    gateway.listens(at: exporterListener.address, as: InheritedSockets.metricsName)
    sockets.closeRest()
  }

  func showMetrics() throws {
    try exporter.start(on: exporterListener)
    webTLS?.start()
  }

  func start() {
    gateway.start()
    isReady.value.store(true, ordering: .relaxed)
    metrics.configurationLoaded()
  }

  var exporterAddress: SocketAddress { exporterListener.address }

  /// All listeners with the addresses that were asked for, the metrics' last.
  var listeners: [(address: SocketAddress, listener: Listener)] {
    gateway.openListeners + [(webAddress, exporterListener)]
  }

  /// The loops that must turn for the program to do its work.
  var loops: [EventLoop] { gateway.loops + (exporter.loop.map { [$0] } ?? []) }

  /// Checks that a histogram of each name exists. Called once all metrics are registered.
  private static func check(
    names: some Collection<String>, of flag: String, _ registry: Registry
  ) throws(CommandLineError) {
    let known = registry.histogramNames
    guard let unknown = names.sorted().first(where: { !known.contains($0) }) else { return }
    let hint =
      unknown == "all"
      ? "give it alone" : suggestion(for: unknown, among: known).map { "did you mean \(quoted($0))?" }
    throw CommandLineError(
      "\(flag): no histogram is called \(quoted(unknown)); "
        + (hint ?? "there are \(known.joined(separator: ", "))"))
  }
}
